import { describe, expect, it } from '@jest/globals';
import type { RunEventMessage } from '@n17q/bus';
import { until } from '@n17q/testing';
import { appended } from '../conformance/case.js';
import { draft, newRun, newTenant, prepare } from '../conformance/draft.js';
import type { EventEnvelope } from '@n17q/domain';
import { MemoryEventStore } from '../memory/store.js';
import type { EventRow, PreparedAppend } from '../ports.js';
import type { LastMessage, RelayAlarm } from './audit.js';
import { MemoryRelayLedger } from './ledger.js';
import { Relay, type RelayBus, type RelayOptions } from './relay.js';

/** A stream that keeps what it acknowledged, in order, and can be told to fail at a message. */
class Stream implements RelayBus {
  messages: RunEventMessage[] = [];
  missing = false;
  failAt: (m: RunEventMessage) => boolean = () => false;
  async publishWindow(window: readonly RunEventMessage[]): Promise<{ acked: number; failure?: { code: string; detail: string } }> {
    if (this.missing) return { acked: 0, failure: { code: 'STREAM_MISSING', detail: 'gone' } };
    const at = window.findIndex(this.failAt);
    const stored = at === -1 ? window : window.slice(0, at);
    for (const m of stored) if (!this.messages.some((x) => x.eventId === m.eventId)) this.messages.push(m);
    return at === -1 ? { acked: window.length } : { acked: at, failure: { code: 'TIMEOUT', detail: 'no ack' } };
  }
  async lastMessage(): Promise<LastMessage> {
    const last = this.messages.at(-1);
    return this.missing ? { kind: 'stream-missing' } : last === undefined ? { kind: 'empty' } : { kind: 'message', head: last };
  }
  async *fromEnd(): AsyncIterable<RunEventMessage> { await Promise.resolve(); yield* this.messages.toReversed(); }
  get positions(): number[] { return this.messages.map((m) => Number(m.position.split(':')[1])); }
}

interface Kit { readonly store: MemoryEventStore; readonly ledger: MemoryRelayLedger; readonly stream: Stream; readonly alarms: RelayAlarm[]; readonly relay: (more?: Partial<RelayOptions>) => Relay; readonly fill: (n: number) => Promise<void> }
function kit(): Kit {
  const store = new MemoryEventStore(() => Date.now());
  const ledger = new MemoryRelayLedger(() => Date.now());
  const stream = new Stream();
  const alarms: RelayAlarm[] = [];
  const [tenant, run] = [newTenant(), newRun()];
  return {
    store, ledger, stream, alarms,
    relay: (more = {}) => new Relay({ store, ledger, bus: stream, owner: 'me', onAlarm: (a) => alarms.push(a), windowMax: 8, cursorMs: 0, ...more }),
    fill: async (n) => { for (let i = 0; i < n; i++) appended(await store.append(await draft(store, tenant, run, { wake: 'policy-gate' }))); },
  };
}
const sameAppend = (e: EventEnvelope): PreparedAppend => {
  const { position, ...row } = e;
  expect(position).toBeTruthy();
  return { ...prepare(row.tenant, row.stream, { revision: row.revision - 1, head: row.previous }, row.recordedAt, { appendId: row.appendId }), rows: [row as EventRow] };
};
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

