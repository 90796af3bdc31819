/**
 * Brings the lane's events to the bus in order. The log is the outbox: there is nothing here but a cursor.
 *
 * Y1. One relay at a time: lease and epoch in the store; the cursor moves only under the epoch that was given.
 * Y2. A window stops at its first failure, and the next one begins there: no later event overtakes an earlier one.
 * Y3. The cursor moves only after the whole prefix was acknowledged: a crash repeats, and never skips. It is written at intervals, so a
 *     crash repeats at most what one interval published; the bus drops repeats.
 * Y4. What this process committed itself is handed over in memory and published without a read, if it follows the cursor without a gap; else the
 *     store is read. Both give the same events.
 * Y5. At start, after every reconnect and every minute the bus's end is compared with the cursor.
 *
 * Rows: RUN-4, SVC-1, SVC-4, OPS-2.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { RunEventMessage } from '@n17q/bus';
import { failpoint } from '@n17q/platform';
import type { EventStorePort, PositionedEvent } from '../store-port.js';
import { audit, type BusTail, type LastMessage, type RelayAlarm } from './audit.js';
import type { RelayLedger } from './ledger.js';
import { messageOf } from './message.js';

/** The bus as the relay needs it. `publishWindow` never rejects for trouble on the bus; `lastMessage` may. */
export interface RelayBus {
  publishWindow(messages: readonly RunEventMessage[]): Promise<{ readonly acked: number; readonly failure?: { readonly code: string; readonly detail: string } }>;
  lastMessage(): Promise<LastMessage>;
  /** What the stream holds, newest first; asked only when the store lost events. */
  fromEnd(): AsyncIterable<BusTail>;
}
export interface RelayOptions {
  readonly store: Pick<EventStorePort, 'readByPosition' | 'now' | 'markSuspect'>;
  readonly ledger: RelayLedger;
  readonly bus: RelayBus;
  /** Names this process in the ledger. */
  readonly owner: string;
  readonly onAlarm: (alarm: RelayAlarm) => void;
  /** Trouble that passes by itself, for logs and metrics. */
  readonly onTrouble?: (what: string, error: unknown) => void;
  readonly lane?: number;
  readonly windowMax?: number;
  readonly pollMs?: number;
  /** How long the cursor in the store may lag behind what was published. */
  readonly cursorMs?: number;
  readonly leaseMs?: number;
  readonly auditEveryMs?: number;
  /** How far back an empty stream is filled again: the stream's own age limit. */
  readonly horizonMs?: number;
}
export interface RelayState { readonly leads: boolean; readonly cursor: number; readonly published: number; readonly failures: number }

/** More than this handed over and unpublished is dropped, and read later. */
const HANDED_MAX = 2048;
const DEFAULTS = { lane: 0, windowMax: 256, pollMs: 100, cursorMs: 100, leaseMs: 15_000, auditEveryMs: 60_000, horizonMs: 24 * 60 * 60 * 1000 } as const;

export class Relay {
  readonly #o: Required<Omit<RelayOptions, 'onTrouble'>> & Pick<RelayOptions, 'onTrouble'>;
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;
  #epoch: number | undefined;
  #cursor = 0;
  #auditedAt = Number.NEGATIVE_INFINITY;
  /** Where the store's cursor stands, and since when. */
  #written = 0;
  #writtenAt = 0;
  /** Committed here, not yet published, without a gap (Y4). */
  #handed: PositionedEvent[] = [];
  #published = 0;
  #failures = 0;
  #woken = false;
  #wake: (() => void) | undefined;

  constructor(options: RelayOptions) {
    this.#o = { ...DEFAULTS, ...options };
  }

