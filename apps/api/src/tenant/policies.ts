/** What people do with policies before and after they are in force: look at what rules can be about, compare, try on recorded decisions, look back. Publishing is in documents.ts. Rows: POL-1, POL-3. */
import type { http } from '@n17q/contracts';
import { tenantStream, type PolicyDocument, type RegistryDocument, type TenantId } from '@n17q/domain';
import type { BusStore } from '@n17q/event-log';
import { describeSchema } from '@n17q/rules';
import { Problem } from '../http/problem.js';
import type { TenantDocuments } from './documents.js';
import { NO_TOOLS, policyDiff, requireRules } from './policy-check.js';
import { tryPolicy } from './policy-trial.js';
import type { RecordedDecisions } from './recorded-decisions.js';

const POLICY = tenantStream('policy');

export class Policies {
  constructor(private readonly documents: TenantDocuments, private readonly store: BusStore, private readonly decisions: RecordedDecisions) {}

  async schema(tenant: TenantId): Promise<string> { return describeSchema(await this.registry(tenant)); }

  /** The newest first. */
  async revisions(tenant: TenantId, before: number | undefined, limit: number): Promise<http.DocumentRevisions> {
    const { revision: head } = await this.documents.show(tenant, 'policy');
    const last = Math.min(head, (before ?? head + 1) - 1);
    const first = Math.max(0, last - limit);
    const events = last < 1 ? [] : await this.store.readEvents(tenant, POLICY, first, last - first);
    return { revisions: events.map((e) => ({ revision: e.revision, at: new Date(e.recordedAt).toISOString(), by: e.actor, digest: e.digest })).reverse(), next: first > 0 ? first + 1 : null };
  }

  async revision(tenant: TenantId, wanted: string): Promise<http.TenantDocumentView> {
    const revision = /^[1-9]\d{0,8}$/.test(wanted) ? Number(wanted) : 0;
    const [e] = revision === 0 ? [] : await this.store.readEvents(tenant, POLICY, revision - 1, 1);
    if (e === undefined) throw new Problem('NOT_FOUND', 'The policy has no such revision.');
    return { topic: 'policy', revision, document: e.data as unknown as http.TenantDocumentView['document'] };
  }

  async diff(tenant: TenantId, candidate: PolicyDocument): Promise<http.PolicyDiff> {
    const now = await this.documents.show(tenant, 'policy');
    requireRules(candidate, await this.registry(tenant));
    return policyDiff(now.document as PolicyDocument | null, candidate, now.revision);
  }

  async dryRun(tenant: TenantId, candidate: PolicyDocument): Promise<http.PolicyTrial> {
    const registry = await this.registry(tenant);
    requireRules(candidate, registry);
    const { revision } = await this.documents.show(tenant, 'policy');
    return { revision, ...(await tryPolicy(candidate, registry, await this.decisions.newest(tenant))) };
  }

  private async registry(tenant: TenantId): Promise<RegistryDocument> { return ((await this.documents.show(tenant, 'registry')).document as RegistryDocument | null) ?? NO_TOOLS; }
}
