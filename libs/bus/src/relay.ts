/**
 * The store's side of the bus: publishing events in log order, and looking at what the bus really holds.
 * It keeps no cursor and repeats nothing but a window whose end is not known (3); the relay that owns the lease does both.
 *
 * 1. Only an acknowledged prefix counts: the first message that was not stored ends the window.
 * 2. A later message is never stored in front of an earlier one of its window: each names its predecessor as the last one
 *    that the stream must hold. Only the first of a window is free of that, so that a window can begin anywhere.
 * 3. So whoever acknowledges the last has stored them all, and only the last is asked for. When it is not acknowledged, the window is
 *    sent again with every message asked for (repeats are dropped by their id), which tells where it ended.
 * 4. "Duplicate" without a sequence is a failure: such an id was seen by the server but may never have been stored.
 *
 * Rows: RUN-4, SVC-1, OPS-2.
 */
import { NatsError } from 'nats';
import type { Bus } from './connection.js';
import { BusFault, messageOf } from './faults.js';
import { fromWire, toWire, type RunEventHead, type RunEventMessage, type WireMessage } from './message.js';
import { RUN_EVENTS_STREAM } from './names.js';

export const WINDOW_MAX = 256;

export interface WindowFailure { readonly index: number; readonly code: BusFault['code']; readonly detail: string }
export interface WindowResult {
  /** Length of the acknowledged prefix, repeats included. */
  readonly acked: number;
  readonly failure?: WindowFailure;
}

interface PubAck { readonly stream?: string; readonly seq?: number; readonly error?: { readonly description?: string; readonly err_code?: number } }

const decoder = new TextDecoder();

/** The message with what it expects of the stream (2). */
function chained(event: RunEventMessage, predecessor: RunEventMessage | undefined): WireMessage {
  const wire = toWire(event);
  wire.headers.append('Nats-Expected-Stream', RUN_EVENTS_STREAM);
  if (predecessor !== undefined) wire.headers.append('Nats-Expected-Last-Msg-Id', predecessor.eventId);
  return wire;
}

async function publishOne(bus: Bus, wire: WireMessage, timeoutMs: number): Promise<void> {
  let ack: PubAck;
  try {
    const reply = await bus.nc.request(wire.subject, wire.body, { timeout: timeoutMs, headers: wire.headers });
    ack = JSON.parse(decoder.decode(reply.data)) as PubAck;
  } catch (error) {
    const missing = error instanceof NatsError && error.code === '503';
    throw new BusFault(missing ? 'STREAM_MISSING' : 'TIMEOUT', messageOf(error), !missing, { cause: error });
  }
  if (ack.error) throw new BusFault('UNEXPECTED_ACK', `the server refused it: ${ack.error.description ?? 'no reason given'}`, false);
  if (ack.stream !== RUN_EVENTS_STREAM || !(Number(ack.seq) > 0)) {
    throw new BusFault('UNEXPECTED_ACK', `acknowledged by stream ${String(ack.stream)} at sequence ${String(ack.seq)}`, true);
  }
}

/**
 * Publishes up to 256 events in the given order, all in flight at once, and waits until it is known how many are stored.
 * Never rejects for trouble on the bus: go on from `acked`. A repeat is stored once within the duplicate window.
 */
export async function publishWindow(bus: Bus, events: readonly RunEventMessage[], timeoutMs = 5_000): Promise<WindowResult> {
  if (events.length > WINDOW_MAX) throw new RangeError(`a window holds at most ${WINDOW_MAX} events`);
  if (events.length === 0) return { acked: 0 };
  if (bus.status().state === 'disconnected') return NOT_CONNECTED;
  const wires = events.map((event, i) => chained(event, events[i - 1]));
  try {
    for (const w of wires.slice(0, -1)) bus.nc.publish(w.subject, w.body, { headers: w.headers });
    await publishOne(bus, wires.at(-1) as WireMessage, timeoutMs);
    return { acked: events.length };
  } catch {
    return bus.status().state === 'disconnected' ? NOT_CONNECTED : eachAcknowledged(bus, wires, timeoutMs); // keeps 3
  }
}

const NOT_CONNECTED: WindowResult = { acked: 0, failure: { index: 0, code: 'NOT_CONNECTED', detail: 'not connected to NATS' } };

async function eachAcknowledged(bus: Bus, wires: readonly WireMessage[], timeoutMs: number): Promise<WindowResult> {
  const outcomes = await Promise.allSettled(wires.map((w) => publishOne(bus, w, timeoutMs)));
  const failed = outcomes.findIndex((o) => o.status === 'rejected');
  if (failed === -1) return { acked: wires.length };
  const fault = (outcomes[failed] as PromiseRejectedResult).reason as BusFault;
  return { acked: failed, failure: { index: failed, code: fault.code, detail: fault.message } };
}

export type LastMessage =
  | { readonly kind: 'stream-missing' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'message'; readonly head: RunEventHead; readonly storedAt: Date }
  | { readonly kind: 'foreign'; readonly subject: string };

/**
 * The newest message that the stream holds, for the relay's tail audit: its position against the cursor says whether the bus
 * lost what it had acknowledged, or is ahead of the store. Throws a BusFault when the bus does not answer.
 */
export async function lastMessage(bus: Bus): Promise<LastMessage> {
  try {
    const jsm = await bus.nc.jetstreamManager({ checkAPI: false });
    const stored = await jsm.streams.getMessage(RUN_EVENTS_STREAM, { last_by_subj: 'run.v1.>' });
    const head = fromWire(stored.subject, stored.header);
    return head === undefined ? { kind: 'foreign', subject: stored.subject } : { kind: 'message', head, storedAt: stored.time };
  } catch (error) {
    const code = error instanceof NatsError ? error.api_error?.err_code : undefined;
    if (code === 10059) return { kind: 'stream-missing' };
    if (code === 10037) return { kind: 'empty' };
    throw new BusFault('TIMEOUT', `the stream could not be read: ${messageOf(error)}`, false, { cause: error });
  }
}

/** What the stream holds, newest first, of ours alone. Rejects when the bus does not answer. */
export async function* fromEnd(bus: Bus): AsyncIterable<RunEventHead> {
  const jsm = await bus.nc.jetstreamManager({ checkAPI: false });
  const { state } = await jsm.streams.info(RUN_EVENTS_STREAM);
  for (let seq = state.last_seq; seq >= state.first_seq && state.messages > 0; seq--) {
    const m = await jsm.streams.getMessage(RUN_EVENTS_STREAM, { seq });
    const head = fromWire(m.subject, m.header);
    if (head !== undefined) yield head;
  }
}
