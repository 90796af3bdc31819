/**
 * What is remembered of runs: many of those that somebody works on, few of those that rest until somebody writes again, so that ten thousand runs that are
 * paused, or have ended, take no more memory than some hundred.
 */
import { LRUCache } from 'lru-cache';

/** A run that rests is often written to once more, soon after. */
const RESTING_MAX = 256;

export class RunCache<V extends object> {
  readonly #resting = new LRUCache<string, V>({ max: RESTING_MAX });
  constructor(private readonly working: LRUCache<string, V>) {}

  get(key: string): V | undefined { return this.working.get(key) ?? this.#resting.get(key); }
  set(key: string, value: V, rests: boolean): void {
    const [there, other] = rests ? [this.#resting, this.working] : [this.working, this.#resting];
    other.delete(key);
    there.set(key, value);
  }
  /** What is remembered is as it was; the run rests now, or works again. */
  move(key: string, rests: boolean): void {
    const known = this.get(key);
    if (known !== undefined) this.set(key, known, rests);
  }
}
