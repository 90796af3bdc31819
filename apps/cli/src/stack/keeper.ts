/**
 * Keeps one thing running: starts it, notices its end, starts it again with growing pauses, for as long as nobody asks it to stop.
 *
 * Deliberately without: knowledge of what it keeps.
 *
 * W1. At most one instance runs at a time; a stop that meets a start cuts it short, waits for it and ends what came of it.
 *
 * Rows: SVC-4, RUN-4.
 */
import { setTimeout as delay } from 'node:timers/promises';

export interface Instance {
  readonly pid: number;
  /** Resolves when it has ended, with a few words on how. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
  /** SIGKILL where it is a process; undefined where it is not. */
  readonly kill: (() => Promise<void>) | undefined;
}
export interface Kept {
  readonly instance: Instance | undefined;
  readonly restarts: number;
  readonly since: Date;
  readonly problem: string | undefined;
  stop(): Promise<void>;
}

const FIRST_PAUSE_MS = 50;
const PAUSE_MS_MAX = 5_000;
/** After so long a life the pauses begin anew. */
const HEALTHY_MS = 30_000;

export class Keeper implements Kept {
  instance: Instance | undefined;
  restarts = 0;
  since = new Date();
  problem: string | undefined;
  #stopping = false;
  readonly #wake = new AbortController();
  #loop: Promise<void> | undefined;

  /** `start` gives up, as far as it can, when its signal aborts. */
  constructor(private readonly start: (signal: AbortSignal) => Promise<Instance>, private readonly changed: () => void) {}

  /** Starts the first instance; a failure of this first start is the caller's. */
  async open(): Promise<void> {
    this.instance = await this.start(this.#wake.signal);
    this.since = new Date();
    this.changed();
    this.#loop = this.#keep(this.instance);
  }

  async #keep(first: Instance): Promise<void> {
    let failures = 0;
    for (let running: Instance | undefined = first; ; ) {
      if (running !== undefined) {
        const how = await running.ended;
        this.instance = undefined;
        if (this.#stopping) return this.changed();
        failures = Date.now() - this.since.getTime() > HEALTHY_MS ? 0 : failures;
        this.problem = how;
        this.changed();
      }
      await delay(Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** failures), undefined, { signal: this.#wake.signal }).catch(() => undefined); // woken to stop
      if (this.#stopping) return;
      failures += 1;
      try {
        running = await this.start(this.#wake.signal);
        this.restarts += 1;
        this.since = new Date();
        this.instance = running;
        if (this.#stopping) await running.stop(); // keeps W1
      } catch (e) {
        running = undefined;
        this.problem = `does not start: ${e instanceof Error ? e.message : String(e)}`.slice(0, 500);
      }
      this.changed();
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wake.abort();
    await this.instance?.stop();
    await this.#loop;
  }
}
