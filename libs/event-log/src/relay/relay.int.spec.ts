import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { BUS_USERS, RUN_EVENTS_STREAM, connectBus, fromWire, natsConfig, provision, type Bus, type BusUser } from '@n17q/bus';
import { openSandbox, until, type Sandbox } from '@n17q/testing';
import { appended } from '../conformance/case.js';
import { draft, newRun, newTenant, prepare } from '../conformance/draft.js';
import { migrate } from '../migrations/migrate.js';
import { PostgresEventStore } from '../postgres/store.js';
import type { RelayAlarm } from './audit.js';
import { PostgresRelayLedger } from './ledger.js';
import { startRelay } from './start.js';

const passwords = Object.fromEntries(BUS_USERS.map((u) => [u, randomBytes(18).toString('base64url')])) as Record<BusUser, string>;
const ROOT = randomBytes(18).toString('base64url');

describe('the relay between Postgres and JetStream', () => {
  let sandbox: Sandbox;
  const closing: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    sandbox = await openSandbox({ postgres: true, nats: { configText: natsConfig({ passwords }).replace('users: [', `users: [\n    { user: root, password: "${ROOT}" }`) } });
    await provision(await bus('provisioner'));
  }, 60_000);
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
    await sandbox?.close();
  }, 60_000);

  async function bus(service: BusUser, as: { user?: string; password?: string } = {}): Promise<Bus> {
    const b = await connectBus({ service, url: sandbox.nats.url, password: passwords[service], reconnectWaitMs: 50, ...as });
    closing.push(() => b.close(1000));
    return b;
  }
  async function side(url: string, owner: string): Promise<{ store: PostgresEventStore; alarms: RelayAlarm[]; relay: ReturnType<typeof startRelay>; stop: () => Promise<void> }> {
    const store = await PostgresEventStore.open({ url });
    const ledger = new PostgresRelayLedger(url);
    const alarms: RelayAlarm[] = [];
    const relay = startRelay({ store, ledger, bus: await bus('event-store'), owner, onAlarm: (a) => alarms.push(a), leaseMs: 1500, windowMax: 32, pollMs: 50 });
    let stopped: Promise<void> | undefined;
    const stop = (): Promise<void> => (stopped ??= (async () => { await relay.stop(); await ledger.close(); await store.close(); })());
    closing.push(stop);
    return { store, alarms, relay, stop };
  }
  /** What the stream holds, in order. */
  async function held(): Promise<{ position: number; run: string; revision: number }[]> {
    const jsm = await (await bus('provisioner', { user: 'root', password: ROOT })).nc.jetstreamManager();
    const { state } = await jsm.streams.info(RUN_EVENTS_STREAM);
    const all: { position: number; run: string; revision: number }[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq++) {
      const m = await jsm.streams.getMessage(RUN_EVENTS_STREAM, { seq });
      const head = fromWire(m.subject, m.header);
      all.push({ position: Number(head?.position.split(':')[1]), run: head?.run ?? '', revision: head?.revision ?? 0 });
    }
    return all;
  }
  const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

  it('[RUN-4, SVC-1] publishes every event in order over kills of NATS, a deleted stream, and a change of the relay', async () => {
    const url = await sandbox.database();
    await migrate(url);
    const first = await side(url, 'first');
    const second = await side(url, 'second');
    const tenant = newTenant();
    let going = true;
    const write = async (): Promise<void> => {
      const run = newRun();
      let at = { revision: 0, head: '' as string };
      while (going) {
        const o = appended(await second.store.append(prepare(tenant, run, at, second.store.clock.now(), { wake: 'policy-gate' })));
        at = { revision: o.last, head: o.head };
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    const writing = [write(), write(), write()];
    const cursor = (): number => Math.max(first.relay.relay.state().cursor, second.relay.relay.state().cursor);
    const further = (what: string): Promise<unknown> => { const from = cursor(); return until(() => cursor() > from + 30, { withinMs: 30_000, what }); };
    await further('the start');
    await sandbox.nats.kill();
    await sandbox.nats.restart();
    await further('going on after a kill');
    await first.stop();
    await further('the other relay');
    await sandbox.nats.kill();
    await sandbox.nats.restart();
    await further('going on after another kill');
    going = false;
    await Promise.all(writing);
    const end = (await second.store.readByPosition(0, 0, 512)).length;
    const last = async (): Promise<number> => { let n = 0; for (;;) { const page = await second.store.readByPosition(0, n, 512); if (page.length === 0) return n; n = page.at(-1)?.position ?? n; } };
    const total = await last();
    expect(end).toBeGreaterThan(100);
    await until(() => second.relay.relay.state().cursor === total, { withinMs: 20_000, what: 'the end of the lane' });
    const seen = (await held()).map((m) => m.position);
    expect([...new Set(seen)]).toEqual(upTo(total)); // first occurrences are in order and complete
    expect(second.alarms).toEqual([]);

    const root = await bus('provisioner', { user: 'root', password: ROOT });
    await (await root.nc.jetstreamManager()).streams.delete(RUN_EVENTS_STREAM);
    second.relay.relay.reconnected();
    await until(() => second.alarms.some((a) => a.kind === 'bus-missing'), { withinMs: 10_000, what: 'the alarm' });
    await provision(root);
    await until(() => second.alarms.some((a) => a.kind === 'bus-behind'), { withinMs: 10_000, what: 'the rewind' });
    await until(() => second.relay.relay.state().cursor === total, { withinMs: 20_000, what: 'the end again' });
    expect((await held()).map((m) => m.position)).toEqual(upTo(total));
    await second.stop();
  }, 120_000);

  it('[OPS-2] says so when the database came back from an older copy and the bus is ahead of it', async () => {
    const root = await bus('provisioner', { user: 'root', password: ROOT });
    await (await root.nc.jetstreamManager()).streams.purge(RUN_EVENTS_STREAM);
    const original = await sandbox.database('original_of_a_restore');
    await migrate(original);
    const [tenant, run] = [newTenant(), newRun()];
    const before = await PostgresEventStore.open({ url: original });
    for (let i = 0; i < 5; i++) appended(await before.append(await draft(before, tenant, run)));
    await before.close();
    const admin = new pg.Client({ connectionString: sandbox.postgres.url() });
    await admin.connect();
    await admin.query('create database restored_copy template original_of_a_restore');
    await admin.end();
    const one = await side(original, 'one');
    for (let i = 0; i < 5; i++) appended(await one.store.append(await draft(one.store, tenant, run)));
    await until(() => one.relay.relay.state().cursor === 10, { withinMs: 10_000, what: 'ten events on the bus' });
    await one.stop();
    expect(one.alarms).toEqual([]);
    const restored = await side(sandbox.postgres.url(undefined, undefined, 'restored_copy'), 'two');
    const alarm = await until(() => restored.alarms[0], { withinMs: 10_000, what: 'the alarm' });
    expect(alarm).toMatchObject({ kind: 'bus-ahead', storePosition: 5, busPosition: 10 });
    expect(alarm.kind === 'bus-ahead' && alarm.lost.map((m) => [m.run, m.revision])).toEqual([10, 9, 8, 7, 6].map((n) => [run.slice(4), n]));
    const permit = { validUntil: (await restored.store.now()) + 60_000 };
    expect(await restored.store.append(await draft(restored.store, tenant, run, permit))).toMatchObject({ kind: 'refused', code: 'INCARNATION_SUSPECT' });
    appended(await restored.store.append(await draft(restored.store, tenant, newRun(), permit)));
    expect(await restored.store.clearSuspect(tenant, run, 'ann')).toBe(true);
    appended(await restored.store.append(await draft(restored.store, tenant, run, permit)));
    await restored.stop();
  }, 60_000);
});
