/**
 * The world behind the tools: a target for each, of every kind of contract, and a ledger of every request that left a process and of every thing
 * that came to happen. The judges read the ledger; nothing in the product can.
 *
 * A request that left lives on when its process dies: it may still arrive, late, or never. Each target keeps what its contract promises.
 */
import type { Json, ToolMapping } from '@n17q/domain';
import type { Connector, ConnectorOutcome, DispatchRequest, LookOutcome, QueryRequest } from '@n17q/tools';
import type { Prng } from './prng.js';
import type { Owner, Scheduler } from './scheduler.js';

export type Mode = 'ok' | 'reports-failure' | 'loses-reply' | 'loses-request' | 'refuses' | 'not-sent' | 'late' | 'slow-arrival' | 'twice';
export interface Send { readonly at: number; readonly storePosition: number; readonly tool: string; readonly server: string; readonly schemaDigest: string; readonly kind: string; readonly effect: string; readonly attempt: string; readonly key: string; readonly mode: Mode; state: 'travelling' | 'happened' | 'refused' | 'known-key' | 'lost' }
export interface Happening { readonly at: number; readonly tool: string; readonly effect: string; readonly attempt: string; readonly key: string; readonly count: number }
export interface Asked { readonly at: number; readonly storePosition: number; readonly tool: string; readonly effect: string }
export interface WorldLedger { readonly sends: Send[]; readonly happenings: Happening[]; readonly asked: Asked[] }

export interface WorldOptions { readonly weights: { readonly [m in Mode]: number }; readonly keyAware: boolean; readonly queryWorks: boolean; readonly storePosition: () => number }

export class World {
  readonly ledger: WorldLedger = { sends: [], happenings: [], asked: [] };
  readonly owner: Owner = { name: 'world', alive: true };
  calm = false;
  constructor(private readonly sched: Scheduler, private readonly rng: Prng, private readonly o: WorldOptions) {}

  get travelling(): boolean { return this.ledger.sends.some((s) => s.state === 'travelling'); }
  happenedFor(effect: string): number { return this.ledger.happenings.filter((h) => h.effect === effect).reduce((n, h) => n + h.count, 0); }

  connector(process: Owner, t: ToolMapping): Connector {
    return {
      kind: 'http',
      dispatch: (r) => this.dispatch(process, t, r),
      ...(t.contract.query === undefined ? {} : { query: (q: QueryRequest) => this.query(process, t, q) }),
    };
  }

  private mode(t: ToolMapping): Mode {
    const m = this.calm ? 'ok' : this.rng.weighted(this.o.weights);
    return m === 'twice' && t.contract.query === undefined ? 'ok' : m;
  }

  private async dispatch(process: Owner, t: ToolMapping, r: DispatchRequest): Promise<ConnectorOutcome> {
    const mode = this.mode(t);
    await this.sched.park(process, `connects for ${t.name}`, () => undefined);
    if (mode === 'not-sent') return { kind: 'not-sent', cause: 'CONNECTION_REFUSED' };
    if (!r.beforeFirstByte()) return { kind: 'not-sent', cause: 'STOPPED_BEFORE_FIRST_BYTE' };
    const send: Send = { at: this.sched.now, storePosition: this.o.storePosition(), tool: t.name, server: t.server, schemaDigest: t.schemaDigest, kind: t.contract.kind, effect: r.effect, attempt: r.attempt, key: r.idempotencyKey, mode, state: 'travelling' };
    this.ledger.sends.push(send);
    const arrived = mode === 'loses-request' ? this.lose(send) : this.arrive(t, send, mode === 'slow-arrival' ? this.rng.whole(0, this.slowestMs(t)) : 0);
    const replied = arrived.then(() => {
      if (mode === 'loses-reply' || mode === 'twice' || send.state === 'lost') return new Promise<'timeout'>(() => undefined);
      return this.sched.park(this.owner, `replies about ${t.name}`, () => 'replied' as const, mode === 'late' ? this.sched.now + this.rng.whole(1000, r.timeoutMs - 1) : 0);
    });
    const timeout = this.sched.park(process, `times out for ${t.name}`, () => 'timeout' as const, this.sched.now + r.timeoutMs);
    const end = await Promise.race([replied, timeout]);
    await this.sched.park(process, `hears of ${t.name}`, () => undefined);
    if (end === 'timeout') return { kind: 'unknown', cause: 'TIMEOUT' };
    if (send.state === 'refused') return { kind: 'refused', cause: 'HTTP_422', text: 'no' };
    return { kind: 'observed', ok: mode !== 'reports-failure', text: `done: ${t.name}`, receipt: { key: r.idempotencyKey } };
  }

  /** How long a request may travel and still be taken in: the target keeps its promise about absence, and about keys. */
  private slowestMs(t: ToolMapping): number {
    const finalAfter = t.contract.query?.absenceFinalAfterMs;
    return Math.max(1, Math.min(8000, finalAfter === null || finalAfter === undefined ? 8000 : finalAfter - 100, t.contract.keyLifeMs === undefined ? 8000 : t.contract.keyLifeMs / 4));
  }
  private async lose(send: Send): Promise<void> { send.state = 'lost'; }
  private async arrive(t: ToolMapping, send: Send, afterMs: number): Promise<void> {
    await this.sched.park(this.owner, `takes in ${t.name}`, () => {
      if (this.sched.now > send.at + this.slowestMs(t)) { send.state = 'lost'; return; } // too old: the target no longer takes it
      if (send.mode === 'refuses') { send.state = 'refused'; return; }
      if (t.contract.kind === 'keyed' && this.o.keyAware && this.ledger.happenings.some((h) => h.tool === t.name && h.key === send.key)) { send.state = 'known-key'; return; }
      // it compares before it writes, and its own first writing changed what it compares with
      if (t.contract.kind === 'idempotent' && this.ledger.happenings.some((h) => h.effect === send.effect)) { send.state = 'refused'; return; }
      send.state = 'happened';
      this.ledger.happenings.push({ at: this.sched.now, tool: t.name, effect: send.effect, attempt: send.attempt, key: send.key, count: send.mode === 'twice' ? 2 : 1 });
    }, this.sched.now + afterMs);
  }

  private async query(process: Owner, t: ToolMapping, q: QueryRequest): Promise<LookOutcome> {
    this.ledger.asked.push({ at: this.sched.now, storePosition: this.o.storePosition(), tool: t.name, effect: q.effect });
    return this.sched.park(process, `asks about ${t.name}`, (): LookOutcome => {
      if (!this.o.queryWorks || (!this.calm && this.rng.chance(0.2))) return { kind: 'cannot-tell', cause: 'HTTP_503' };
      const found = this.ledger.happenings.filter((h) => h.tool === t.name && h.key === q.idempotencyKey);
      const count = found.reduce((n, h) => n + h.count, 0);
      return count === 0 ? { kind: 'not-found' } : { kind: 'happened', receipt: { key: q.idempotencyKey } as Json, text: `found: ${t.name}`, count };
    });
  }
}
