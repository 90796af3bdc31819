/** Reads the run's events as they come, tells the telling ones, and waits for conditions within bounds. */
import { setTimeout as delay } from 'node:timers/promises';
import type { EventEnvelope, RunId, TenantId } from '@n17q/domain';
import type { StoreReader } from '@n17q/testing';
import { sentenceOf, Trouble } from '../trouble.js';

const EVERY_MS = 40;

export class Watch {
  events: readonly EventEnvelope[] = [];
  #stopped = false;
  #loop: Promise<void>;
  #trouble: string | undefined;

  constructor(private readonly reader: StoreReader, private readonly tenant: TenantId, private readonly run: RunId, private readonly onEvent: (e: EventEnvelope) => void) {
    this.#loop = this.#read();
  }

  async #read(): Promise<void> {
    while (!this.#stopped) {
      try {
        const fresh = await this.reader.events(this.tenant, this.run, this.events.at(-1)?.revision ?? 0);
        this.events = [...this.events, ...fresh];
        for (const e of fresh) this.onEvent(e);
        this.#trouble = undefined;
      } catch (e) {
        this.#trouble = sentenceOf(e); // said when a wait runs out
      }
      await delay(EVERY_MS);
    }
  }

  /** The first thing that `find` gives, from the events up to now or later. */
  async until<T>(what: string, withinMs: number, find: (events: readonly EventEnvelope[]) => T | undefined): Promise<T> {
    const deadlineMs = performance.now() + withinMs;
    for (;;) {
      const found = find(this.events);
      if (found !== undefined) return found;
      if (performance.now() > deadlineMs) {
        const last = this.events.slice(-6).map((e) => e.type).join(', ');
        throw new Trouble(`${what} did not come within ${withinMs / 1000} s (last events: ${last}${this.#trouble === undefined ? '' : `; ${this.#trouble}`}).`);
      }
      await delay(EVERY_MS);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop;
  }
}

type Of<T extends EventEnvelope['type']> = Extract<EventEnvelope, { type: T }>;
export const all = <T extends EventEnvelope['type']>(events: readonly EventEnvelope[], type: T): readonly Of<T>[] => events.filter((e): e is Of<T> => e.type === type);
export const first = <T extends EventEnvelope['type']>(events: readonly EventEnvelope[], type: T, where: (data: Of<T>['data']) => boolean = () => true): Of<T> | undefined => all(events, type).find((e) => where(e.data as Of<T>['data']));
