/**
 * What a tenant decides for all of its runs. Each topic is a stream; each event replaces the topic's document; the
 * stream's revision is the document's revision, and permits name it.
 *
 * Rows: TOOL-1, POL-1, EFF-7, BUD-5.
 */
import type { Amounts } from './budget.js';
import type { Digest, StoreTimeMs } from './ids.js';
import type { CapabilityProfile, Route } from './provider.js';
import type { ToolMapping } from './tool.js';

/** Asked before every call, and able only to refuse it or to have a person asked. No answer refuses. */
export interface PolicyHook {
  readonly url: string;
  readonly timeoutMs: number;
  /** Names a credential of the gate's; never the secret itself. */
  readonly credential?: string;
  /** Whether it is told the arguments too. */
  readonly withArguments: boolean;
}

export interface PolicyDocument {
  /** The tenant's rules in Cedar. */
  readonly rules: string;
  readonly hook: PolicyHook | null;
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
  /** Roles whose holders may raise a run's budget. */
  readonly raiseRoles: readonly string[];
  readonly fourEyes: boolean;
  /** How old an observation of a source may be when a rule rests on it. */
  readonly observationAgeMsMax: number;
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

/** `to` may act for `from`, as far as `from` may: with these tools (`*`: all), until then. Taken out of the document, it is revoked. */
export interface Delegation {
  readonly delegation: string;
  readonly from: string;
  readonly to: string;
  readonly tools: readonly string[];
  readonly until: StoreTimeMs | null;
}

export interface RolesDocument {
  readonly people: readonly { readonly person: string; readonly roles: readonly string[] }[];
  readonly delegations: readonly Delegation[];
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

/** The delegation under which `to` may act for `from` now: for one tool, or for any. The one that lasts longest. */
export function delegationOf(d: RolesDocument | undefined, from: string, to: string, tool: string | null, now: StoreTimeMs): Delegation | undefined {
  const until = (x: Delegation): number => x.until ?? Infinity;
  return d?.delegations.filter((x) => x.from === from && x.to === to && until(x) > now && (tool === null || x.tools.includes('*') || x.tools.includes(tool))).toSorted((a, b) => until(b) - until(a))[0];
}
