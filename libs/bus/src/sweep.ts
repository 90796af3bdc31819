/**
 * The second leg of every reactor: asks the store now and then which runs need it, so that the bus is needed for speed only.
 * It decides nothing about runs; in health it finds none.
 *
 * 1. Sweeps of one service never overlap, and share the run queue with triggers.
 * 2. One sweep takes at most `limit` runs; a full one is followed soon by the next, others after `everyMs` with jitter.
 * 3. Trouble with the store or a run is told and never ends the loop.
 *
 * Rows: RUN-4, SVC-1.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceName } from '@n17q/domain';
import type { RunRef } from './names.js';
import type { RunQueue } from './run-queue.js';

export interface SweepQuery { readonly olderThanMs: number; readonly limit: number }

export interface SweepOptions {
  readonly service: ServiceName;
  readonly queue: RunQueue;
  readonly everyMs: number;
  /** Younger needs are left to the triggers that are under way. */
  readonly olderThanMs: number;
  readonly limit?: number;
  readonly fetch: (query: SweepQuery) => Promise<readonly RunRef[]>;
  readonly handle: (run: RunRef) => Promise<void>;
  /** Called once per sweep, also with 0. */
  readonly onFound: (count: number) => void;
  readonly onTrouble: (error: unknown, run?: RunRef) => void;
}

export interface Sweep {
  /** Begins nothing new and resolves when the sweep in work has ended. */
  stop(): Promise<void>;
}

/** One sweep. Returns how many runs it found and how many of them it finished. */
async function sweepOnce(o: SweepOptions, limit: number): Promise<{ found: number; done: number }> {
  let runs: readonly RunRef[];
  try {
    runs = (await o.fetch({ olderThanMs: o.olderThanMs, limit })).slice(0, limit);
  } catch (error) {
    o.onTrouble(error);
    return { found: 0, done: 0 };
  }
  o.onFound(runs.length);
  const settled = await Promise.all(runs.map((run) => o.queue.submit(run, () => o.handle(run)).then(
    () => true,
    (error: unknown) => {
      o.onTrouble(error, run);
      return false;
    },
  )));
  return { found: runs.length, done: settled.filter(Boolean).length };
}

/** Starts sweeping; the first sweep comes within a second, so that a new or restarted service catches up at once. */
export function startSweep(options: SweepOptions): Sweep {
  const limit = options.limit ?? 100;
  const stop = new AbortController();
  const pause = async (ms: number): Promise<void> => {
    await delay(ms * (0.8 + Math.random() * 0.4), undefined, { signal: stop.signal, ref: false }).catch(() => undefined);
  };
  const running = (async () => {
    await pause(Math.min(options.everyMs, 800));
    while (!stop.signal.aborted) {
      const { found, done } = await sweepOnce(options, limit);
      await pause(found === limit && done > 0 ? Math.max(20, options.everyMs / 20) : options.everyMs);
    }
  })();
  return {
    stop: async () => {
      stop.abort();
      await running;
    },
  };
}
