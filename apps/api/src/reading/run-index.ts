/** What is looked up in a run's whole history: which contents its events cite, which tool each effect called, how many receipts each has, and what only the events say. Kept for a while, and brought up to date. Rows: CON-1, EFF-5. */
import { LRUCache } from 'lru-cache';
import { contentRefsIn, runStream, type ContentRef, type EventEnvelope, type RunState } from '@n17q/domain';
import type { BusStore } from '@n17q/event-log';
import { NOTHING_TOLD, told, type Chronicle } from './chronicle.js';

const SCAN = 512;

export interface Indexed {
  readonly upTo: number;
  readonly refs: ReadonlyMap<string, ContentRef>;
  /** Of every effect that was ever intended. */
  readonly tools: ReadonlyMap<string, string>;
  /** Receipts that were handed in, by effect. */
  readonly receipts: ReadonlyMap<string, number>;
  readonly chronicle: Chronicle;
}

export class RunIndex {
  readonly #known = new LRUCache<string, Indexed>({ max: 100 });
  constructor(private readonly store: BusStore) {}

  /** Up to the state's revision at least. */
  async of(s: RunState): Promise<Indexed> {
    const key = `${s.tenant} ${s.run}`;
    const known = this.#known.get(key);
    if (known !== undefined && known.upTo >= s.revision) return known;
    const [refs, tools, receipts] = [new Map(known?.refs), new Map(known?.tools), new Map(known?.receipts)];
    let upTo = known?.upTo ?? 0;
    let chronicle = known?.chronicle ?? NOTHING_TOLD;
    while (upTo < s.revision) {
      const page: readonly EventEnvelope[] = await this.store.readEvents(s.tenant, runStream(s.run), upTo, SCAN);
      if (page.length === 0) break;
      for (const e of page) {
        for (const r of contentRefsIn(e.data)) refs.set(r.commitment, r);
        if (e.type === 'effect.intended') tools.set(e.data.effect, e.data.tool);
        if (e.type === 'receipt.received') receipts.set(e.data.effect, (receipts.get(e.data.effect) ?? 0) + 1);
      }
      chronicle = told(chronicle, page, tools);
      upTo = page.at(-1)?.revision ?? upTo;
    }
    const made = { upTo, refs, tools, receipts, chronicle };
    this.#known.set(key, made);
    return made;
  }
}
