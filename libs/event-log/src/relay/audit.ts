/**
 * Compares what the bus holds at its end with what the relay believes it published.
 *
 * U1. A stream that is behind the cursor lost what it had acknowledged: the cursor goes back, and nothing but time is lost.
 * U2. A stream that is ahead of the store, or holds another event at a place, saw a history that the store does not have: appends that were
 *     acknowledged are gone. Nothing here can repair that; it is told to whoever must stop consequential work.
 * U3. A stream that is empty may have aged out: only what is younger than the horizon is published again.
 *
 * Rows: RUN-4, OPS-2.
 */
import type { EventStoreReads } from '../store-port.js';
import { placeOf } from './message.js';

export interface BusTail { readonly eventId: string; readonly tenant: string; readonly run: string; readonly revision: number; readonly position: string }
export type LastMessage =
  | { readonly kind: 'stream-missing' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'message'; readonly head: BusTail }
  | { readonly kind: 'foreign'; readonly subject: string };

export type RelayAlarm =
  | { readonly kind: 'bus-missing' }
  | { readonly kind: 'bus-behind'; readonly cursor: number; readonly rewoundTo: number }
  /** The store lost events: the bus holds some that it does not have. */
  | { readonly kind: 'bus-ahead'; readonly storePosition: number; readonly busPosition: number; readonly lost: readonly BusTail[] }
  /** The same, and the store has gone on since: it holds another event at a place of the bus. */
  | { readonly kind: 'bus-diverged'; readonly busPosition: number; readonly storeEventId: string; readonly lost: readonly BusTail[] }
  | { readonly kind: 'bus-foreign'; readonly subject: string };

export interface Finding { readonly cursor: number; readonly alarm?: RelayAlarm }

type Lane = Pick<EventStoreReads, 'readByPosition' | 'now'>;
/** What the bus holds, newest first. */
export type FromEnd = () => AsyncIterable<BusTail>;
export const LOST_MAX = 10_000;

export async function audit(store: Lane, lane: number, cursor: number, last: LastMessage, horizonMs: number, fromEnd: FromEnd): Promise<Finding> {
  if (last.kind === 'stream-missing') return { cursor, alarm: { kind: 'bus-missing' } };
  if (last.kind === 'foreign') return { cursor, alarm: { kind: 'bus-foreign', subject: last.subject } };
  const horizon = async (): Promise<number> => beforeTime(store, lane, cursor, (await store.now()) - horizonMs);
  if (last.kind === 'empty') return cursor === 0 ? { cursor } : back(cursor, await horizon());
  const place = placeOf(last.head.position, lane);
  if (place === undefined) return { cursor, alarm: { kind: 'bus-foreign', subject: last.head.position } };
  const there = (await store.readByPosition(lane, place - 1, 1))[0];
  if (there === undefined) return { cursor, alarm: { kind: 'bus-ahead', storePosition: await endOf(store, lane, cursor), busPosition: place, lost: await lostOf(store, lane, fromEnd) } };
  if (there.event.eventId !== last.head.eventId) return { cursor, alarm: { kind: 'bus-diverged', busPosition: place, storeEventId: there.event.eventId, lost: await lostOf(store, lane, fromEnd) } };
  return place >= cursor ? { cursor } : back(cursor, Math.max(place, await horizon()));
}

/** What the bus has and the store has not: from the end of the bus back to the first that both have, newest first, at most LOST_MAX. */
async function lostOf(store: Lane, lane: number, fromEnd: FromEnd): Promise<BusTail[]> {
  const lost: BusTail[] = [];
  for await (const m of fromEnd()) {
    const place = placeOf(m.position, lane);
    const there = place === undefined ? undefined : (await store.readByPosition(lane, place - 1, 1))[0];
    if (there?.event.eventId === m.eventId || lost.length === LOST_MAX) break;
    lost.push(m);
  }
  return lost;
}

const back = (cursor: number, to: number): Finding => (to >= cursor ? { cursor } : { cursor: to, alarm: { kind: 'bus-behind', cursor, rewoundTo: to } });

/** The last place whose event is older than `timeMs`, by halving: places and times grow together. */
async function beforeTime(store: Lane, lane: number, cursor: number, timeMs: number): Promise<number> {
  let low = 0;
  let high = cursor;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const at = (await store.readByPosition(lane, middle - 1, 1))[0];
    if (at !== undefined && at.event.recordedAt < timeMs) low = middle;
    else high = middle - 1;
  }
  return low;
}

async function endOf(store: Lane, lane: number, from: number): Promise<number> {
  for (let end = from; ;) {
    const page = await store.readByPosition(lane, end, 512);
    if (page.length === 0) return end;
    end = page.at(-1)?.position ?? end;
  }
}
