/**
 * One worker per run at a time in this process, in front of every handler and every sweep.
 * It does not order runs among one another beyond first come, and it excludes no other process: losing a race is the log's affair.
 *
 * 1. Two passes over one run never overlap.
 * 2. What is submitted while a run is in work makes it dirty: one more pass serves all of that, and each submission settles
 *    with a pass that *started after it came*.
 * 3. At most `concurrencyMax` passes run at once.
 *
 * Rows: RUN-4, SVC-4.
 */
import type { RunRef } from './names.js';

interface Waiter { readonly work: () => Promise<void>; readonly resolve: () => void; readonly reject: (error: unknown) => void }
interface Line { running: boolean; waiting: Waiter[] }

export class RunQueue {
  readonly #lines = new Map<string, Line>();
  readonly #ready: string[] = [];
  readonly #idle: (() => void)[] = [];
  #active = 0;

  constructor(private readonly options: { readonly concurrencyMax: number }) {
    if (!(options.concurrencyMax >= 1)) throw new RangeError('concurrencyMax must be at least 1');
  }

  /** Passes in work now. */
  get active(): number { return this.#active; }
  /** Runs that are in work or wait for it. */
  get runs(): number { return this.#lines.size; }

  /**
   * Asks for a pass over `run`. All works of one run mean the same (look at the run, do what it needs), so a shared pass
   * runs the newest one. Settles as that pass settles.
   */
  submit(run: RunRef, work: () => Promise<void>): Promise<void> {
    const key = `${run.tenant}\u0000${run.run}`;
    let line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, (line = { running: false, waiting: [] }));
    if (!line.running && line.waiting.length === 0) this.#ready.push(key);
    const waiting = line.waiting;
    return new Promise<void>((resolve, reject) => {
      waiting.push({ work, resolve, reject });
      this.#pump();
    });
  }

  /** Resolves when nothing is in work and nothing waits. */
  async idle(): Promise<void> {
    if (this.#lines.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #pump(): void {
    while (this.#active < this.options.concurrencyMax) {
      const key = this.#ready.shift();
      if (key === undefined) return;
      void this.#pass(key);
    }
  }

  async #pass(key: string): Promise<void> {
    const line = this.#lines.get(key) as Line;
    const served = line.waiting;
    line.waiting = []; // invariant 2: whoever comes from here on waits for the next pass
    line.running = true;
    this.#active++;
    try {
      await (served.at(-1) as Waiter).work();
      for (const waiter of served) waiter.resolve();
    } catch (error) {
      for (const waiter of served) waiter.reject(error);
    } finally {
      line.running = false;
      this.#active--;
      if (line.waiting.length > 0) this.#ready.push(key);
      else this.#lines.delete(key);
      if (this.#lines.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
      this.#pump();
    }
  }
}
