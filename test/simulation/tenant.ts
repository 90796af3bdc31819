/** What a simulated tenant has published: six tools, two accounts, one policy, its people. */
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
const schema = { type: 'object', properties: { what: { type: 'string' }, note: { type: 'string' } }, required: ['what'] };
const tool = (name: string, contract: EffectContract): ToolMapping => ({
  name, description: `does ${name}`, server: 'sim', schema, schemaDigest: digestOf(schema), mappingRevision: 1, contract, scopeFields: ['what'], target: `sim:${name}`,
  connector: { kind: 'http', config: contract.precondition === undefined ? {} : { precondition: { header: 'if-match', argument: contract.precondition } } }, timeoutMs: TOOL_TIMEOUT_MS, argumentBytesMax: 10_000, outputBytesMax: 10_000, dataClass: 'internal', costUsdMicros: 10,
});
export const TOOLS: readonly ToolMapping[] = Object.entries(CONTRACTS).map(([n, c]) => tool(n, c));
export const registry = (without: readonly string[] = []): RegistryDocument => ({ tools: TOOLS.filter((t) => !without.includes(t.name)) });

export const ALLOW = '@id("allow") permit (principal, action, resource);';
export const ASKS = '@id("asks") @reason("a person decides") forbid (principal, action in N17Q::Action::"call", resource) when { ["mail", "put"].contains(resource.name) } unless { context.approved };';
export const FORBIDS = '@id("forbids") @reason("not today") forbid (principal, action in N17Q::Action::"call", resource) when { resource.name == "pay" };';
export const policy = (rules: string = ALLOW): PolicyDocument => ({
  rules, hook: null, raiseRoles: ['operator'], observationAgeMsMax: 60_000, permitLifeMs: 4000, leaseMs: LEASE_MS, attemptsMax: 4, looksMax: 12, approvalLifeMs: 60_000, slice: { usd_micros: 200_000, tokens: 40_000, calls: 4 }, findingRoles: ['operator'], approverRoles: ['operator'], fourEyes: false,
});
const account = (name: string) => ({ account: name, provider: 'simulated', adapter: 'simulated', endpoint: 'http://model.invalid', scope: name, models: [{ model: `model-of-${name}`, profile: PROFILE, usdMicrosPer1kInput: 10, usdMicrosPer1kOutput: 20 }] });
export const routeOf = (name: string): Route => ({ account: name, provider: 'simulated', adapter: 'simulated', model: `model-of-${name}` });
export const profiles = (accounts: readonly string[]): ProfilesDocument => ({ accounts: accounts.map(account), preference: accounts.map(routeOf) });
export const roles: RolesDocument = { people: [{ person: 'olga', roles: ['operator'] }, { person: 'ivan', roles: ['reader'] }], delegations: [] };
