/**
 * The second leg of every reactor: asks the store now and then which runs need it, so that the bus is needed for speed only.
 * It decides nothing about runs; in health it finds none.
 *
 * 1. Sweeps of one service never overlap, and share the run queue with triggers.
 * 2. One sweep takes at most `limit` rows and goes on behind the last one soon, until a pass has met all that is due; the next pass comes after
 *    `everyMs` with jitter. So nothing starves behind rows that nobody can do anything about.
 * 3. A row that was handed out and is still there waits longer each time (sweep-patience.ts).
 * 4. Trouble with the store or a run is told and never ends the loop; a run that hangs holds up only itself.
 *
 * Rows: RUN-4, SVC-1.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceName } from '@n17q/domain';
import { troubleOf } from './faults.js';
import type { RunRef } from './names.js';
import type { RunQueue } from './run-queue.js';
import { Patience, type DueRow } from './sweep-patience.js';

export interface SweepQuery { readonly olderThanMs: number; readonly limit: number; /** The last row of the page before; null: from the longest due on. */ readonly after: DueRow | null }

export interface SweepOptions {
  readonly service: ServiceName;
  readonly queue: RunQueue;
  readonly everyMs: number;
  /** Younger needs are left to the triggers that are under way. */
  readonly olderThanMs: number;
  readonly limit?: number;
  /** How long a page is waited for before the sweep goes on beside those of its runs that still are in work. Default 10,000. */
  readonly pageMsMax?: number;
  /** Rows in one order, from `after` on; fewer than `limit` says that there are no more. */
  readonly fetch: (query: SweepQuery) => Promise<readonly DueRow[]>;
  readonly handle: (run: RunRef) => Promise<void>;
  /** Called once per sweep with the runs that it handed out, also with 0. */
  readonly onFound: (count: number) => void;
  readonly onTrouble: (error: unknown, run?: RunRef) => void;
}

export interface Sweep {
  /** Begins nothing new and resolves when what is in work has ended. */
  stop(): Promise<void>;
}

const PAGE_MS_MAX = 10_000;
const runOf = (r: RunRef): string => `${r.tenant}\u0000${r.run}`;

class Sweeping {
  readonly stopped = new AbortController();
  readonly inWork = new Map<string, Promise<void>>();
  private readonly patience: Patience;
  private after: DueRow | null = null;

  constructor(private readonly o: SweepOptions, private readonly limit: number) { this.patience = new Patience(o.everyMs); }

  async loop(): Promise<void> {
    await this.pause(Math.min(this.o.everyMs, 800));
    while (!this.stopped.signal.aborted) await this.pause((await this.page()) ? Math.max(20, this.o.everyMs / 20) : this.o.everyMs);
  }
  private async pause(ms: number): Promise<void> {
    await delay(ms * (0.8 + Math.random() * 0.4), undefined, { signal: this.stopped.signal, ref: false }).catch(() => undefined);
  }

  /** One sweep. True: there may be more behind it. */
  private async page(): Promise<boolean> {
    let rows: readonly DueRow[];
    try {
      rows = (await this.o.fetch({ olderThanMs: this.o.olderThanMs, limit: this.limit, after: this.after })).slice(0, this.limit);
    } catch (error) {
      this.o.onTrouble(error);
      return false;
    }
    const more = rows.length === this.limit;
    this.after = more ? (rows.at(-1) as DueRow) : null;
    const byRun = new Map<string, DueRow[]>();
    const now = performance.now();
    for (const r of rows) if (this.patience.isDue(r, now) && !this.inWork.has(runOf(r))) byRun.set(runOf(r), [...(byRun.get(runOf(r)) ?? []), r]);
    for (const [key, due] of byRun) this.handOut(key, due);
    this.o.onFound(byRun.size);
    await this.settled(this.o.pageMsMax ?? PAGE_MS_MAX, [...byRun.keys()]);
    if (!more) this.patience.endPass();
    return more;
  }

  private handOut(key: string, rows: readonly DueRow[]): void {
    const { tenant, run } = rows[0] as DueRow;
    const ref = { tenant, run };
    for (const r of rows) this.patience.handOut(r, performance.now());
    const work = this.o.queue.submit(ref, () => this.o.handle(ref)).catch((error: unknown) => {
      if (troubleOf(error).kind !== 'failed') for (const r of rows) this.patience.forget(r);
      this.o.onTrouble(error, ref);
    });
    this.inWork.set(key, work.finally(() => { this.inWork.delete(key); }));
  }
  private async settled(msMax: number, keys: readonly string[]): Promise<void> {
    const bound = new AbortController();
    await Promise.race([Promise.all(keys.map((k) => this.inWork.get(k))), delay(msMax, undefined, { signal: bound.signal, ref: false }).catch(() => undefined)]);
    bound.abort();
  }
}

/** Starts sweeping; the first sweep comes within a second, so that a new or restarted service catches up at once. */
export function startSweep(options: SweepOptions): Sweep {
  const sweeping = new Sweeping(options, options.limit ?? 100);
  const running = sweeping.loop();
  return {
    stop: async () => {
      sweeping.stopped.abort();
      await running;
      await Promise.all(sweeping.inWork.values());
    },
  };
}
