/** Limits of a tenant per window, beside what its account holds. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import type { AppendOutcome, Need } from '@n17q/contracts';
import type { Amounts, StreamId, TenantId, WindowLimit } from '@n17q/domain';
import type { EventStorePort } from '../store-port.js';
import { appended, refusedWith, storeCase, type StoreCase } from './case.js';
import { draft, newRun, newTenant } from './draft.js';

const amounts = (usd_micros: number, tokens = 0, calls = 0): Amounts => ({ usd_micros, tokens, calls });
/** One window from 1970 to the year 2286: it does not turn under a case. */
const ERA_MS = 10 ** 13;
/** Long enough for a few appends, short enough to wait for. */
const SHORT_MS = 1000;
const PATIENCE_MS = 20_000;
const limit = (everyMs: number, usd_micros: number, tokens = 10 ** 9, calls = 10 ** 9): WindowLimit => ({ everyMs, amounts: amounts(usd_micros, tokens, calls) });

const limited = async (store: EventStorePort, t: TenantId, limits: readonly WindowLimit[]): Promise<void> => void appended(await store.append(await draft(store, t, 'tenant/budget', { limits, releases: ['budget'] })));
async function tenantWith(store: EventStorePort, held: number, limits: readonly WindowLimit[]): Promise<TenantId> {
  const t = newTenant();
  appended(await store.append(await draft(store, t, 'tenant/budget', { debit: amounts(-held, -held, -held) })));
  await limited(store, t, limits);
  return t;
}
const move = async (store: EventStorePort, t: TenantId, stream: StreamId, n: Amounts): Promise<AppendOutcome> => store.append(await draft(store, t, stream, { debit: n }));
const take = (store: EventStorePort, t: TenantId, stream: StreamId, n: number): Promise<AppendOutcome> => move(store, t, stream, amounts(n));
const free = async (store: EventStorePort, t: TenantId): Promise<number> => (await store.account(t)).usd_micros;
const view = async (store: EventStorePort, t: TenantId) => store.decisionView({ tenant: t, stream: 'run/none', targets: [] });

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; !(await holds()); await setImmediate()) if (performance.now() > end) assert.fail(`${what}: not within ${String(PATIENCE_MS)} ms`);
}
/** Repeats a try that a window may turn under, until none did. */
async function untilUndisturbed(attempt: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 8; tries++) if (await attempt()) return;
  assert.fail('a window turned under every try');
}