  start(): void { this.#loop ??= this.#run(); }
  /** Takes over what this process has just committed, in the order of the lane. */
  committed(events: readonly PositionedEvent[]): void {
    const last = this.#handed.at(-1);
    if (this.#epoch === undefined || this.#handed.length > HANDED_MAX || (last !== undefined && events[0]?.position !== last.position + 1)) this.#handed = [];
    if (this.#epoch !== undefined) this.#handed.push(...events);
    this.wake();
  }
  /** There may be something new. */
  wake(): void {
    this.#woken = true;
    this.#wake?.();
  }
  /** The bus was away: what it acknowledged may be lost (Y5). */
  reconnected(): void {
    this.#auditedAt = Number.NEGATIVE_INFINITY;
    this.wake();
  }
  state(): RelayState { return { leads: this.#epoch !== undefined, cursor: this.#cursor, published: this.#published, failures: this.#failures }; }

  /** Finishes the window in work and gives the lane up. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.wake();
    await this.#loop;
    if (this.#epoch !== undefined && this.#written !== this.#cursor) await this.#put(this.#cursor).catch((e: unknown) => this.#trouble('cursor', e));
    if (this.#epoch !== undefined) await this.#o.ledger.release(this.#epoch).catch((e: unknown) => this.#trouble('release', e));
    this.#epoch = undefined;
  }

  async #run(): Promise<void> {
    let failed = 0;
    while (!this.#stop.signal.aborted) {
      try {
        const idle = await this.step();
        failed = 0;
        if (idle > 0) await this.#pause(idle);
      } catch (error) {
        this.#failures++;
        this.#trouble('relay', error);
        await this.#sleep(Math.min(2000, 25 * 2 ** failed++) * (0.5 + Math.random() / 2));
      }
    }
  }

  /** One round. Returns how many ms there is nothing to do; throws when the line stopped. */
  async step(): Promise<number> {
    const { leaseMs, auditEveryMs, pollMs, cursorMs } = this.#o;
    if (this.#epoch === undefined && !(await this.#acquire())) return Math.min(1000, leaseMs / 3);
    if (performance.now() - this.#auditedAt >= auditEveryMs) await this.#audit();
    if (this.#epoch === undefined) return 0;
    this.#woken = false; // what woke us is served by this round
    const { more, trouble } = await this.#window();
    const moved = this.#written !== this.#cursor;
    const dueMs = this.#writtenAt + (moved ? cursorMs : leaseMs / 3) - performance.now();
    // while the bus is away from us alone, the lease must lapse, so that another relay may have it
    const put = dueMs <= 0 && (moved || trouble === undefined);
    if (put) await this.#put(this.#cursor);
    if (put && moved) failpoint('relay.after-cursor');
    if (trouble !== undefined) throw trouble;
    return more ? 0 : Math.min(pollMs, put ? pollMs : Math.max(1, dueMs));
  }

  async #acquire(): Promise<boolean> {
    const held = await this.#o.ledger.acquire(this.#o.owner, this.#o.leaseMs);
    if (held === null) return false;
    this.#epoch = held.epoch;
    this.#cursor = this.#written = held.cursor;
    this.#writtenAt = performance.now();
    this.#handed = [];
    this.#auditedAt = Number.NEGATIVE_INFINITY;
    return true;
  }

  async #audit(): Promise<void> {
    const { store, bus, lane, horizonMs, onAlarm } = this.#o;
    const found = await audit(store, lane, this.#cursor, await bus.lastMessage(), horizonMs, () => bus.fromEnd());
    if (found.cursor !== this.#cursor && !(await this.#put(found.cursor))) return;
    // before anybody is told: from here on these runs take nothing in that acts on the world
    if (found.alarm?.kind === 'bus-ahead' || found.alarm?.kind === 'bus-diverged') await this.#suspect(found.alarm.lost);
    if (found.alarm !== undefined) onAlarm(found.alarm);
    if (found.alarm?.kind === 'bus-missing') throw new Error('the stream does not exist'); // looked for again soon, not in a minute
    this.#auditedAt = performance.now();
  }

  /** Each run once, by the newest of its events that was lost. */
  async #suspect(lost: readonly BusTail[]): Promise<void> {
    const marked = new Set<string>();
    for (const m of lost) {
      const stream = m.run.startsWith('tenant/') ? m.run : `run/${m.run}`;
      const key = `${m.tenant} ${stream}`;
      if (marked.has(key)) continue;
      marked.add(key);
      await this.#o.store.markSuspect({ tenant: m.tenant, stream, eventId: m.eventId, why: `the bus holds revision ${String(m.revision)}, which this store does not have` });
    }
  }

  /** Publishes what is next. `more`: there may be more at once. */
  async #window(): Promise<{ readonly more: boolean; readonly trouble?: Error }> {
    const { bus, windowMax } = this.#o;
    const { events, read } = await this.#next(windowMax);
    if (events.length === 0) return { more: false };
    const { acked, failure } = await bus.publishWindow(events.map(messageOf));
    failpoint('relay.after-publish-before-cursor');
    this.#cursor = events[acked - 1]?.position ?? this.#cursor;
    this.#published += acked;
    if (failure !== undefined) {
      if (failure.code === 'STREAM_MISSING') this.#auditedAt = Number.NEGATIVE_INFINITY;
      return { more: true, trouble: new Error(`${failure.code}: ${failure.detail}`) }; // Y2
    }
    return { more: read || this.#handed.length > 0 };
  }

  /** The events after the cursor: handed over, if they follow it, or read (Y4). */
  async #next(limit: number): Promise<{ readonly events: readonly PositionedEvent[]; readonly read: boolean }> {
    while (this.#handed[0] !== undefined && this.#handed[0].position <= this.#cursor) this.#handed.shift();
    const read = this.#handed[0]?.position !== this.#cursor + 1;
    const events = read ? await this.#o.store.readByPosition(this.#o.lane, this.#cursor, limit) : this.#handed.splice(0, limit);
    if (events.length > 0) failpoint('relay.after-read');
    return { events, read };
  }

  async #put(cursor: number): Promise<boolean> {
    const ours = this.#epoch !== undefined && (await this.#o.ledger.put(this.#epoch, cursor, this.#o.leaseMs));
    if (ours) {
      this.#cursor = this.#written = cursor;
      this.#writtenAt = performance.now();
    } else this.#epoch = undefined; // deposed (Y1)
    return ours;
  }

  async #pause(ms: number): Promise<void> {
    if (this.#woken) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, ms);
      function done(): void { clearTimeout(timer); resolve(); }
      this.#wake = done;
    });
    this.#wake = undefined;
  }
  async #sleep(ms: number): Promise<void> { await delay(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined); }
  #trouble(what: string, error: unknown): void { this.#o.onTrouble?.(what, error); }
}
