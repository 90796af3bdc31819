import { inspect } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';

export interface UntilOptions {
  readonly withinMs: number;
  /** What is waited for, as it should read in "waited 500 ms for …". */
  readonly what: string;
  readonly everyMs?: number;
}

/**
 * Waits until `condition` gives something other than undefined, null or false, and returns that. A condition that throws
 * counts as not met yet: servers under test are down at times. When the bound passes, the error names what was waited for and what
 * the condition last gave or threw. Asked at least once, also with `withinMs` 0.
 */
export async function until<T>(condition: () => T | Promise<T>, options: UntilOptions): Promise<NonNullable<Exclude<T, false>>> {
  const startedMs = performance.now();
  for (;;) {
    let last: string;
    try {
      const value = await bounded(condition, options.withinMs - (performance.now() - startedMs));
      if (value !== undefined && value !== null && value !== false) return value as NonNullable<Exclude<T, false>>;
      last = `last value: ${inspect(value)}`;
    } catch (error) {
      last = `last error: ${error instanceof Error ? error.message : inspect(error)}`;
    }
    if (performance.now() - startedMs >= options.withinMs) {
      throw new Error(`waited ${String(options.withinMs)} ms for ${options.what} in vain; ${last}`);
    }
    await delay(options.everyMs ?? 10);
  }
}

// A condition that itself hangs (a query to a paused server) must not defeat the bound.
async function bounded<T>(condition: () => T | Promise<T>, leftMs: number): Promise<T> {
  const timer = new AbortController();
  try {
    return await Promise.race([
      condition(),
      delay(Math.max(leftMs, 50), undefined, { signal: timer.signal }).then((): never => { throw new Error('the condition itself did not answer'); }),
    ]);
  } finally {
    timer.abort();
  }
}
