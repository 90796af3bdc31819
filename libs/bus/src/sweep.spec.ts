import { afterEach, describe, expect, it } from '@jest/globals';
import { once, EventEmitter } from 'node:events';
import type { RunRef } from './names.js';
import { RunQueue } from './run-queue.js';
import { startSweep, type Sweep, type SweepOptions } from './sweep.js';

const runs = (n: number): RunRef[] => Array.from({ length: n }, (_, i) => ({ tenant: 't', run: `run-${i}` }));

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
        expect(query).toEqual({ olderThanMs: 500, limit: 20 });
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
