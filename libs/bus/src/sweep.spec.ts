import { afterEach, describe, expect, it } from '@jest/globals';
import { once, EventEmitter } from 'node:events';
import { RunQueue } from './run-queue.js';
import { startSweep, type Sweep, type SweepOptions, type SweepQuery } from './sweep.js';
import { BACKOFF_MS_MAX, Patience, type DueRow } from './sweep-patience.js';

const runs = (n: number): DueRow[] => Array.from({ length: n }, (_, i) => ({ tenant: 't', run: `run-${i}`, reason: 'work', dueAt: i }));
/** What a store answers: in order of due time, from the row behind `after` on. */
const pageOf = (rows: readonly DueRow[], q: SweepQuery): readonly DueRow[] => rows.filter((r) => q.after === null || r.dueAt > q.after.dueAt).slice(0, q.limit);

describe('a sweep', () => {
  let sweep: Sweep | undefined;
  afterEach(async () => sweep?.stop());
  const start = (more: Partial<SweepOptions> & Pick<SweepOptions, 'fetch' | 'handle'>): { found: number[]; troubles: unknown[]; seen: EventEmitter } => {
    const [found, troubles, seen]: [number[], unknown[], EventEmitter] = [[], [], new EventEmitter()];
    sweep = startSweep({
      service: 'policy-gate', queue: new RunQueue({ concurrencyMax: 3 }), everyMs: 10, olderThanMs: 500, limit: 20,
      onFound: (n) => { found.push(n); seen.emit('found', n); }, onTrouble: (error, run) => { troubles.push([run?.run, (error as Error).message]); seen.emit('trouble'); }, ...more,
    });
    return { found, troubles, seen };
  };

  it('[RUN-4] handles what the store names, never two sweeps at once, and says how many it found', async () => {
    let active = 0;
    let peak = 0;
    let fetches = 0;
    const handled: string[] = [];
    const { found, seen } = start({
      fetch: async (query) => {
        expect(query).toEqual({ olderThanMs: 500, limit: 20, after: null });
        expect(active).toBe(0); // the sweep before has ended
        return fetches++ === 0 ? runs(5) : [];
      },
      handle: async (run) => {
        peak = Math.max(peak, ++active);
        await new Promise((resolve) => setImmediate(resolve));
        handled.push(run.run);
        active--;
      },
    });
    while (found.length < 3) await once(seen, 'found');
    expect(handled.sort()).toEqual(runs(5).map((r) => r.run));
    expect(peak).toBe(3);
    expect(found.slice(0, 3)).toEqual([5, 0, 0]);
  });

  it('[RUN-4] goes on after trouble with the store and with a run, and tells both', async () => {
    let fetches = 0;
    const { troubles, found, seen } = start({
      fetch: async () => {
        if (fetches++ === 0) throw new Error('the store is away');
        return fetches === 2 ? runs(2) : [];
      },
      handle: async (run) => { if (run.run === 'run-0') throw new Error('cannot'); },
    });
    while (found.length < 2) await once(seen, 'found');
    expect(troubles).toEqual([[undefined, 'the store is away'], ['run-0', 'cannot']]);
  });

  it('[RUN-4] reaches a healthy run behind three hundred that nobody can do anything about, and troubles those less and less', async () => {
    const stuck = runs(300);
    const healthy: DueRow = { tenant: 't', run: 'healthy', reason: 'work', dueAt: 300 };
    const tries = new Map<string, number>();
    const left = new EventEmitter();
    let passes = 0;
    start({
      limit: 200, olderThanMs: 0,
      fetch: async (q) => { if (q.after === null && ++passes > 1) left.emit('pass'); return pageOf(tries.has('healthy') ? stuck : [...stuck, healthy], q); },
      handle: async (run) => { tries.set(run.run, (tries.get(run.run) ?? 0) + 1); if (run.run === 'healthy') left.emit('healthy'); },
    });
    await once(left, 'healthy');
    expect(passes).toBe(1);
    while (passes < 40) await once(left, 'pass');
    for (const r of stuck) expect(tries.get(r.run)).toBeLessThan(10);
    expect(tries.get('run-7')).toBeGreaterThan(1);
  });

  it('[RUN-4] hands out anew what became due again, and at once what failed for no fault of its own', async () => {
    const row = { tenant: 't', run: 'r', reason: 'work', dueAt: 1 };
    const p = new Patience(1000);
    expect(p.isDue(row, 0)).toBe(true);
    let now = 0;
    const pauses = Array.from({ length: 12 }, () => { p.handOut(row, now); const from = now; while (!p.isDue(row, now)) now += 1000; return now - from; });
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, ...Array.from({ length: 5 }, () => BACKOFF_MS_MAX)]);
    p.handOut(row, now);
    expect(p.isDue({ ...row, dueAt: 2 }, now)).toBe(true);
    p.forget(row);
    expect(p.isDue(row, now)).toBe(true);
    p.handOut(row, now);
    p.endPass(); p.endPass();
    expect(p.isDue(row, now)).toBe(true);
  });

  it('[RUN-4] goes on beside a run that hangs', async () => {
    const seen = new EventEmitter();
    const hung: (() => void)[] = [];
    let passes = 0;
    const { found } = start({ pageMsMax: 20, fetch: async () => { passes += 1; return passes === 1 ? runs(1) : [{ tenant: 't', run: `later-${passes}`, reason: 'work', dueAt: 1 }, ...runs(1)]; }, handle: (run) => (run.run === 'run-0' ? new Promise<void>((resolve) => { hung.push(resolve); }) : Promise.resolve(void seen.emit('later'))) });
    await once(seen, 'later');
    expect(hung).toHaveLength(1);
    expect(found.length).toBeGreaterThan(0);
    hung.forEach((end) => end());
  });

  it('[RUN-4] takes no more than its bound at once, and ends cleanly in the middle', async () => {
    const gates: (() => void)[] = [];
    const begun = new EventEmitter();
    const { found } = start({ fetch: async () => runs(100), handle: () => new Promise<void>((resolve) => { gates.push(resolve); begun.emit('begun'); }) });
    while (gates.length < 3) await once(begun, 'begun');
    expect(found).toEqual([20]);
    let stopped = false;
    const stopping = sweep?.stop().then(() => { stopped = true; });
    expect(stopped).toBe(false);
    while (!stopped) {
      gates.splice(0).forEach((open) => open());
      await new Promise((resolve) => setImmediate(resolve));
    }
    await stopping;
    expect(found).toEqual([20]);
  });
});
