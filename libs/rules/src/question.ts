/**
 * A question of the gate as a Cedar request. Every text of it, also every argument, is a value at a place that the schema declares.
 *
 * Rows: POL-1, CTX-6.
 */
import type { CedarValueJson, EntityJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { DATA_CLASSES, type Amounts, type Json, type RulePrincipal, type RuleQuestion, type RuleResource } from '@n17q/domain';
import { argumentsSeen, type Mentions } from './argument-type.js';
import type { Call } from './engine.js';
import { callOf, NAMESPACE, type RuleSchema } from './schema.js';

export type Request = { readonly ok: true; readonly call: Call } | { readonly ok: false; readonly reason: string };

const uid = (type: string, id: string): TypeAndId => ({ type: `${NAMESPACE}::${type}`, id });
const amounts = (a: Amounts): CedarValueJson => ({ usd_micros: a.usd_micros, tokens: a.tokens, calls: a.calls });

const whoAsks = (p: RulePrincipal): EntityJson =>
  ({ uid: uid(p.kind === 'person' ? 'Person' : 'Service', p.id), attrs: {}, parents: p.roles.map((r) => uid('Role', r)) });

function whatFor(r: RuleResource): EntityJson {
  if (r.kind === 'model')
    return { uid: uid('Model', `${r.provider}/${r.account}/${r.model}`), attrs: { provider: r.provider, account: r.account, model: r.model, storesContent: r.storesContent }, parents: [] };
  const attrs = { name: r.name, server: r.server, target: r.target, contract: r.contract, dataClass: r.dataClass, dataClassRank: DATA_CLASSES.indexOf(r.dataClass) };
  return { uid: uid('Tool', r.name), attrs, parents: [] };
}

const isObject = (v: Json): v is { readonly [key: string]: Json } => typeof v === 'object' && v !== null && !Array.isArray(v);

function argumentFacts(q: RuleQuestion, schema: RuleSchema, mentions: Mentions): { readonly ok: true; readonly facts: { [key: string]: CedarValueJson } } | { readonly ok: false; readonly reason: string } {
  if (q.action !== 'call') return { ok: true, facts: {} };
  const type = q.resource.kind === 'tool' ? schema.arguments.get(q.resource.name) : undefined;
  if (type === undefined) return { ok: false, reason: 'the registry has no such tool to call' };
  if (q.args === null || !isObject(q.args)) return { ok: false, reason: 'the arguments of the call cannot be read' };
  const seen = argumentsSeen(type, q.args, mentions);
  if (!seen.ok) return { ok: false, reason: `a rule names the argument ${seen.argument}, and its value has no exact place in a rule` };
  return { ok: true, facts: { args: seen.value, argsComplete: seen.complete } };
}

export function requestOf(q: RuleQuestion, schema: RuleSchema, mentions: Mentions): Request {
  const args = argumentFacts(q, schema, mentions);
  if (!args.ok) return args;
  const [principal, resource] = [whoAsks(q.principal), whatFor(q.resource)];
  const action = uid('Action', q.action === 'call' && q.resource.kind === 'tool' ? callOf(q.resource.name) : q.action);
  const context = {
    approved: q.approved, ...(q.delegate === null ? {} : { delegate: q.delegate }), attempts: q.attempts, cost: amounts(q.cost), budgetLeft: amounts(q.budgetLeft),
    dataClass: q.dataClass, dataClassRank: DATA_CLASSES.indexOf(q.dataClass), observed: [...q.observed], ownRequest: q.ownRequest, ...args.facts,
  };
  return { ok: true, call: { principal: principal.uid, action, resource: resource.uid, context, entities: [principal, resource] } };
}
