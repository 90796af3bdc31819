/**
 * Group commit: what queued while the last commit was in flight travels in the next one.
 *
 * B1. A batch is frozen before it is sent; nothing joins an open transaction. There is no timer that waits for more.
 *     It is half of what waits, and the next one is sent before the answers of the last one are given out: so the database works
 *     on one half while this process works on the other.
 * B2. At most one append per stream is in flight, in one batch or in several; those of a stream go in the order in which they came.
 * B3. A batch that fails as a whole is sent again one by one, so that a bad item fails alone.
 * B4. A batch whose answer was lost is repeated unchanged until it is known what became of it, or a bound; only then does a caller hear *unknown*.
 * B5. `busy` is said only when it is certain that nothing was taken in.
 * B6. Queue, batch and waiting are bounded in number, bytes and time.
 *
 * Rows: RUN-1, RUN-4.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { AppendOutcome } from '@n17q/contracts';
import type { PreparedAppend } from '../ports.js';
import { StoreFault } from '../store-fault.js';
import { outcomeOf, type EncodedAppend, type OutcomeRow } from './encode.js';
import { Writer, type Sent, type WriterOptions } from './writer.js';

export interface BatcherOptions extends WriterOptions {
  readonly writers: number;
  readonly queueMax: number;
  readonly queueBytesMax: number;
  readonly batchMax: number;
  /** Up to this many waiting appends travel together, undivided. */
  readonly batchMin: number;
  readonly batchBytesMax: number;
  /** How long an append may wait to be sent. */
  readonly queueMs: number;
  /** How long a lost answer is looked for. */
  readonly unknownMs: number;
}
/** An append that was taken in, and the position of its last event. */
export interface Committed { readonly prepared: PreparedAppend; readonly last: number }
export interface BatcherEvents {
  /** After a commit: what it took in, in the order of the lane, before any caller hears of it. */
  readonly committed: (appends: readonly Committed[]) => void;
  /** An item carried a time that is not the store's. */
  readonly skewed: () => void;
}

interface Item { readonly append: EncodedAppend; readonly key: string; readonly since: number; readonly settle: (o: AppendOutcome) => void; readonly fail: (e: StoreFault) => void }

const busy = (message: string): AppendOutcome => ({ kind: 'busy', message });
const RECONNECT_MS_MIN = 20;
const RECONNECT_MS_MAX = 2000;

export class AppendBatcher {
  readonly #lines = new Map<string, Item[]>();
  /** Streams with something to send and nothing in flight, first come first. */
  readonly #ready: string[] = [];
  readonly #writers: readonly Writer[];
  readonly #loops: readonly Promise<void>[];
  #wakers: (() => void)[] = [];
  #queued = 0;
  #queuedBytes = 0;
  #closing = false;
  readonly #patrol: NodeJS.Timeout;
  readonly #stop = new AbortController();

  constructor(private readonly options: BatcherOptions, private readonly events: BatcherEvents) {
    this.#writers = Array.from({ length: options.writers }, () => new Writer(options));
    this.#loops = this.#writers.map((writer) => this.#run(writer));
    this.#patrol = setInterval(() => this.#expire(), Math.min(500, options.queueMs)).unref();
  }

