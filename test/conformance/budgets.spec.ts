/** Runs that race for one tenant's allowance. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { Amounts, EventEnvelope, RunId } from '@n17q/domain';
import { publishDocuments } from '@n17q/testing';
import { isOver, ofType, openScene, type Scene } from '../faults/kit/scene.js';

const RUNS = 64;
/** Enough for a dozen of them at a time. */
const ALLOWANCE: Amounts = { usd_micros: 4_000, tokens: 240_000, calls: 30 };
const SLICE: Amounts = { usd_micros: 200, tokens: 12_000, calls: 1 };
const DIMENSIONS = ['usd_micros', 'tokens', 'calls'] as const;

describe('a tenant\'s allowance', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene({ scripts: { short: [{ text: 'done' }] }, stack: { separate: false, tenant: 'narrow', policy: { slice: SLICE }, allowance: ALLOWANCE } });
  }, 180_000);
  afterAll(() => scene?.close(), 60_000);

  it('[BUD-5] [BUD-2] is never overspent by 64 runs at once, and each gets its turn when others give back', async () => {
    const balances: { dimension: string; balance: string }[] = [];
    const client = new pg.Client({ connectionString: scene.stack.site.databases.reader });
    await client.connect();
    let watching = true;
    const watch = (async () => { while (watching) balances.push(...(await client.query<{ dimension: string; balance: string }>('select dimension, balance::text from n17q.accounts where tenant = $1', [scene.stack.tenant])).rows); })();
    const runs: RunId[] = [];
    try {
      runs.push(...(await Promise.all(Array.from({ length: RUNS }, () => scene.start('short', { budget: { usd_micros: 1_000, tokens: 40_000, calls: 5 } })))).map((s) => s.run));
      for (const r of runs) await scene.stack.waitFor(r, isOver, 'its end', 60_000);
    } finally { watching = false; await watch; await client.end(); }
    expect(balances.length).toBeGreaterThan(30);
    expect(balances.filter((b) => Number(b.balance) < 0)).toEqual([]);
    const logs = await Promise.all(runs.map((r) => scene.stack.events(r)));
    const all = logs.flat().toSorted((a, b) => place(a) - place(b));
    const out = { usd_micros: 0, tokens: 0, calls: 0 };
    const most = { usd_micros: 0, tokens: 0, calls: 0 };
    for (const e of all) {
      const by = moved(e);
      for (const d of DIMENSIONS) { out[d] += by[d]; most[d] = Math.max(most[d], out[d]); }
    }
    for (const d of DIMENSIONS) expect(most[d]).toBeLessThanOrEqual(ALLOWANCE[d]);
    expect(most.tokens).toBeGreaterThan(ALLOWANCE.tokens / 2); // it was tight
    expect(logs.filter((l) => ofType(l, 'budget.exhausted').some((e) => e.data.of === 'tenant')).length).toBeGreaterThan(0);
    const left = await scene.owner<{ dimension: (typeof DIMENSIONS)[number]; balance: string }>('select dimension, balance::text from n17q.accounts where tenant = $1', [scene.stack.tenant]);
    for (const { dimension, balance } of left) expect(Number(balance) + out[dimension]).toBe(ALLOWANCE[dimension]);
  }, 240_000);

  it('[BUD-5] [BUD-2] lets runs through window by window, and each goes on by itself when the next one opens', async () => {
    const { run: first } = await scene.start('short');
    const log = await scene.stack.waitFor(first, isOver, 'its end', 60_000);
    const reserved = Math.max(...ofType(log, 'budget.reserved').map((e) => e.data.amounts.tokens));
    const used = ofType(log, 'budget.settled').reduce((n, e) => n + e.data.used.tokens, 0);
    expect(used).toBeGreaterThan(1);
    // room for one reservation, and not for another once a run has used its part
    const [everyMs, most] = [2_000, reserved + Math.floor(used / 2)];
    await publishDocuments(scene.stack.store, scene.stack.tenant, { limits: [{ everyMs, amounts: { usd_micros: 1_000_000, tokens: most, calls: 1_000 } }] });
    const rows: { used: string; most: string }[] = [];
    const client = new pg.Client({ connectionString: scene.stack.site.databases.reader });
    await client.connect();
    let watching = true;
    const watch = (async () => { while (watching) rows.push(...(await client.query<{ used: string; most: string }>(`select used::text, most::text from n17q.windows where tenant = $1 and dimension = 'tokens'`, [scene.stack.tenant])).rows); })();
    try {
      const runs = (await Promise.all(Array.from({ length: 3 }, () => scene.start('short')))).map((s) => s.run);
      const logs = await Promise.all(runs.map((r) => scene.stack.waitFor(r, isOver, 'its end', 60_000)));
      const ends = logs.flatMap((l) => ofType(l, 'run.ended').map((e) => e.recordedAt)).toSorted((a, b) => a - b);
      expect(ends).toHaveLength(3);
      expect((ends[2] as number) - (ends[0] as number)).toBeGreaterThan(everyMs); // three windows
      expect(logs.filter((l) => ofType(l, 'budget.exhausted').some((e) => e.data.of === 'tenant')).length).toBeGreaterThanOrEqual(2);
      expect(await scene.owner(`select from n17q.events where tenant = $1 and type = 'allowance.granted'`, [scene.stack.tenant])).toHaveLength(1);
    } finally { watching = false; await watch; await client.end(); }
    expect(rows.filter((r) => Number(r.used) > Number(r.most))).toEqual([]);
    expect(rows.some((r) => Number(r.used) > 0)).toBe(true);
  }, 120_000);
});

const place = (e: EventEnvelope): number => Number(e.position.split(':').at(-1));

/** What an event took from the tenant's account. */
function moved(e: EventEnvelope): Amounts {
  if (e.type === 'budget.reserved') return e.data.drawn;
  if (e.type === 'run.ended') return { usd_micros: -e.data.returned.usd_micros, tokens: -e.data.returned.tokens, calls: -e.data.returned.calls };
  return { usd_micros: 0, tokens: 0, calls: 0 };
}
