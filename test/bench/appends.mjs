/** Appends per second without a bus: the batcher alone, and the guard in front of it. */
import { GuardedStore, isRefusal, parseAppend, PostgresEventStore, prepareAppend } from '@n17q/event-log';
import { ScriptedRun } from './scripted-run.mjs';

export const CALLERS = 64;
/** A prepared append carries its time, and the store takes it only within two seconds of its own clock. */
const AHEAD_MS = 1_300;
const SLICE_MS = 500;

/** Fills the tenant's account as its api would. */
export async function grant(guarded, tenant) {
  const amounts = { usd_micros: 1e15, tokens: 1e15, calls: 1e12 };
  const request = { tenant, stream: 'tenant/budget', expected: 0, appendId: crypto.randomUUID(), actor: { kind: 'person', id: 'operator' }, correlation: 'set up', causation: null, contents: [], events: [{ type: 'allowance.granted', eventId: crypto.randomUUID(), data: { amounts, reason: 'set up' } }] };
  const o = await guarded.append(request, 'api', 500);
  if (o.kind !== 'appended') throw new Error(JSON.stringify(o));
}

export const openStore = async (url) => {
  const store = await PostgresEventStore.open({ url });
  return { store, guarded: new GuardedStore(store, { clock: store.clock }) };
};

/** As a client's append reaches the guard: through JSON. */
async function throughGuard(guarded, run) {
  const { writer, request } = run.next();
  const body = JSON.stringify(request);
  const outcome = await guarded.append(JSON.parse(body), writer, body.length);
  run.applied(outcome);
}

/** Closed loop: each caller has a run of its own. */
export async function guardedRate({ guarded }, tenant, script, seconds, options = {}) {
  const runs = Array.from({ length: CALLERS }, () => new ScriptedRun(tenant, script, options));
  await Promise.all(runs.map(async (r) => { for (let i = 0; i < 4; i++) await throughGuard(guarded, r); }));
  const began = performance.now();
  const until = began + seconds * 1000;
  let count = 0;
  await Promise.all(runs.map(async (r) => { while (performance.now() < until) { await throughGuard(guarded, r); count++; } }));
  return (count * 1000) / (performance.now() - began);
}

/**
 * Appends are prepared by the guard's own functions before the clock runs (parse, judgement, chain, needs, cut, snapshot); what is measured is
 * the store's append: encoding, batching, the transaction, the outcomes.
 */
export async function batcherRate({ store }, tenant, script, seconds, options = {}) {
  const runs = Array.from({ length: CALLERS }, () => new ScriptedRun(tenant, script, options));
  let [count, spentMs, each, commits] = [0, 0, 4, 0];
  const stop = store.onCommit(() => { commits++; });
  while (spentMs < seconds * 1000) {
    const at = store.clock.now() + AHEAD_MS;
    const prepareUntil = performance.now() + AHEAD_MS;
    const ready = runs.map(() => []);
    for (let n = 0; n < each; n++) for (const [i, r] of runs.entries()) if (performance.now() < prepareUntil) ready[i].push(preparedNext(r, at));
    const began = performance.now();
    await Promise.all(ready.map(async (list) => {
      for (const append of list) {
        const o = await store.append(append);
        if (o.kind !== 'appended') throw new Error(`${append.rows[0].type}: ${JSON.stringify(o)}`);
        count++;
      }
    }));
    spentMs += performance.now() - began;
    each = Math.max(4, Math.min(64, Math.floor((count * SLICE_MS) / spentMs / CALLERS)));
  }
  stop();
  return { rate: (count * 1000) / spentMs, perCommit: count / commits };
}

function preparedNext(run, recordedAt) {
  const { writer, request } = run.next(recordedAt);
  const parsed = parseAppend(request, writer, 2000);
  if (isRefusal(parsed)) throw new Error(JSON.stringify(parsed));
  const prepared = prepareAppend(parsed, writer, { kind: 'run', state: run.state }, recordedAt);
  if (isRefusal(prepared)) throw new Error(JSON.stringify(prepared));
  run.standsAt(prepared.state);
  return prepared.append;
}

