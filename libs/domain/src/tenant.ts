/**
 * What a tenant decides for all of its runs. Each topic is a stream; each event replaces the topic's document; the
 * stream's revision is the document's revision, and permits name it.
 *
 * Rows: TOOL-1, POL-1, EFF-7, BUD-5.
 */
import type { Amounts } from './budget.js';
import type { Digest } from './ids.js';
import type { CapabilityProfile, Route } from './provider.js';
import type { ToolMapping } from './tool.js';

export interface PolicyRule {
  readonly id: string;
  readonly effect: 'forbid' | 'ask';
  /** Tool names, or `*`. */
  readonly tools: readonly string[];
  readonly reason: string;
}

export interface PolicyDocument {
  readonly rules: readonly PolicyRule[];
  readonly permitLifeMs: number;
  readonly leaseMs: number;
  /** How many attempts one effect or one context may take before a person is asked. */
  readonly attemptsMax: number;
  readonly looksMax: number;
  readonly approvalLifeMs: number;
  /** What a run draws from the tenant's account at a time. */
  readonly slice: Amounts;
  /** Roles whose holders may judge by hand what happened. */
  readonly findingRoles: readonly string[];
  readonly approverRoles: readonly string[];
  readonly fourEyes: boolean;
}

export interface ProviderAccount {
  readonly account: string;
  readonly provider: string;
  readonly adapter: string;
  readonly endpoint: string;
  /** Scope to which a provider binds its opaque state, as far as we know it. */
  readonly scope: string;
  readonly models: readonly { readonly model: string; readonly profile: CapabilityProfile; readonly usdMicrosPer1kInput: number; readonly usdMicrosPer1kOutput: number }[];
}

export interface ProfilesDocument {
  readonly accounts: readonly ProviderAccount[];
  /** Routes in order of preference. */
  readonly preference: readonly Route[];
}

export interface RolesDocument {
  readonly people: readonly { readonly person: string; readonly roles: readonly string[] }[];
}

export interface RegistryDocument { readonly tools: readonly ToolMapping[] }

export interface TenantState {
  readonly policy: { readonly revision: number; readonly document: PolicyDocument; readonly digest: Digest } | null;
  readonly registry: { readonly revision: number; readonly document: RegistryDocument; readonly digest: Digest } | null;
  readonly profiles: { readonly revision: number; readonly document: ProfilesDocument; readonly digest: Digest } | null;
  readonly roles: { readonly revision: number; readonly document: RolesDocument; readonly digest: Digest } | null;
}
export type TenantRevisions = { readonly policy: number; readonly registry: number; readonly profiles: number; readonly roles: number };

export const tenantRevisions = (t: TenantState): TenantRevisions => ({
  policy: t.policy?.revision ?? 0, registry: t.registry?.revision ?? 0, profiles: t.profiles?.revision ?? 0, roles: t.roles?.revision ?? 0,
});

export const modelOf = (d: ProfilesDocument | undefined, r: Route): ProviderAccount['models'][number] | undefined =>
  d?.accounts.find((a) => a.account === r.account && a.provider === r.provider && a.adapter === r.adapter)?.models.find((m) => m.model === r.model);

export const sameRoute = (a: Route | null, b: Route | null): boolean =>
  a === b || (a !== null && b !== null && a.account === b.account && a.provider === b.provider && a.adapter === b.adapter && a.model === b.model);

export const rolesOf = (d: RolesDocument | undefined, person: string): readonly string[] => d?.people.find((p) => p.person === person)?.roles ?? [];
