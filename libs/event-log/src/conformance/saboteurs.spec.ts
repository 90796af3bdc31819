import { describe, expect, it } from '@jest/globals';
import type { AppendOutcome } from '@n17q/contracts';
import { MemoryEventStore } from '../memory/store.js';
import type { PreparedAppend, StoredContent } from '../ports.js';
import type { DecisionQuery, DecisionView, StoredCheckpoint, TenantOpenEffect } from '../store-port.js';
import { STORE_CASES } from './index.js';
import { prepare } from './draft.js';

/** Cases of a row that notice when they run against `store`. */
async function noticed(row: string, store: MemoryEventStore): Promise<string[]> {
  const caught: string[] = [];
  for (const c of STORE_CASES) if (c.rows.includes(row)) await c.run(store).catch(() => caught.push(c.title));
  return caught;
}
const clock = (): number => Date.now();

class LastWriterWins extends MemoryEventStore {
  override async append(p: PreparedAppend): Promise<AppendOutcome> {
    const o = await super.append(p);
    if (o.kind !== 'conflict' || p.rows.length > 2) return o;
    const again = prepare(p.tenant, p.stream, await this.head(p.tenant, p.stream), clock(), { facts: p.rows as never });
    return super.append(again);
  }
}
class AcknowledgesWithoutKeeping extends MemoryEventStore {
  #n = 0;
  override async append(p: PreparedAppend): Promise<AppendOutcome> {
    if (++this.#n % 5 !== 0) return super.append(p);
    return { kind: 'appended', fresh: true, first: p.expected + 1, last: p.expected + p.rows.length, head: p.rows.at(-1)?.digest ?? '', recordedAt: clock(), position: '0:1' };
  }
}
class ForgetsAppendIds extends MemoryEventStore {
  override async append(p: PreparedAppend): Promise<AppendOutcome> {
    const o = await super.append(p);
    return o.kind === 'appended' && !o.fresh ? { kind: 'conflict', revision: o.last } : o;
  }
}
class SealsOnItsOwn extends MemoryEventStore {
  readonly #early = new Map<string, StoredCheckpoint>();
  override append(p: PreparedAppend): Promise<AppendOutcome> {
    if (p.checkpoint !== undefined) this.#early.set(`${p.stream} ${String(p.checkpoint.cut)}`, { ...p.checkpoint, sealedRevision: p.expected + 1 });
    return super.append(p);
  }
  override async checkpointAt(_t: string, stream: string, cut: number): Promise<StoredCheckpoint | null> { return this.#early.get(`${stream} ${String(cut)}`) ?? null; }
}
class Without extends MemoryEventStore {
  constructor(private readonly change: (p: PreparedAppend) => Partial<PreparedAppend>) { super(clock); }
  override append(p: PreparedAppend): Promise<AppendOutcome> { return super.append({ ...p, ...this.change(p) }); }
}
class ForgetsOtherRuns extends MemoryEventStore {
  override async decisionView(q: DecisionQuery): Promise<DecisionView> {
    const v = await super.decisionView(q);
    return { ...v, openEffects: v.openEffects.filter((o: TenantOpenEffect) => o.stream === q.stream) };
  }
}
class TornView extends MemoryEventStore {
  override async decisionView(q: DecisionQuery): Promise<DecisionView> {
    const openEffects = await this.openEffects(q.tenant, q.targets);
    await new Promise((resolve) => setImmediate(resolve));
    return { ...(await super.decisionView(q)), openEffects };
  }
  override async append(p: PreparedAppend): Promise<AppendOutcome> {
    await new Promise((resolve) => setImmediate(resolve));
    return super.append(p);
  }
}
class KeepsErased extends MemoryEventStore {
  override append(p: PreparedAppend): Promise<AppendOutcome> { return super.append({ ...p, eraseContents: false }); }
}
class ForgetsLosses extends MemoryEventStore {
  override async markSuspect(): Promise<void> { await Promise.resolve(); }
}
class ReadsForAnybody extends MemoryEventStore {
  override contents(t: string, c: readonly string[]): Promise<readonly StoredContent[]> { return super.contents(t, c, { reader: 'provider-gateway' }); }
}

describe('the conformance suite of the event store', () => {
  it('has nothing against a store that keeps its promises', async () => {
    for (const row of new Set(STORE_CASES.flatMap((c) => c.rows))) expect(await noticed(row, new MemoryEventStore(clock))).toEqual([]);
  });
  const sabotage: readonly [row: string, what: string, make: () => MemoryEventStore][] = [
    ['RUN-1', 'lets both of two writers append', () => new LastWriterWins(clock)],
    ['RUN-1', 'acknowledges what it does not keep', () => new AcknowledgesWithoutKeeping(clock)],
    ['RUN-4', 'answers a repeat as a conflict', () => new ForgetsAppendIds(clock)],
    ['RUN-4', 'forgets the needs of a run', () => new Without(() => ({ needs: { upsert: [], remove: [] } }))],
    ['SEAL-2', 'keeps a checkpoint whose event was not taken in', () => new SealsOnItsOwn(clock)],
    ['SEAL-3', 'does not look whether cited content is complete', () => new Without(() => ({ cites: [] }))],
    ['EFF-6', 'shows the effects of the asking run only', () => new ForgetsOtherRuns(clock)],
    ['EFF-6', 'starts two attempts of one scope', () => new Without(() => ({ scopesFree: [] }))],
    ['EFF-7', 'does not compare the tenant\'s revisions', () => new Without(() => ({ requires: [] }))],
    ['EFF-7', 'takes in what has expired', () => new Without((p) => (p.validUntil === undefined ? {} : { validUntil: Number.MAX_SAFE_INTEGER }))],
    ['EFF-7', 'reads the effects before the rest', () => new TornView(clock)],
    ['BUD-2', 'charges nothing', () => new Without(() => ({ debit: null }))],
    ['BUD-5', 'lets the account go below nothing', () => new Without((p) => ({ debit: p.debit === null ? null : { usd_micros: Math.min(p.debit.usd_micros, 0), tokens: 0, calls: 0 } }))],
    ['BUD-5', 'knows no limits per window', () => new Without((p) => (p.limits === undefined ? {} : { limits: [] }))],
    ['OPS-2', 'goes on acting in a run that lost events', () => new ForgetsLosses(clock)],
    ['RET-1', 'keeps what it should erase', () => new KeepsErased(clock)],
    ['RES-8', 'gives continuations to anybody', () => new ReadsForAnybody(clock)],
  ];
  for (const [row, what, make] of sabotage) {
    it(`[saboteur ${row}] notices a store that ${what}`, async () => {
      expect(await noticed(row, make())).not.toEqual([]);
    });
  }
});