  get queued(): number { return this.#queued; }

  append(append: EncodedAppend): Promise<AppendOutcome> {
    if (this.#closing) return Promise.reject(new StoreFault('CLOSED', 'The store is shutting down.', false));
    if (this.#queued >= this.options.queueMax || this.#queuedBytes + append.bytes > this.options.queueBytesMax) return Promise.resolve(busy('The store has as many appends waiting as it may: try again later.'));
    const key = `${append.prepared.tenant}\u0000${append.prepared.stream}`;
    return new Promise((settle, fail) => {
      const item: Item = { append, key, since: performance.now(), settle, fail };
      const line = this.#lines.get(key);
      this.#queued++;
      this.#queuedBytes += append.bytes;
      if (line !== undefined) { line.push(item); return; } // behind its predecessor (B2)
      this.#lines.set(key, [item]);
      this.#ready.push(key);
      this.#wakers.shift()?.();
    });
  }

  /** Sends what is queued, then closes. What cannot be sent in time hears `busy`. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    for (const wake of this.#wakers.splice(0)) wake();
    const timer = setTimeout(() => this.#stop.abort(), this.options.unknownMs);
    await Promise.all(this.#loops);
    clearTimeout(timer);
    clearInterval(this.#patrol);
    await Promise.all(this.#writers.map((w) => w.close()));
  }

  async #run(writer: Writer): Promise<void> {
    let settle = (): void => undefined;
    for (;;) {
      const batch = this.#take();
      const work = batch.length > 0 ? this.#deliver(writer, batch) : undefined;
      settle();
      settle = (): void => undefined;
      if (work !== undefined) settle = await work;
      else if (this.#ready.length > 0) continue; // what was settled made room for its followers
      else if (this.#closing) return;
      else await new Promise<void>((resolve) => this.#wakers.push(resolve));
    }
  }

  /** The first of each waiting line, up to half of them and the bounds; at least one. Their lines stay out of `ready` until they are settled. */
  #take(): Item[] {
    const batch: Item[] = [];
    let bytes = 0;
    const most = Math.min(this.options.batchMax, Math.max(this.options.batchMin, Math.ceil(this.#ready.length / 2)));
    while (batch.length < most && this.#ready.length > 0) {
      const item = this.#lines.get(this.#ready[0] as string)?.[0] as Item;
      if (batch.length > 0 && bytes + item.append.bytes > this.options.batchBytesMax) break;
      this.#ready.shift();
      batch.push(item);
      bytes += item.append.bytes;
    }
    return batch;
  }

  /** Brings a batch to its end. Returns what tells the callers. */
  async #deliver(writer: Writer, batch: readonly Item[]): Promise<() => void> {
    try {
      return await this.#resolve(writer, batch);
    } catch (error) { // a defect of ours must not end the loop, and what it did is not known
      return () => this.#all(batch, (i) => i.fail(new StoreFault('OUTCOME_UNKNOWN', 'The append failed inside the store.', true, { cause: error })));
    }
  }

  /** Sends until it is known what became of the batch (B4). Returns what settles each item. */
  async #resolve(writer: Writer, batch: readonly Item[], lostBefore = false): Promise<() => void> {
    const began = performance.now();
    let lost = lostBefore;
    for (let attempt = 0; ; attempt++) {
      const sent = await writer.send(batch.map((i) => i.append));
      if (sent.kind === 'done') return this.#answer(batch, sent.rows);
      if (sent.kind === 'failed' && !(lost && sent.transient)) return this.#failed(writer, batch, sent, lost);
      lost ||= sent.kind === 'lost';
      const patienceMs = lost ? this.options.unknownMs : this.options.queueMs;
      if (performance.now() - began > patienceMs || this.#stop.signal.aborted) return this.#giveUp(batch, lost, sent.error);
      await delay(Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * 2 ** attempt) * (0.5 + Math.random() / 2), undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  #giveUp(batch: readonly Item[], lost: boolean, cause: Error): () => void {
    if (lost) return () => this.#all(batch, (i) => i.fail(new StoreFault('OUTCOME_UNKNOWN', 'The answer of the database was lost, and it cannot be asked.', true, { cause })));
    return () => this.#all(batch, (i) => i.settle(busy('The database cannot be reached.'))); // keeps B5
  }

  async #failed(writer: Writer, batch: readonly Item[], sent: Sent & { readonly kind: 'failed' }, lost: boolean): Promise<() => void> {
    if (sent.transient) return () => this.#all(batch, (i) => i.settle(busy('The database is overloaded: try again later.')));
    if (batch.length === 1) return () => this.#all(batch, (i) => i.fail(new StoreFault('APPEND_FAILED', 'The database refused this append.', lost, { cause: sent.error })));
    for (const item of batch) (await this.#resolve(writer, [item], lost))(); // keeps B3, and B5 for what was lost before
    return () => undefined;
  }

  #answer(batch: readonly Item[], rows: readonly OutcomeRow[]): () => void {
    const taken = rows.flatMap((r) => { const item = batch[r.item - 1]; return r.outcome === 'appended' && item !== undefined ? [{ prepared: item.append.prepared, last: Number(r.pos) }] : []; });
    if (taken.length > 0) this.events.committed(taken.toSorted((a, b) => a.last - b.last));
    if (rows.some((r) => r.outcome === 'clock-skew')) this.events.skewed();
    return () => {
      const byItem = new Map(rows.map((r) => [r.item, r]));
      for (const [at, item] of batch.entries()) {
        const row = byItem.get(at + 1);
        const outcome = row === undefined ? undefined : outcomeOf(item.append.prepared, this.options.lane, row);
        this.#all([item], (i) => {
          if (outcome !== undefined) i.settle(outcome);
          else i.fail(new StoreFault('CHAIN_BROKEN', `The append does not follow the head of ${i.append.prepared.stream}.`, false));
        });
      }
    };
  }

  /** Takes the items out, lets their lines go on, and settles them. */
  #all(items: readonly Item[], settle: (i: Item) => void): void {
    for (const item of items) {
      const line = this.#lines.get(item.key);
      if (line?.[0] !== item) continue; // settled already
      line.shift();
      this.#queued--;
      this.#queuedBytes -= item.append.bytes;
      if (line.length === 0) this.#lines.delete(item.key);
      else {
        this.#ready.push(item.key);
        this.#wakers.shift()?.();
      }
      settle(item);
    }
  }

  /** While the database is away, those who wait longer than they may are told so. What is in flight is not touched. */
  #expire(): void {
    const now = performance.now();
    const waiting = new Set(this.#ready);
    for (const [key, line] of this.#lines) {
      const first = waiting.has(key) ? 0 : 1; // index 0 is in flight otherwise
      const late = line.filter((i, at) => at >= first && now - i.since > this.options.queueMs);
      if (late.length === 0) continue;
      const kept = line.filter((i) => !late.includes(i));
      if (kept.length === 0) {
        this.#lines.delete(key);
        this.#ready.splice(this.#ready.indexOf(key), 1);
      } else this.#lines.set(key, kept);
      for (const item of late) {
        this.#queued--;
        this.#queuedBytes -= item.append.bytes;
        item.settle(busy('The database could not be reached in time.'));
      }
    }
  }
}
