export {
  BUS_USERS, EVENT_CLASSES, REACTORS, RUN_EVENT, RUN_EVENTS_STREAM, WAKES,
  callerOf, parseRunEventSubject, runEventSubject, serviceSubject, storeEndpoint, storeSubject,
  type BusUser, type EventClass, type ReactorName, type RunRef, type Wake,
} from './names.js';
export { ACK_WAIT_MS, BODY_BYTES_MAX, CONSUMERS, RIGHTS, SERVER_DELIVERIES_MAX, STREAM, durablesOf, type ConsumingService, type Rights } from './topology.js';
export { natsConfig } from './server-config.js';
export {
  BUS_FAULTS, BusFault, Refused, RunEventTrouble, refuse, troubleOf, type BusFaultCode, type Trouble, type TroubleKind,
} from './faults.js';
export { connectBus, exitWhenClosed, type Bus, type BusNotice, type BusStatus, type ConnectOptions } from './connection.js';
export { extractTrace, injectTrace, traceHeadersOf, type TraceHeaders } from './trace.js';
export { request, type RemoteFault, type RequestOptions, type RequestOutcome } from './request.js';
export { serve, type Endpoint, type RequestContext, type RequestHandler, type ServeOptions, type Serving } from './serve.js';
export { PROJECTION_BYTES_MAX, fromWire, toWire, type RunEventHead, type RunEventMessage, type WireMessage } from './message.js';
export { inspectProvisioning, provision, type Drift, type ProvisionOptions, type ProvisionReport } from './provision.js';
export { WINDOW_MAX, fromEnd, lastMessage, publishWindow, type LastMessage, type WindowFailure, type WindowResult } from './relay.js';
export { RunQueue } from './run-queue.js';
export type { DeadLetter, IntakeNotice, RunEvent } from './intake.js';
export type { PullState } from './pull.js';
export { BusContext, BusExceptionFilter, OnRunEvent, RunEventsStrategy, type StrategyHealth, type StrategyNotice, type StrategyOptions } from './strategy.js';
export { startSweep, type Sweep, type SweepOptions, type SweepQuery } from './sweep.js';
export type { DueRow } from './sweep-patience.js';
