/** What a simulated tenant publishes: eight tools and what may become of them, two accounts, its policies, its people. */
import { digestOf } from '@n17q/contracts';
import type { EffectContract, PolicyDocument, ProfilesDocument, RegistryDocument, RolesDocument, Route, ToolMapping } from '@n17q/domain';
import { PROFILE } from './model.js';

export const TENANT = 'acme';
export const LEASE_MS = 2000;
export const TOOL_TIMEOUT_MS = 6000;

const CONTRACTS: { readonly [name: string]: EffectContract } = {
  read: { kind: 'read-only' },
  sandbox: { kind: 'contained' },
  put: { kind: 'idempotent', precondition: 'what' },
  pay: { kind: 'keyed', keyLifeMs: 60_000 },
  order: { kind: 'keyed', keyLifeMs: 60_000, query: { absenceFinalAfterMs: 10_000 } },
  file: { kind: 'queryable', query: { absenceFinalAfterMs: null } },
  book: { kind: 'queryable', query: { absenceFinalAfterMs: 10_000 } },
  mail: { kind: 'neither' },
};
const properties = { what: { type: 'string' }, note: { type: 'string' } };
const schema = { type: 'object', properties, required: ['what'] };
const otherSchema = { type: 'object', properties: { ...properties, more: { type: 'string' } }, required: ['what'] };
const tool = (name: string, contract: EffectContract): ToolMapping => ({
  name, description: `does ${name}`, server: 'sim', schema, schemaDigest: digestOf(schema), mappingRevision: 1, contract, scopeFields: ['what'], target: `sim:${name}`,
  connector: { kind: 'http', config: contract.precondition === undefined ? { keyHeader: 'idempotency-key' } : { precondition: { header: 'if-match', argument: contract.precondition } } }, timeoutMs: TOOL_TIMEOUT_MS, argumentBytesMax: 10_000, outputBytesMax: 10_000, dataClass: 'internal', costUsdMicros: 10,
});
export const TOOLS: readonly ToolMapping[] = Object.entries(CONTRACTS).map(([n, c]) => tool(n, c));

/** What another tool behind the same name may be. */
export const OTHERWISE: { readonly [how: string]: (t: ToolMapping) => ToolMapping } = {
  'another schema': (t) => ({ ...t, schema: otherSchema, schemaDigest: digestOf(otherSchema), mappingRevision: 2 }),
  'another server': (t) => ({ ...t, server: 'elsewhere', mappingRevision: 3 }),
  'another contract': (t) => ({ ...t, contract: t.contract.kind === 'neither' ? { kind: 'keyed', keyLifeMs: 60_000 } : { kind: 'neither' }, mappingRevision: 4 }),
};
export interface RegistryChange { readonly without: readonly string[]; readonly otherwise: { readonly [tool: string]: string } }
/** Whether what `read` brings is a source, and one that the run needs. */
export type SourceKind = 'none' | 'optional' | 'required';
const sourced = (t: ToolMapping, kind: SourceKind): ToolMapping => (kind === 'none' || t.name !== 'read' ? t : { ...t, source: { identity: 'document {what}', required: kind === 'required' } });
export const registry = (c: RegistryChange = { without: [], otherwise: {} }, source: SourceKind = 'none'): RegistryDocument =>
  ({ tools: TOOLS.filter((t) => !c.without.includes(t.name)).map((t) => sourced(OTHERWISE[c.otherwise[t.name] ?? '']?.(t) ?? t, source)) });

/** What people mean by a policy. The judges go by this, and not by the document in which it is written. */
export interface Meaning { readonly forbid: readonly string[]; readonly ask: readonly string[]; readonly fourEyes: boolean; readonly approvalLifeMs: number }
export const MEANINGS: readonly Meaning[] = [
  { forbid: [], ask: [], fourEyes: false, approvalLifeMs: 60_000 },
  { forbid: [], ask: ['mail', 'put', 'book'], fourEyes: false, approvalLifeMs: 60_000 },
  { forbid: [], ask: ['mail', 'pay', 'file', 'order'], fourEyes: true, approvalLifeMs: 60_000 },
  { forbid: [], ask: ['mail', 'put', 'pay'], fourEyes: false, approvalLifeMs: 1500 },
  { forbid: ['pay', 'mail'], ask: [], fourEyes: false, approvalLifeMs: 60_000 },
];
const ALLOW = '@id("allow") permit (principal, action, resource);';
const among = (tools: readonly string[]): string => `[${tools.map((t) => `"${t}"`).join(', ')}].contains(resource.name)`;
const rulesFor = (m: Meaning): string => [
  ALLOW,
  ...(m.ask.length === 0 ? [] : [`@id("asks") @reason("a person decides") forbid (principal, action in N17Q::Action::"call", resource) when { ${among(m.ask)} } unless { context.approved };`]),
  ...(m.forbid.length === 0 ? [] : [`@id("forbids") @reason("not today") forbid (principal, action in N17Q::Action::"call", resource) when { ${among(m.forbid)} };`]),
].join('\n');
export const ATTEMPTS_MAX = 4;
export const LOOKS_MAX = 12;
export const policy = (m: Meaning = MEANINGS[0] as Meaning): PolicyDocument => ({
  rules: rulesFor(m), hook: null, raiseRoles: ['operator'], observationAgeMsMax: 60_000, permitLifeMs: 4000, leaseMs: LEASE_MS, attemptsMax: ATTEMPTS_MAX, looksMax: LOOKS_MAX, approvalLifeMs: m.approvalLifeMs, slice: { usd_micros: 200_000, tokens: 40_000, calls: 4 }, findingRoles: ['operator'], approverRoles: ['operator'], fourEyes: m.fourEyes,
});
const account = (name: string) => ({ account: name, provider: 'simulated', adapter: 'simulated', endpoint: 'http://model.invalid', scope: name, models: [{ model: `model-of-${name}`, profile: PROFILE, usdMicrosPer1kInput: 10, usdMicrosPer1kOutput: 20 }] });
export const routeOf = (name: string): Route => ({ account: name, provider: 'simulated', adapter: 'simulated', model: `model-of-${name}` });
export const profiles = (accounts: readonly string[]): ProfilesDocument => ({ accounts: accounts.map(account), preference: accounts.map(routeOf) });
const people = (olga: string, ivan: string, mara: string): RolesDocument => ({ people: [{ person: 'olga', roles: [olga] }, { person: 'ivan', roles: [ivan] }, { person: 'mara', roles: [mara] }], delegations: [] });
/** Ivan asks for runs, of some of them for Gina. Null: she lets nobody act for her. */
export type Delegated = { readonly tools: readonly string[]; readonly until: number | null } | null;
export const delegating = (d: RolesDocument, to: Delegated): RolesDocument => ({ ...d, delegations: to === null ? [] : [{ delegation: 'for-gina', from: 'gina', to: 'ivan', ...to }] });
export const ROLES: readonly RolesDocument[] = [people('operator', 'reader', 'reader'), people('reader', 'reader', 'operator'), people('operator', 'operator', 'operator')];
export const roles: RolesDocument = delegating(ROLES[0] as RolesDocument, { tools: ['*'], until: null });
