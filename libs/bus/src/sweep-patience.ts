/**
 * What a sweep remembers of the rows that it handed out: one that comes back as it was changed nothing, and waits longer each time.
 * In memory only: a process that begins anew tries everything once.
 *
 * 1. A row that was never handed out, or that is due anew, is handed out at once.
 * 2. The pause of a row doubles from `firstMs` to `BACKOFF_MS_MAX`; others do not pay for it.
 * 3. What a whole pass did not meet is forgotten; beyond `ROWS_MAX` nothing is remembered.
 *
 * Rows: RUN-4.
 */
import type { RunRef } from './names.js';

/** One piece of work that is due. The same reason and due time again is the same piece. */
export interface DueRow extends RunRef { readonly reason: string; readonly dueAt: number }

/** A stuck run costs a look every two minutes, and a cause that goes away by itself is noticed as late. */
export const BACKOFF_MS_MAX = 120_000;
export const ROWS_MAX = 100_000;

interface Held { tries: number; notBefore: number; pass: number }
const keyOf = (r: DueRow): string => `${r.tenant}\u0000${r.run}\u0000${r.reason}\u0000${r.dueAt}`;

export class Patience {
  readonly #rows = new Map<string, Held>();
  #pass = 0;
  constructor(private readonly firstMs: number) {}

  /** Notes that the pass met this row, and says whether it is its turn. */
  isDue(row: DueRow, nowMs: number): boolean {
    const held = this.#rows.get(keyOf(row));
    if (held === undefined) return true;
    held.pass = this.#pass;
    return nowMs >= held.notBefore;
  }
  handOut(row: DueRow, nowMs: number): void {
    const key = keyOf(row);
    const held = this.#rows.get(key) ?? { tries: 0, notBefore: 0, pass: this.#pass };
    held.notBefore = nowMs + Math.min(BACKOFF_MS_MAX, this.firstMs * 2 ** Math.min(held.tries, 30));
    held.tries += 1;
    held.pass = this.#pass;
    if (this.#rows.has(key) || this.#rows.size < ROWS_MAX) this.#rows.set(key, held);
  }
  /** The hand-out could not show anything: a dependency was away, or somebody else was faster. */
  forget(row: DueRow): void { this.#rows.delete(keyOf(row)); }
  endPass(): void {
    for (const [key, held] of this.#rows) if (held.pass !== this.#pass) this.#rows.delete(key);
    this.#pass += 1;
  }
}
