/**
 * Derives every decision of the gate again from what it names, and says which one does not follow (POL-3).
 *
 * Deliberately without: decisions of a run whose contents were erased (their arguments are gone), and of gates that judged without a policy.
 */
import { canonical, digestOf } from '@n17q/contracts';
import { derivedAgain, revisionsOf, type Decided, type EventEnvelope, type Json, type RegistryDocument, type Rules, type RunState, type StreamId, type TenantId, type TenantState } from '@n17q/domain';
import type { EventStoreReads } from '../store-port.js';

/** How the tenant's rules are read: a library's matter, given by who asks. */
export type RulesOf = (text: string, registry: RegistryDocument) => Rules;
type Reads = Pick<EventStoreReads, 'readEvents' | 'contents'>;
type TextOf = (commitment: string) => Promise<string | null>;

export class DecisionExaminer {
  private readonly documents = new Map<string, EventEnvelope | null>();
  private pending: { before: RunState; appendId: string; events: EventEnvelope[] } | null = null;
  constructor(private readonly store: Reads, private readonly tenant: TenantId, private readonly rulesOf: RulesOf, private readonly textOf: TextOf) {}

  /** Takes a run's events in their order; answers what is wrong with the decision that `e` shows to be whole. */
  async next(before: RunState, e: EventEnvelope | null): Promise<readonly string[]> {
    const p = this.pending;
    if (p !== null && e !== null && e.appendId === p.appendId) { p.events.push(e); return []; }
    this.pending = e?.writer === 'policy-gate' ? { before, appendId: e.appendId, events: [e] } : null;
    return p === null ? [] : this.examine({ before: p.before, events: p.events });
  }

  private async examine(d: Decided): Promise<readonly string[]> {
    const at = revisionsOf(d);
    if (at === null || at.policy === 0) return [];
    const tenant: TenantState = { policy: await this.document('policy', at.policy), registry: await this.document('registry', at.registry), profiles: await this.document('profiles', at.profiles), roles: await this.document('roles', at.roles) };
    const args = new Map<string, Json>();
    for (const e of Object.values(d.before.effects)) {
      const text = await this.textOf(e.args.commitment);
      if (text === null) return []; // erased, or missing: another check says which
      args.set(e.args.commitment, JSON.parse(text) as Json);
    }
    const rules: Rules = tenant.policy === null || tenant.registry === null ? () => ({ kind: 'broken', reason: '' }) : this.rulesOf(tenant.policy.document.rules, tenant.registry.document);
    return derivedAgain(d, tenant, args, { digest: digestOf, canonical, rules });
  }

  private async document<T>(topic: string, revision: number): Promise<{ readonly revision: number; readonly document: T; readonly digest: string } | null> {
    if (revision === 0) return null;
    const key = `${topic} ${revision}`;
    let e = this.documents.get(key);
    if (e === undefined) { e = (await this.store.readEvents(this.tenant, `tenant/${topic}` as StreamId, revision - 1, 1))[0] ?? null; this.documents.set(key, e); }
    return e === null ? null : { revision, document: e.data as unknown as T, digest: e.digest };
  }
}
