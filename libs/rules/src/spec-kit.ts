/** Questions, tools and registries for the specs of this library. */
import type { Amounts, Digest, Json, RegistryDocument, RuleQuestion, ToolMapping } from '@n17q/domain';
import { compileRules } from './compile.js';

const NOTHING: Amounts = { usd_micros: 0, tokens: 0, calls: 0 };

export const object = (properties: { readonly [name: string]: Json }, required: readonly string[] = []): Json => ({ type: 'object', properties, required: [...required], additionalProperties: false });

export const PAY: Json = object(
  { to: { type: 'string' }, amount: { type: 'number' }, copies: { type: 'integer' }, urgent: { type: 'boolean' }, tags: { type: 'array', items: { type: 'string' } }, by: object({ name: { type: 'string' } }) },
  ['to', 'amount'],
);

export const tool = (name: string, schema: Json = PAY): ToolMapping => ({
  name, description: `does ${name}`, server: 'shop', schema, schemaDigest: 'd'.repeat(64) as Digest, mappingRevision: 1, contract: { kind: 'neither' }, scopeFields: [], target: 'shop/main',
  connector: { kind: 'http', config: {} }, timeoutMs: 1000, argumentBytesMax: 65_536, outputBytesMax: 65_536, dataClass: 'internal', costUsdMicros: 0,
});
export const registry = (...tools: readonly ToolMapping[]): RegistryDocument => ({ tools });
export const SHOP: RegistryDocument = registry(tool('pay'), tool('ship', object({ where: { type: 'string' } })));

export const question = (over: Partial<RuleQuestion> = {}): RuleQuestion => ({
  action: 'call', principal: { kind: 'person', id: 'ada', roles: ['buyer'] },
  resource: { kind: 'tool', name: 'pay', server: 'shop', target: 'shop/main', contract: 'neither', dataClass: 'internal' },
  args: { to: 'bob', amount: 12.5 }, approved: false, delegate: null, attempts: 0, cost: { ...NOTHING, calls: 1 }, budgetLeft: { usd_micros: 1000, tokens: 1000, calls: 10 },
  dataClass: 'internal', observed: [], ownRequest: false, ...over,
});

export const MODEL: RuleQuestion['resource'] = { kind: 'model', provider: 'acme', account: 'main', model: 'big', storesContent: true };

/** The rules, or the faults as a thrown error. */
export function rulesFrom(text: string, r: RegistryDocument = SHOP) {
  const c = compileRules(text, r);
  if (!c.ok) throw new Error(JSON.stringify(c.faults));
  return c.rules;
}

/** The faults as `rule: problem`. */
export function faultsFrom(text: string, r: RegistryDocument = SHOP): readonly string[] {
  const c = compileRules(text, r);
  return c.ok ? [] : c.faults.map((f) => `${f.rule}: ${f.problem}`);
}
