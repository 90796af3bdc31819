/**
 * Asking another service, once. Never asks twice: the caller knows whether a repeat is harmless.
 *
 * 1. `mayHaveActed: false` is said only when nothing can have reached a responder.
 * 2. An answer, a refusal and a fault are three different things, and none of them is an exception.
 *
 * Rows: SVC-1, RUN-4.
 */
import { NatsError, headers, type Msg, type MsgHdrs } from 'nats';
import type { Bus } from './connection.js';
import { BUS_FAULTS, BusFault, messageOf, type BusFaultCode } from './faults.js';
import { BODY_BYTES_MAX } from './topology.js';
import { SpanKind, inSpan, injectTrace, type TraceHeaders } from './trace.js';
import { context } from '@opentelemetry/api';

/** How an outcome is told apart on the wire. */
export const OUTCOME_HEADER = 'n17q-outcome';
/** How long the caller waits, in milliseconds from sending: a responder drops what nobody waits for any more. */
export const BUDGET_HEADER = 'n17q-budget-ms';

/** What a responder reported about its own trouble; `code` is the responder's word. */
export interface RemoteFault { readonly code: string; readonly message: string; readonly mayHaveActed: boolean }

export type RequestOutcome<A = unknown, R = unknown> =
  | { readonly kind: 'answered'; readonly value: A }
  | { readonly kind: 'refused'; readonly refusal: R }
  | { readonly kind: 'fault'; readonly code: BusFaultCode; readonly mayHaveActed: boolean; readonly detail: string; readonly remote?: RemoteFault };

export interface RequestOptions {
  readonly timeoutMs: number;
  /** The trace to continue; without it, the active one. */
  readonly traceHeaders?: TraceHeaders;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const fault = (code: BusFaultCode, mayHaveActed: boolean, detail: string, remote?: RemoteFault): RequestOutcome<never, never> =>
  ({ kind: 'fault', code, mayHaveActed, detail, ...(remote && { remote }) });

/** Client error codes that say that the request was never delivered to anybody. */
const NEVER_LEFT: Readonly<Record<string, BusFaultCode>> = {
  '503': 'NO_RESPONDERS',
  PERMISSIONS_VIOLATION: 'PERMISSION_REFUSED',
  MAX_PAYLOAD_EXCEEDED: 'PAYLOAD_TOO_LARGE',
  CONNECTION_CLOSED: 'NOT_CONNECTED',
  CONNECTION_DRAINING: 'NOT_CONNECTED',
};

function faultOf(error: unknown, subject: string): RequestOutcome<never, never> {
  if (error instanceof BusFault) return fault(error.code, error.mayHaveActed, error.message);
  const never = error instanceof NatsError ? NEVER_LEFT[error.code] : undefined;
  if (never !== undefined) return fault(never, false, `${subject}: ${never === 'NO_RESPONDERS' ? 'no service answers there' : messageOf(error)}`);
  return fault('TIMEOUT', true, `${subject}: no answer in time (${messageOf(error)})`);
}

function readReply<A, R>(reply: Msg): RequestOutcome<A, R> {
  const outcome = reply.headers?.get(OUTCOME_HEADER);
  let body: unknown;
  try {
    body = reply.data.length === 0 ? undefined : JSON.parse(decoder.decode(reply.data));
  } catch (error) {
    return fault('BAD_REPLY', true, `the reply is not JSON: ${messageOf(error)}`);
  }
  if (outcome === 'answered') return { kind: 'answered', value: body as A };
  if (outcome === 'refused') return { kind: 'refused', refusal: body as R };
  if (outcome !== 'fault') return fault('BAD_REPLY', true, 'the reply does not say what it is');
  const remote = body as RemoteFault;
  const code = (BUS_FAULTS as readonly string[]).includes(remote.code) ? (remote.code as BusFaultCode) : 'HANDLER_FAILED';
  return fault(code, remote.mayHaveActed, remote.message, remote);
}

function headersOf(options: RequestOptions): MsgHdrs {
  const hdrs = headers();
  hdrs.set(BUDGET_HEADER, String(options.timeoutMs));
  injectTrace(hdrs, options.traceHeaders);
  return hdrs;
}

/** Rejects as soon as the connection is lost: the answer may still come, but nobody should build on that. */
async function untilDisconnect(bus: Bus, pending: Promise<Msg>): Promise<Msg> {
  let stop: (() => void) | undefined;
  const lost = new Promise<never>((_, reject) => {
    stop = bus.onStatus((status) => {
      if (status.state === 'disconnected') reject(new BusFault('DISCONNECTED', 'the connection was lost while waiting for the answer', true));
    });
  });
  try {
    return await Promise.race([pending, lost]);
  } finally {
    stop?.();
  }
}

/**
 * Sends `body` (JSON, at most 1 MB) to `subject` and waits for one reply. While disconnected nothing is sent at all.
 * `A` and `R` are the caller's expectation: parse what matters.
 */
export async function request<A = unknown, R = unknown>(bus: Bus, subject: string, body: unknown, options: RequestOptions): Promise<RequestOutcome<A, R>> {
  const bytes = encoder.encode(JSON.stringify(body ?? null));
  if (bytes.length > BODY_BYTES_MAX) return fault('PAYLOAD_TOO_LARGE', false, `${subject}: ${bytes.length} bytes, at most ${BODY_BYTES_MAX}`);
  if (bus.status().state === 'disconnected') return fault('NOT_CONNECTED', false, `${subject}: not connected to NATS`);
  return inSpan(`request ${subject}`, SpanKind.CLIENT, context.active(), { 'messaging.system': 'nats', 'messaging.destination.name': subject }, async () => {
    try {
      return readReply<A, R>(await untilDisconnect(bus, bus.nc.request(subject, bytes, { timeout: options.timeoutMs, headers: headersOf(options) })));
    } catch (error) {
      return faultOf(error, subject);
    }
  });
}
