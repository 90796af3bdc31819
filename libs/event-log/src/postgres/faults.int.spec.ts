import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { AppendOutcome } from '@n17q/contracts';
import type { StreamId, TenantId } from '@n17q/domain';
import { HistoryRecorder, judgeHistory, openSandbox, startProxy, until, type FinalRow, type Judgement, type Sandbox, type TcpProxy } from '@n17q/testing';
import { appended } from '../conformance/case.js';
import { draft, newRun, newTenant, note, openEffect, prepare } from '../conformance/draft.js';
import { migrate } from '../migrations/migrate.js';
import type { EventRow, PreparedAppend } from '../ports.js';
import { StoreFault } from '../store-fault.js';
import { FOLD_SCHEMA, type EventStorePort } from '../store-port.js';
import { VIEW } from './reads.sql.js';
import { PostgresEventStore, type PostgresStoreOptions } from './store.js';

const TENANT: TenantId = 'crowd';
const ANOTHER = '00000000-0000-4000-8000-000000000001';

/** Many writers that record what they saw. */
class Crowd {
  readonly recorders: HistoryRecorder[] = [];
  readonly faults: StoreFault[] = [];
  busy = 0;
  repeats = 0;
  #going = true;
  #work: Promise<void>[] = [];
  get ok(): number { return this.recorders.reduce((n, r) => n + r.operations.filter((o) => o.outcome === 'ok').length, 0); }

  /** `workers` on each store, spread over `streams`; they read from `reads` when it is given. */
  start(stores: readonly EventStorePort[], streams: readonly StreamId[], workers: number, reads?: EventStorePort): void {
    for (const store of stores) {
      for (let w = 0; w < workers; w++) this.#work.push(this.#worker(store, streams[w % streams.length] as StreamId, reads ?? store));
    }
  }
  async stop(): Promise<void> {
    this.#going = false;
    await Promise.all(this.#work.splice(0));
  }

  async #worker(store: EventStorePort, stream: StreamId, reads: EventStorePort): Promise<void> {
    const recorder = new HistoryRecorder(randomUUID());
    this.recorders.push(recorder);
    while (this.#going) {
      try {
        const at = await reads.head(TENANT, stream);
        const seen = at.revision === 0 ? undefined : (await reads.readEvents(TENANT, stream, at.revision - 1, 1))[0]?.eventId;
        const p = prepare(TENANT, stream, at, await reads.now(), { facts: Array.from({ length: 1 + (at.revision % 3) }, () => note(randomUUID())), needs: { upsert: [{ service: 'policy-gate', reason: 'r', dueAt: 1, waitsFor: null }], remove: [] } });
        await this.#append(store, recorder, p, seen);
      } catch (error) {
        if (!(error instanceof StoreFault) || error.mayHaveActed) throw error; // the store is away
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async #append(store: EventStorePort, recorder: HistoryRecorder, p: PreparedAppend, headEventId: string | undefined): Promise<void> {
    const call = recorder.append({ run: p.stream, appendId: p.appendId, expectedRevision: p.expected, ...(headEventId === undefined ? {} : { headEventId }), events: p.rows.map((r) => ({ eventId: r.eventId, digest: r.digest })) });
    let o: AppendOutcome;
    try {
      o = await store.append(p);
    } catch (error) {
      if (!(error instanceof StoreFault) || !error.mayHaveActed) throw error;
      this.faults.push(error);
      return call.unknown();
    }
    if (o.kind === 'appended') {
      if (!o.fresh) this.repeats++;
      return call.ok(p.rows.map((r) => r.revision));
    }
    if (o.kind === 'busy') this.busy++; // promises that nothing was taken in: it must be nowhere, like a conflict
    call.conflict(o.kind === 'conflict' ? o.revision : undefined);
  }

  /** Against all rows of the database. */
  async judge(url: string): Promise<Judgement> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      const rows = (await client.query<FinalRow>(`select stream as run, revision, position::text as position, event_id as "eventId", append_id as "appendId", encode(digest, 'hex') as digest from n17q.events order by position`)).rows;
      return judgeHistory(this.recorders.flatMap((r) => r.operations), rows);
    } finally {
      await client.end();
    }
  }
}