export const WINDOW_CASES: readonly StoreCase[] = [
  storeCase('BUD-5 BUD-2', 'never lets racing debits take more than a window of the tenant lets through', async (store) => {
    const t = await tenantWith(store, 1000, [limit(ERA_MS, 100)]);
    const claims = await Promise.all(Array.from({ length: 12 }, () => draft(store, t, newRun(), { debit: amounts(15, 10, 1) })));
    const outcomes = await Promise.all(claims.map((p) => store.append(p)));
    assert.equal(outcomes.filter((o) => o.kind === 'appended').length, 6);
    for (const o of outcomes) if (o.kind !== 'appended') assert.deepEqual(refusedWith(o, 'BUDGET_SHORT'), { dimension: 'usd_micros', needed: 15, balance: 10 });
    assert.deepEqual(await store.account(t), amounts(10, 940, 994));
    const v = await view(store, t);
    assert.deepEqual([v.account, v.held, v.windowEndsAt], [amounts(10, 940, 994), amounts(910, 940, 994), ERA_MS]);
    assert.deepEqual(v.limits, [{ ...limit(ERA_MS, 100), left: amounts(10, 10 ** 9 - 60, 10 ** 9 - 6), endsAt: ERA_MS }]);
    appended(await take(store, await tenantWith(store, 1000, []), newRun(), 1000)); // another tenant
  }),
  storeCase('BUD-5 BUD-2', 'counts a repeated append once in a window, and a refused one never', async (store) => {
    const [t, run] = [await tenantWith(store, 1000, [limit(ERA_MS, 100)]), newRun()];
    const p = await draft(store, t, run, { debit: amounts(60) });
    appended(await store.append(p));
    appended(await store.append(p));
    refusedWith(await store.append(await draft(store, t, run, { debit: amounts(10), cites: ['c1.none'] })), 'CONTENT_MISSING');
    assert.equal(await free(store, t), 40);
  }),
  storeCase('BUD-5', 'opens a new window by the store\'s clock, with nothing used', async (store) => {
    const t = await tenantWith(store, 100, [limit(SHORT_MS, 10)]);
    await untilUndisturbed(async () => {
      await until(async () => (await free(store, t)) === 10, 'a fresh window');
      appended(await take(store, t, newRun(), 10));
      return (await take(store, t, newRun(), 10)).kind === 'refused';
    });
    const { windowEndsAt, now } = await view(store, t);
    assert.ok(windowEndsAt !== null && windowEndsAt % SHORT_MS === 0 && windowEndsAt > now && windowEndsAt <= now + SHORT_MS, `${String(windowEndsAt)} at ${String(now)}`);
    await until(async () => (await free(store, t)) === 10, 'the next window');
    assert.ok((await store.now()) >= windowEndsAt, 'it opened before its time');
    appended(await take(store, t, newRun(), 10));
  }),
  storeCase('BUD-5', 'counts back what a run gives back only as far as it drew it in this window', async (store) => {
    const [a, b] = [newRun(), newRun()];
    const t = await tenantWith(store, 1000, [limit(ERA_MS, 10)]);
    appended(await take(store, t, a, 10));
    appended(await take(store, t, b, -100));
    assert.equal(await free(store, t), 0);
    appended(await take(store, t, a, -4));
    assert.equal(await free(store, t), 4);
    appended(await take(store, t, a, -100));
    assert.equal(await free(store, t), 10);

    const turning = await tenantWith(store, 1000, [limit(SHORT_MS, 10)]);
    const fresh = (): Promise<void> => until(async () => (await free(store, turning)) === 10, 'a fresh window');
    await untilUndisturbed(async () => {
      const [before, after] = [newRun(), newRun()];
      await fresh();
      appended(await take(store, turning, before, 10));
      await fresh();
      appended(await take(store, turning, after, 10));
      const full = await view(store, turning);
      appended(await take(store, turning, before, -10));
      const v = await view(store, turning);
      if (v.windowEndsAt !== full.windowEndsAt || full.account.usd_micros !== 0) return false;
      assert.equal(v.account.usd_micros, 0, 'what was drawn in an earlier window came back in this one');
      return true;
    });
  }),
  storeCase('BUD-5', 'lets a grant neither count as a draw nor widen a window', async (store) => {
    const t = await tenantWith(store, 5, [limit(ERA_MS, 10)]);
    assert.equal(await free(store, t), 5);
    appended(await take(store, t, 'tenant/budget', -100));
    assert.equal(await free(store, t), 10);
    appended(await take(store, t, newRun(), 10));
    appended(await take(store, t, 'tenant/budget', -100));
    assert.deepEqual([await free(store, t), (await view(store, t)).held.usd_micros], [0, 195]);
  }),
  storeCase('BUD-5 BUD-2', 'holds several limits at once, each dimension for itself', async (store) => {
    const t = await tenantWith(store, 1000, [limit(ERA_MS, 10, 100), limit(ERA_MS * 2, 6), limit(ERA_MS * 3, 50, 7, 0)]);
    appended(await take(store, t, newRun(), 4));
    assert.deepEqual(await store.account(t), amounts(2, 7, 0));
    assert.deepEqual(refusedWith(await take(store, t, newRun(), 4), 'BUDGET_SHORT'), { dimension: 'usd_micros', needed: 4, balance: 2 });
    assert.deepEqual(refusedWith(await move(store, t, newRun(), amounts(1, 0, 1)), 'BUDGET_SHORT'), { dimension: 'calls', needed: 1, balance: 0 });
    appended(await move(store, t, newRun(), amounts(2, 7)));
    const v = await view(store, t);
    assert.deepEqual(v.limits.map((l) => [l.everyMs, l.left.usd_micros, l.left.tokens, l.endsAt]), [[ERA_MS, 4, 93, ERA_MS], [ERA_MS * 2, 0, 10 ** 9 - 7, ERA_MS * 2], [ERA_MS * 3, 44, 0, ERA_MS * 3]]);
  }),
  storeCase('BUD-5', 'replaces limits: one of the same length keeps what was drawn, one that is gone binds nobody', async (store) => {
    const [t, run] = [await tenantWith(store, 100, [limit(ERA_MS, 10), limit(ERA_MS * 2, 90)]), newRun()];
    appended(await take(store, t, run, 8));
    await limited(store, t, [limit(ERA_MS, 5)]);
    assert.deepEqual([await free(store, t), (await view(store, t)).limits.length], [0, 1]);
    appended(await take(store, t, run, -4));
    assert.equal(await free(store, t), 1);
    await limited(store, t, [limit(ERA_MS, 20)]);
    assert.equal(await free(store, t), 16);
    await limited(store, t, []);
    assert.deepEqual([await free(store, t), (await view(store, t)).windowEndsAt], [96, null]);
    await limited(store, t, [limit(ERA_MS, 10)]);
    appended(await take(store, t, run, -4)); // drawn before there was this limit
    assert.equal(await free(store, t), 10);
  }),
  storeCase('BUD-5', 'makes what waits for budget due when a window opens, or when its limit goes, and not before', async (store) => {
    const later = (await store.now()) + 3_600_000;
    const wait = (least: number): Need => ({ service: 'policy-gate', reason: 'blocked', dueAt: later, waitsFor: `budget:usd_micros:${least}` });
    const due = async (t: TenantId): Promise<boolean> => (await store.needsDue('policy-gate', 0, 1000)).some((n) => n.tenant === t);
    const put = async (t: TenantId, stream: StreamId, least: number): Promise<void> => void appended(await store.append(await draft(store, t, stream, { needs: { upsert: [wait(least)], remove: [] }, releases: ['budget'] })));

    const [t, run] = [await tenantWith(store, 100, [limit(ERA_MS, 3)]), newRun()];
    await put(t, run, 5);
    assert.equal(await due(t), false);
    appended(await store.append(await draft(store, t, 'tenant/budget', { debit: amounts(-100), releases: ['budget'] })));
    assert.deepEqual([await due(t), (await store.needsOf(t, run))[0]?.dueAt], [false, later]); // long before this window ends
    await limited(store, t, [limit(ERA_MS, 10)]);
    assert.equal(await due(t), true);

    const turning = await tenantWith(store, 100, [limit(SHORT_MS, 10), limit(ERA_MS, 95)]);
    const waiting = newRun();
    await untilUndisturbed(async () => {
      await until(async () => (await free(store, turning)) >= 10, 'a fresh window');
      const taken = newRun();
      appended(await take(store, turning, taken, 10));
      const { windowEndsAt } = await view(store, turning);
      await put(turning, waiting, 10);
      const [need] = await store.needsOf(turning, waiting);
      if (need?.dueAt === windowEndsAt) return true;
      appended(await store.append(await draft(store, turning, waiting, { needs: { upsert: [], remove: [wait(10)] } })));
      appended(await take(store, turning, taken, -10));
      return false;
    });
    const [{ dueAt } = wait(0)] = await store.needsOf(turning, waiting);
    await until(() => due(turning), 'due when the window opens');
    assert.ok((await store.now()) >= dueAt);
    appended(await take(store, turning, newRun(), 1)); // somebody else was faster
    await until(async () => (await free(store, turning)) === 10, 'the window after that');
    assert.equal(await due(turning), true);
  }),
];
