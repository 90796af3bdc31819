/**
 * A run event on the bus: CloudEvents 1.0, binary mode, in NATS headers; the body is the event's structured projection.
 * It is a trigger and a description, never content and never the truth: whoever needs the event reads the store.
 *
 * 1. Message id = event id, so that a repeat within the duplicate window is stored once.
 * 2. A projection above the bound is left out and marked, since one large event must not stop the line behind it.
 *
 * Rows: SVC-1, SVC-3.
 */
import { headers, type MsgHdrs } from 'nats';
import { parseRunEventSubject, runEventSubject, type EventClass, type Wake } from './names.js';
import type { TraceHeaders } from './trace.js';

export const PROJECTION_BYTES_MAX = 8 * 1024;

export interface RunEventMessage {
  readonly eventId: string;
  readonly tenant: string;
  /** The run's id; for an event of a tenant's own stream, that stream's id. */
  readonly run: string;
  readonly revision: number;
  /** Opaque to everyone but the store. */
  readonly position: string;
  readonly type: string;
  readonly class: EventClass;
  readonly wake: Wake;
  /** Who wrote it, as a URI reference, e.g. `/n17q/policy-gate`. */
  readonly source: string;
  /** RFC 3339. */
  readonly time: string;
  readonly trace: TraceHeaders;
  readonly projection: unknown;
}

/** The same without what only subscribers outside read. */
export type RunEventHead = Pick<RunEventMessage, 'eventId' | 'tenant' | 'run' | 'revision' | 'position' | 'type' | 'class' | 'wake' | 'trace'>;

export interface WireMessage { readonly subject: string; readonly headers: MsgHdrs; readonly body: Uint8Array }

const encoder = new TextEncoder();

export function toWire(event: RunEventMessage): WireMessage {
  const hdrs = headers();
  const set = (name: string, value: string): void => hdrs.append(name, value); // the headers are new: nothing to replace
  set('Nats-Msg-Id', event.eventId);
  set('ce-specversion', '1.0');
  set('ce-id', event.eventId);
  set('ce-source', event.source);
  set('ce-type', event.type);
  set('ce-subject', event.run);
  set('ce-time', event.time);
  set('ce-datacontenttype', 'application/json');
  set('ce-n17qrevision', String(event.revision));
  set('ce-n17qposition', event.position);
  set('ce-n17qtenant', event.tenant);
  if (event.trace.traceparent) set('traceparent', event.trace.traceparent);
  if (event.trace.tracestate) set('tracestate', event.trace.tracestate);
  let body = encoder.encode(JSON.stringify(event.projection ?? {}));
  if (body.length > PROJECTION_BYTES_MAX) {
    set('ce-n17qomittedbytes', String(body.length));
    body = encoder.encode('{}');
  }
  return { subject: runEventSubject(event.tenant, event.class, event.wake), headers: hdrs, body };
}

/** Reads a message's head; undefined when it is not a run event of this version. */
export function fromWire(subject: string, hdrs: MsgHdrs | undefined): RunEventHead | undefined {
  const parts = parseRunEventSubject(subject);
  if (parts === undefined || hdrs === undefined || hdrs.get('ce-specversion') !== '1.0') return undefined;
  const eventId = hdrs.get('ce-id');
  const run = hdrs.get('ce-subject');
  const type = hdrs.get('ce-type');
  const position = hdrs.get('ce-n17qposition');
  const revision = Number(hdrs.get('ce-n17qrevision') || Number.NaN);
  if (!eventId || !run || !type || !position || !Number.isSafeInteger(revision) || revision < 0) return undefined;
  if (hdrs.get('ce-n17qtenant') !== parts.tenant) return undefined;
  const traceparent = hdrs.get('traceparent');
  const tracestate = hdrs.get('tracestate');
  return { eventId, run, type, position, revision, ...parts, trace: { ...(traceparent && { traceparent }), ...(tracestate && { tracestate }) } };
}