describe('the relay', () => {
  it('[RUN-4] publishes every event once, in the order of the lane, and says who is woken', async () => {
    const k = kit();
    await k.fill(20);
    const relay = k.relay();
    while ((await relay.step()) === 0);
    expect(k.stream.positions).toEqual(upTo(20));
    expect(k.stream.messages[3]).toMatchObject({ class: 'run', wake: 'policy-gate', revision: 4, projection: { steps: ['step'] } });
    expect([k.ledger.cursor, relay.state().published]).toEqual([20, 20]);
  });

  it('[RUN-4] stops the line at the first failure and goes on there, so that nothing overtakes', async () => {
    const k = kit();
    await k.fill(20);
    let failing = 3;
    k.stream.failAt = (m) => m.position === '0:6' && failing-- > 0;
    const relay = k.relay();
    await expect(relay.step()).rejects.toThrow('TIMEOUT');
    expect([k.stream.positions, k.ledger.cursor]).toEqual([upTo(5), 5]);
    relay.start();
    await until(() => k.ledger.cursor === 20, { withinMs: 5000, what: 'the rest' });
    await relay.stop();
    expect(k.stream.positions).toEqual(upTo(20));
  });

  it('[SVC-4] leaves a lane alone that another relay holds, and moves no cursor after it was deposed', async () => {
    const k = kit();
    await k.fill(10);
    const first = k.relay({ leaseMs: 60_000, windowMax: 4 });
    await first.step();
    const second = k.relay();
    expect(await second.step()).toBeGreaterThan(0);
    expect([second.state().leads, k.ledger.cursor]).toEqual([false, 4]);
    await k.ledger.release(1);
    while ((await second.step()) === 0);
    expect(k.ledger.cursor).toBe(10);
    await first.step();
    expect([first.state().leads, k.ledger.cursor, k.ledger.epoch]).toEqual([false, 10, 2]);
  });

  it('[RUN-4] goes back to where the stream ends when the stream lost what it had acknowledged, and says so', async () => {
    const k = kit();
    await k.fill(20);
    const relay = k.relay();
    while ((await relay.step()) === 0);
    k.stream.messages = k.stream.messages.slice(0, 12);
    relay.reconnected();
    while ((await relay.step()) === 0);
    expect(k.stream.positions).toEqual(upTo(20));
    expect(k.alarms).toEqual([{ kind: 'bus-behind', cursor: 20, rewoundTo: 12 }]);
  });

  it('[RUN-4] fills a stream that was made again, as far back as the horizon', async () => {
    const k = kit();
    await k.fill(20);
    const relay = k.relay();
    while ((await relay.step()) === 0);
    k.stream.missing = true;
    relay.reconnected();
    await expect(relay.step()).rejects.toThrow('does not exist');
    k.stream.missing = false;
    k.stream.messages = [];
    while ((await relay.step()) === 0);
    expect(k.stream.positions).toEqual(upTo(20));
    expect(k.alarms.map((a) => a.kind)).toEqual(['bus-missing', 'bus-behind']);
    k.stream.messages = [];
    const late = k.relay({ horizonMs: -60_000 });
    await relay.stop();
    while ((await late.step()) === 0);
    expect(k.stream.positions).toEqual([]);
  });

  it('[OPS-2] says so when the bus holds events that the store does not have', async () => {
    const k = kit();
    await k.fill(20);
    const relay = k.relay();
    while ((await relay.step()) === 0);
    await relay.stop();
    // the store came back from an older copy
    const older = new MemoryEventStore(() => Date.now());
    const [tenant, run] = [newTenant(), newRun()];
    for (const e of await k.store.readByPosition(0, 0, 5)) appended(await older.append(sameAppend(e.event)));
    k.ledger.cursor = 5;
    const after = k.relay({ store: older });
    while ((await after.step()) === 0);
    expect(k.alarms).toEqual([{ kind: 'bus-ahead', storePosition: 5, busPosition: 20, lost: k.stream.messages.slice(5).toReversed() }]);
    expect(await older.suspects(10)).toMatchObject([{ eventId: k.stream.messages[19]?.eventId, why: expect.stringContaining('revision 20') }]);
    // and went on, so that the same place now holds another event
    for (let i = 0; i < 15; i++) appended(await older.append(await draft(older, tenant, run)));
    k.stream.messages = k.stream.messages.slice(0, 20);
    after.reconnected();
    await after.step();
    expect(k.alarms.at(-1)).toMatchObject({ kind: 'bus-diverged', busPosition: 20 });
  });

  it('[RUN-4] publishes what was handed over without a read, and reads where there is a gap', async () => {
    const k = kit();
    let reads = 0;
    const store = { now: () => k.store.now(), markSuspect: (s: Parameters<typeof k.store.markSuspect>[0]) => k.store.markSuspect(s), readByPosition: (lane: number, after: number, limit: number) => { reads++; return k.store.readByPosition(lane, after, limit); } };
    const relay = k.relay({ store, windowMax: 4 });
    await relay.step();
    const stop = k.store.onCommit((events) => relay.committed(events));
    const before = reads;
    await k.fill(6);
    expect([await relay.step(), await relay.step() > 0, reads, k.ledger.cursor]).toEqual([0, true, before, 6]);
    stop();
    await k.fill(2); // by another process: nobody hands these over
    const again = k.store.onCommit((events) => relay.committed(events));
    await k.fill(3);
    while ((await relay.step()) === 0);
    again();
    expect(reads).toBeGreaterThan(before);
    expect(k.stream.positions).toEqual(upTo(11));
  });

  it('[RUN-4] reads again what was handed over and not acknowledged', async () => {
    const k = kit();
    const relay = k.relay();
    await relay.step();
    k.store.onCommit((events) => relay.committed(events));
    await k.fill(6);
    let failing = 1;
    k.stream.failAt = (m) => m.position === '0:3' && failing-- > 0;
    await expect(relay.step()).rejects.toThrow('TIMEOUT');
    expect([k.stream.positions, k.ledger.cursor]).toEqual([upTo(2), 2]);
    while ((await relay.step()) === 0);
    expect([k.stream.positions, k.ledger.cursor]).toEqual([upTo(6), 6]);
  });

  it('[RUN-4] writes its cursor at intervals, and repeats after a crash what the last interval published', async () => {
    const k = kit();
    await k.fill(5);
    const relay = k.relay({ cursorMs: 60_000 });
    while ((await relay.step()) === 0);
    expect([k.stream.positions, k.ledger.cursor, relay.state().cursor]).toEqual([upTo(5), 0, 5]);
    const other = k.relay();
    await k.ledger.release(1); // as if the lease had run out
    while ((await other.step()) === 0);
    expect([k.stream.positions, k.ledger.cursor]).toEqual([upTo(5), 5]);
  });

  it('[RUN-4] takes new events up at once when it is woken, and by itself when nobody wakes it', async () => {
    const k = kit();
    const relay = k.relay({ pollMs: 60_000 });
    const unhook = k.store.onCommit((events) => relay.committed(events));
    relay.start();
    await until(() => relay.state().leads, { withinMs: 2000, what: 'the lease' });
    await k.fill(1);
    await until(() => k.stream.positions.length === 1, { withinMs: 2000, what: 'the woken relay' });
    unhook();
    await relay.stop();
    const polling = k.relay({ pollMs: 20 });
    polling.start();
    await k.fill(1);
    await until(() => k.stream.positions.length === 2, { withinMs: 2000, what: 'the polling relay' });
    await polling.stop();
  });
});
