/**
 * The store's clock in this process: the database's, by offset from a clock that never jumps.
 *
 * 1. `now()` never goes back, also when the offset is corrected downwards.
 * 2. It throws until it was synchronised once: a guess would be written into events.
 */
import { StoreFault } from '../store-fault.js';

export class StoreClock {
  #offsetMs: number | undefined;
  #last = 0;
  #timer: NodeJS.Timeout | undefined;
  #syncing: Promise<void> | undefined;

  /** @param databaseNow the database's clock_timestamp, ms since 1970 */
  constructor(private readonly databaseNow: () => Promise<number>, private readonly refreshMs = 5000) {}

  /** Synchronises once (throws when it cannot), then every `refreshMs`; a failed refresh keeps the offset. */
  async start(): Promise<void> {
    await this.sync();
    this.#timer ??= setInterval(() => void this.sync().catch(() => undefined), this.refreshMs).unref();
  }
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Two at once share one look. */
  sync(): Promise<void> {
    this.#syncing ??= this.#look().finally(() => { this.#syncing = undefined; });
    return this.#syncing;
  }

  now(): number {
    if (this.#offsetMs === undefined) throw new StoreFault('UNREACHABLE', 'The store\'s clock is not known yet.', false);
    this.#last = Math.max(this.#last, Math.floor(performance.now() + this.#offsetMs));
    return this.#last;
  }

  async #look(): Promise<void> {
    const before = performance.now();
    const database = await this.databaseNow();
    this.#offsetMs = database - (before + performance.now()) / 2;
  }
}