describe('the event store when Postgres or the way to it fails', () => {
  let sandbox: Sandbox;
  const opened: PostgresEventStore[] = [];
  const proxies: TcpProxy[] = [];
  beforeAll(async () => { sandbox = await openSandbox({ postgres: true }); }, 60_000);
  afterEach(async () => {
    await Promise.all(proxies.map(async (p) => p.restore()));
    await Promise.all(opened.splice(0).map((s) => s.close()));
    await Promise.all(proxies.splice(0).map((p) => p.close()));
  }, 60_000);
  afterAll(async () => sandbox?.close());

  const fresh = async (): Promise<string> => {
    const url = await sandbox.database();
    await migrate(url);
    return url;
  };
  const open = async (url: string, more: Partial<PostgresStoreOptions> = {}): Promise<PostgresEventStore> => {
    const store = await PostgresEventStore.open({ url, ...more });
    opened.push(store);
    return store;
  };
  const through = async (url: string): Promise<{ proxy: TcpProxy; url: string }> => {
    const proxy = await startProxy({ targetHost: '127.0.0.1', targetPort: sandbox.postgres.port });
    proxies.push(proxy);
    const at = new URL(url);
    at.port = String(proxy.port);
    return { proxy, url: at.href };
  };
  const runs = (n: number): string[] => Array.from({ length: n }, newRun);

  it('[RUN-1, RUN-4] loses nothing that it acknowledged over kills of Postgres, with two stores of several writers on the same runs', async () => {
    const url = await fresh();
    const crowd = new Crowd();
    crowd.start([await open(url), await open(url, { writers: 2 })], runs(6), 12);
    for (let kill = 1; kill <= 3; kill++) {
      await until(() => crowd.ok >= kill * 60, { withinMs: 20_000, what: 'appends' });
      await sandbox.postgres.kill();
      await sandbox.postgres.restart();
    }
    const before = crowd.ok;
    await until(() => crowd.ok >= before + 60, { withinMs: 20_000, what: 'appends after the last kill' });
    await crowd.stop();
    const { violations, judged } = await crowd.judge(url);
    expect(violations).toEqual([]);
    expect(judged.ok).toBeGreaterThan(200);
    expect(judged.conflict).toBeGreaterThan(0);
    expect(crowd.faults).toEqual([]);
  }, 120_000);

  it('[RUN-4] finds out by itself what became of appends whose answers were cut off, also in mid-commit', async () => {
    const url = await fresh();
    const { proxy, url: proxied } = await through(url);
    const store = await open(proxied);
    const crowd = new Crowd();
    crowd.start([store], runs(8), 16, await open(url)); // only appends take the way that is cut
    await until(() => crowd.ok >= 50, { withinMs: 20_000, what: 'appends' });
    for (let cut = 0; cut < 12; cut++) {
      const before = crowd.ok;
      proxy.resetAfterBytes(cut % 2 === 0 ? 40 : 3000, cut % 3 === 0 ? 'toTarget' : 'toClient');
      await until(() => crowd.ok >= before + 20, { withinMs: 20_000, what: 'appends after a cut' });
    }
    await crowd.stop();
    const { violations, judged } = await crowd.judge(url);
    expect(violations).toEqual([]);
    expect(judged.unknown).toBe(0);
    expect(crowd.repeats).toBeGreaterThan(0); // some had been committed when the answer was lost
  }, 120_000);

  it('[RUN-4] says unknown after a bound when it cannot find out, keeps the promise of a repeat, and heals', async () => {
    const url = await fresh();
    const { proxy, url: proxied } = await through(url);
    const store = await open(proxied, { statementMs: 300, unknownMs: 500, queueMs: 500, connectMs: 500 });
    const [t, run] = [newTenant(), newRun()];
    appended(await store.append(await draft(store, t, run)));
    const lost = await draft(store, t, run, { facts: [note('lost answer')] });
    proxy.dropReplies(true);
    await expect(store.append(lost)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', mayHaveActed: true });
    const later = await store.append({ ...lost, appendId: ANOTHER, rows: lost.rows.map((r) => ({ ...r, appendId: ANOTHER })) as EventRow[] });
    expect(later.kind).toBe('busy');
    proxy.restore();
    expect(await until(async () => { const o = await store.append(lost); return o.kind === 'busy' ? null : o; }, { withinMs: 15_000, what: 'an answer' })).toMatchObject({ kind: 'appended', fresh: false, last: 2 });
    appended(await store.append(await draft(store, t, run)));
  }, 60_000);

  it('[RUN-4] never lets a lost batch be taken in after it was answered otherwise', async () => {
    const url = await fresh();
    const store = await open(url, { statementMs: 200, graceMs: 100, unknownMs: 20_000 });
    const other = await open(url);
    const watcher = new pg.Client({ connectionString: url });
    await watcher.connect();
    const writers = async (): Promise<number[]> => (await watcher.query<{ pid: number }>(`select pid from pg_stat_activity where application_name like 'n17q-writer-%' order by backend_start`)).rows.map((r) => r.pid);
    const [t, run, holder] = [newTenant(), newRun(), newRun()];
    appended(await store.append(await draft(store, t, newRun())));
    const [old] = await writers();
    appended(await other.append(await draft(other, t, holder, { openEffects: { upsert: [openEffect('e-1', 'k')], remove: [] } })));
    let stopped = true;
    const goOn = (): void => { if (stopped) process.kill(old as number, 'SIGCONT'); stopped = false; };
    process.kill(old as number, 'SIGSTOP'); // it has the request in its socket, and has not looked
    try {
      const answer = store.append(await draft(other, t, run, { scopesFree: [{ scope: openEffect('e-1', 'k').scope, except: [] }] }));
      await until(async () => (await writers()).length === 3, { withinMs: 5000, what: 'another connection' });
      await Promise.race([answer.catch(() => undefined), new Promise((resolve) => setTimeout(resolve, 300))]);
      appended(await other.append(await draft(other, t, holder, { openEffects: { upsert: [], remove: ['e-1'] } })));
      goOn();
      const outcome = await answer;
      await until(async () => !(await writers()).includes(old as number), { withinMs: 10_000, what: 'the end of the old backend' });
      expect({ outcome, revision: (await other.head(t, run)).revision }).toMatchObject({ revision: outcome.kind === 'appended' ? 1 : 0 });
    } finally {
      goOn();
      await watcher.end();
    }
  }, 60_000);

  it('[RUN-4] fails a poisoned append alone', async () => {
    const url = await fresh();
    const store = await open(url);
    const t = newTenant();
    const all = await Promise.all(Array.from({ length: 20 }, () => draft(store, t, newRun())));
    const poisoned = { ...all[7], rows: all[7]?.rows.map((r) => ({ ...r, schemaVersion: 70_000 })) } as (typeof all)[number];
    const outcomes = await Promise.allSettled(all.map((p, i) => store.append(i === 7 ? poisoned : p)));
    expect(outcomes.map((o) => o.status === 'fulfilled')).toEqual(all.map((_, i) => i !== 7));
    expect((outcomes[7] as PromiseRejectedResult).reason).toMatchObject({ code: 'APPEND_FAILED', mayHaveActed: false });
    const rows = await store.readByPosition(0, 0, 100);
    expect(rows.map((r) => r.position)).toEqual(Array.from({ length: 19 }, (_, i) => i + 1));
  }, 30_000);

  it('[RUN-4] is busy at once when its queue is full, and for those who waited too long, while Postgres does not answer', async () => {
    const url = await fresh();
    const store = await open(url, { queueMax: 3, queueMs: 700, statementMs: 20_000, unknownMs: 30_000 });
    const t = newTenant();
    const [a, b, c, d] = await Promise.all([newRun(), newRun(), newRun(), newRun()].map((r) => draft(store, t, r)));
    sandbox.postgres.pause();
    try {
      const first = store.append(a as never);
      await until(() => store.queued === 1, { withinMs: 1000, what: 'the queue' });
      await new Promise((resolve) => setImmediate(resolve));
      const waiting = [store.append(b as never), store.append(c as never)];
      expect(await store.append(d as never)).toMatchObject({ kind: 'busy' });
      expect(await Promise.all(waiting)).toMatchObject([{ kind: 'busy' }, { kind: 'busy' }]);
      sandbox.postgres.resume();
      expect(['appended', 'busy']).toContain((await first).kind);
      expect(store.queued).toBe(0);
    } finally {
      sandbox.postgres.resume();
    }
    appended(await store.append(await draft(store, t, newRun())));
  }, 60_000);

  it('[RUN-4] finishes what is queued when it is closed, and takes nothing more', async () => {
    const url = await fresh();
    const store = await open(url);
    const t = newTenant();
    const all = await Promise.all(Array.from({ length: 10 }, () => draft(store, t, newRun())));
    const outcomes = all.map((p) => store.append(p));
    const closed = store.close();
    for (const o of await Promise.all(outcomes)) appended(o);
    await closed;
    await expect(store.append(all[0] as never)).rejects.toBeInstanceOf(StoreFault);
  }, 30_000);

  it('[RUN-1] reads as much of a long run as of a short one', async () => {
    const url = await fresh();
    const store = await open(url);
    const t = newTenant();
    const [long, short] = [newRun(), newRun()];
    const fill = async (run: string, batches: number): Promise<void> => {
      for (let i = 0; i < batches; i++) appended(await store.append(await draft(store, t, run, { facts: Array.from({ length: 60 }, () => note('x')), ...(i === batches - 1 ? { snapshot: '{}' } : {}) })));
      appended(await store.append(await draft(store, t, run)));
    };
    await fill(long, 60);
    await fill(short, 1);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const buffers = async (run: string): Promise<number> => {
      const plan = await client.query(`explain (analyze, buffers, format json) ${VIEW}`, [t, run, null, 512, 512 * 1024, FOLD_SCHEMA, null, 1001, '{}', 'all']);
      const top = plan.rows[0]['QUERY PLAN'][0].Plan as { 'Shared Hit Blocks': number; 'Shared Read Blocks': number };
      return top['Shared Hit Blocks'] + top['Shared Read Blocks'];
    };
    await client.query('analyze');
    const [of3601, of61] = [await buffers(long), await buffers(short)];
    await client.end();
    expect((await store.loadRun(t, long)).tail).toHaveLength(1);
    expect(of3601).toBeLessThan(of61 + 12);
  }, 60_000);
});
