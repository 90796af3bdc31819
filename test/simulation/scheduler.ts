/**
 * Who runs next. Every call that leaves a process waits here until the scheduler picks it, so that between any two calls anything else may
 * happen: another process, a crash, an hour.
 *
 * S1. A step is taken only when no promise is left to run: the choice depends on the seed alone.
 * S2. What a dead owner asked for is never done, and what was answered to it is never heard.
 * S3. Time moves only here.
 */
import type { Prng } from './prng.js';

/** A process, or a part of the world that does not die with one. */
export interface Owner { readonly name: string; alive: boolean }

interface Parked { readonly owner: Owner; readonly label: string; readonly notBefore: number; readonly go: () => void }

const drained = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve); });
export const START_MS = 1_800_000_000_000;

export class Scheduler {
  now = START_MS;
  steps = 0;
  readonly trace: string[] = [];
  private parked: Parked[] = [];
  constructor(readonly rng: Prng) {}

  /** Waits for its turn, then does `work`. The answer is heard only by an owner that still lives. */
  park<T>(owner: Owner, label: string, work: () => T | Promise<T>, notBefore = 0): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const ifAlive = <A>(f: (a: A) => void) => (a: A): void => { if (owner.alive) f(a); };
      this.parked.push({ owner, label, notBefore, go: () => { Promise.resolve().then(work).then(ifAlive(resolve), ifAlive(reject)); } });
    });
  }
  sleep(owner: Owner, label: string, ms: number): Promise<void> { return this.park(owner, label, () => undefined, this.now + ms); }

  kill(owner: Owner): void {
    owner.alive = false;
    this.parked = this.parked.filter((p) => p.owner.alive); // keeps S2
  }
  settle(): Promise<void> { return drained(); } // keeps S1

  private ready(): readonly Parked[] { return this.parked.filter((p) => p.notBefore <= this.now); }
  get runnable(): number { return this.ready().length; }
  /** The next time at which a sleeper may go on, or undefined. */
  get nextWake(): number | undefined { return this.parked.reduce<number | undefined>((m, p) => (p.notBefore > this.now && (m === undefined || p.notBefore < m) ? p.notBefore : m), undefined); }

  /** Takes one parked call, chosen by the seed. False: there is none that may go. */
  async step(): Promise<boolean> {
    const ready = this.ready();
    if (ready.length === 0) return false;
    const one = this.rng.pick(ready);
    this.parked.splice(this.parked.indexOf(one), 1);
    this.note(`${one.owner.name} ${one.label}`);
    one.go();
    await this.settle();
    return true;
  }
  note(what: string): void { this.steps += 1; this.now += this.rng.whole(0, 2); this.trace.push(`${this.now - START_MS} ${what}`); }
  advanceTo(t: number): void { if (t > this.now) { this.now = t; this.trace.push(`${this.now - START_MS} time`); } }
}
