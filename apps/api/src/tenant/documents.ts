/**
 * The tenant's documents: each publication is one event, appended at a named revision. What a document means is nobody's business here, but that rules and
 * registry must stand together.
 *
 * Rows: POL-1, EFF-7, BUD-5.
 */
import { v4 as uuidv4 } from 'uuid';
import type { AppendOutcome, http } from '@n17q/contracts';
import { fact, tenantStream, type Amounts, type Fact, type Json, type PolicyDocument, type ProfilesDocument, type RegistryDocument, type RolesDocument, type StreamId } from '@n17q/domain';
import { Contended, DECISIONS_MAX, type BusStore, type DecisionView } from '@n17q/event-log';
import type { Asking } from '../http/caller.js';
import { Problem, refusal } from '../http/problem.js';
import { placeOf, type Answer, type RunRequests } from '../requests/run-requests.js';
import { requireOwnDelegations } from './own-delegations.js';
import { requireRegistry, requireRules } from './policy-check.js';

const PUBLISHED = { policy: 'policy.published', registry: 'registry.published', profiles: 'profiles.published', roles: 'roles.published' } as const;

function shown(v: DecisionView, topic: http.DocumentTopic | 'budget'): http.TenantDocumentView {
  const found = v.tenant.find((d) => d.stream === tenantStream(topic));
  return { topic, revision: found?.revision ?? 0, document: (found?.event?.data ?? null) as http.TenantDocumentView['document'] };
}

export class TenantDocuments {
  constructor(private readonly store: BusStore, private readonly requests: RunRequests) {}

  async show(tenant: string, topic: http.DocumentTopic): Promise<http.TenantDocumentView> {
    return shown(await this.view(tenant), topic);
  }

  async allowance(tenant: string): Promise<http.AllowanceView> {
    const v = await this.view(tenant);
    return { balance: v.held, drawable: v.account as Amounts, limits: v.limits.map((l) => ({ ...l })), revision: v.tenant.find((d) => d.stream === tenantStream('budget'))?.revision ?? 0 };
  }

  publish(a: Asking, topic: http.DocumentTopic, document: unknown): Promise<Answer> {
    return this.atRevision(a, topic, (now, all) => {
      if (topic === 'roles') requireOwnDelegations(a.person, now as RolesDocument | null, document as RolesDocument);
      if (topic === 'policy') requireRules(document as PolicyDocument, all('registry') as RegistryDocument | null);
      if (topic === 'registry') requireRegistry(document as RegistryDocument, all('policy') as PolicyDocument | null, now as RegistryDocument | null);
      return fact(PUBLISHED[topic], document as never);
    });
  }

  /** Publishes the profiles without the account and the routes through it. */
  removeAccount(a: Asking, account: string): Promise<Answer> {
    return this.atRevision(a, 'profiles', (now) => {
      const d = now as ProfilesDocument | null;
      if (d === null || !d.accounts.some((x) => x.account === account)) throw new Problem('NOT_FOUND', 'The profiles have no such account.');
      return fact('profiles.published', { accounts: d.accounts.filter((x) => x.account !== account), preference: d.preference.filter((r) => r.account !== account) });
    });
  }

  /** Publishes the roles as `change` makes them. A repeat with the same key gives the first answer. */
  changeRoles(a: Asking, change: (now: RolesDocument) => RolesDocument): Promise<Answer> {
    const stream = tenantStream('roles');
    return this.requests.once(a, stream, 0, () => Promise.resolve({ facts: [], contents: [] }), (_d, appendId) =>
      this.atRevision(a, 'roles', (now) => fact('roles.published', change((now as RolesDocument | null) ?? { people: [], delegations: [] })), appendId));
  }

  grant(a: Asking, grant: http.NewAllowance): Promise<Answer> {
    const stream = tenantStream('budget');
    return this.requests.once(a, stream, 0, () => Promise.resolve({ facts: [fact('allowance.granted', grant)], contents: [] }), async (d, appendId) => {
      for (let tries = 0, last = ''; ; tries++) {
        if (tries === DECISIONS_MAX) throw new Contended(tries, last);
        const { revision } = await this.allowance(a.tenant);
        const o = await this.requests.appendToTenant(a, stream, revision, d.facts, appendId);
        if (o.kind === 'appended') return { stream, revision: o.last, repeated: !o.fresh };
        if (o.kind === 'refused' && o.code === 'ID_REUSED') return this.requests.first(a, stream, placeOf(o, revision), appendId);
        if (o.kind === 'refused') throw refusal(o);
        last = o.kind;
      }
    });
  }

  /** Replaces the tenant's limits per window. */
  limit(a: Asking, limits: http.NewAllowanceLimits): Promise<Answer> {
    return this.atRevision(a, 'budget', () => fact('allowance.limited', limits));
  }

  private async atRevision(a: Asking, topic: http.DocumentTopic | 'budget', next: (now: Json, all: (topic: http.DocumentTopic) => unknown) => Fact, appendId = uuidv4()): Promise<Answer> {
    const stream: StreamId = tenantStream(topic);
    let outcome: AppendOutcome | undefined;
    for (let tries = 0; tries < DECISIONS_MAX; tries++) {
      const view = await this.view(a.tenant);
      const now = shown(view, topic);
      if (a.ifMatch !== null && a.ifMatch !== now.revision) throw new Problem('PRECONDITION_FAILED', `The ${topic === 'budget' ? 'allowance' : topic} has revision ${now.revision}, not ${a.ifMatch}.`, { revision: now.revision });
      outcome = await this.requests.appendToTenant(a, stream, now.revision, [next(now.document as Json, (t) => shown(view, t).document)], appendId);
      if (outcome.kind === 'appended') return { stream, revision: outcome.last, repeated: !outcome.fresh };
      if (outcome.kind === 'refused' && outcome.code === 'ID_REUSED') return this.requests.first(a, stream, placeOf(outcome, now.revision), appendId);
      if (outcome.kind === 'refused') throw refusal(outcome);
    }
    throw new Contended(DECISIONS_MAX, outcome?.kind ?? '');
  }

  private view(tenant: string): Promise<DecisionView> { return this.store.decisionView({ tenant, stream: tenantStream('budget'), afterRevision: 2_147_483_647, targets: [] }); }
}
