/**
 * A tenant's rules, from Cedar text to a function that answers the gate. Rules narrow what the invariants in code allow; here they are read, checked
 * against the registry and evaluated, and nothing else: no clock, no files, no network.
 *
 * C1. Only rules that validate strictly against the registry are admitted, and none that could never apply: such a rule is a mistake that looks like safety.
 * C2. Every question is validated against the schema before it is evaluated.
 * C3. Any error in evaluating any rule makes the answer broken, which denies. Cedar itself passes an erring `forbid` over.
 * C4. If the engine fails, the answer is broken, and the engine is started anew.
 * C5. Without a rule that permits, the answer is deny.
 *
 * Rows: POL-1, POL-2, POL-3, POL-4.
 */
import type { AuthorizationAnswer, ValidationError } from '@cedar-policy/cedar-wasm/nodejs';
import { digestOf } from '@n17q/contracts';
import type { RegistryDocument, RuleAnswer, RuleQuestion, Rules } from '@n17q/domain';
import { askPrepared, EngineTrap, onEngine, type Prepared } from './engine.js';
import type { RuleFault } from './fault.js';
import { FAULTS_MAX, parsePolicies, placeOf, type Policy, type PolicyText } from './policies.js';
import { requestOf } from './question.js';
import { NAMESPACE, schemaOf, type RuleSchema } from './schema.js';

export type Compiled = { readonly ok: true; readonly rules: Rules; readonly ids: readonly string[] } | { readonly ok: false; readonly faults: readonly RuleFault[] };

export const NO_PERMIT = 'no rule permits it';
/** An answer names at most so many rules. */
export const NAMED_MAX = 20;
const COMPILED_MAX = 32;
const compiled = new Map<string, Compiled>();

/**
 * Reads, checks and prepares `text` (Cedar, at most 256 KB and 1,000 policies, each with `@id`, each `forbid` with `@reason`) against `registry`. The same
 * two give the same answer; the newest 32 are remembered. Every fault says which rule and what to do. Throws only for defects.
 */
export function compileRules(text: string, registry: RegistryDocument): Compiled {
  const key = digestOf({ text: text.toWellFormed(), wellFormed: text.isWellFormed(), tools: registry.tools.map((t) => ({ name: t.name, schema: t.schema })) });
  const known = compiled.get(key);
  compiled.delete(key);
  const found = known ?? compileAnew(key, text, registry);
  compiled.set(key, found);
  if (compiled.size > COMPILED_MAX) compiled.delete(compiled.keys().next().value as string);
  return found;
}

function compileAnew(key: string, text: string, registry: RegistryDocument): Compiled {
  const parsed = parsePolicies(text);
  if (!parsed.ok) return parsed;
  const schema = schemaOf(registry);
  const faults = [...unknownTools(parsed.set, schema), ...invalid(text, parsed.set, schema)];
  if (faults.length > 0) return { ok: false, faults: oneEach(faults).slice(0, FAULTS_MAX) };
  const prepared: Prepared = { key, policies: { staticPolicies: Object.fromEntries(parsed.set.policies.map((p) => [p.id, p.text])) }, schema: schema.json };
  return { ok: true, rules: rulesOf(prepared, parsed.set, schema), ids: parsed.set.policies.map((p) => p.id) };
}

/** The first fault of a rule says most; what follows is often its consequence. */
const oneEach = (faults: readonly RuleFault[]): readonly RuleFault[] => faults.filter((f, i) => f.rule === '' || faults.findIndex((g) => g.rule === f.rule) === i);

function invalid(text: string, set: PolicyText, schema: RuleSchema): readonly RuleFault[] {
  try {
    const answer = onEngine((cedar) => cedar.validate({ schema: schema.json, policies: { staticPolicies: text }, validationSettings: { mode: 'strict' } }));
    if (answer.type === 'failure') return [{ rule: '', problem: `The rules cannot be checked: ${answer.errors[0]?.message ?? 'no reason given'}.` }];
    const fault = (e: ValidationError, problem: (e: ValidationError, place: string) => string): RuleFault =>
      ({ rule: set.policies[Number(e.policyId.slice('policy'.length))]?.id ?? '', problem: problem(e, placeOf(text, e.error.sourceLocations?.[0]?.start ?? 0)) });
    return [
      ...answer.validationErrors.map((e) => fault(e, inWords)),
      ...answer.validationWarnings.filter((w) => NEVER.test(w.error.message)).map((w) => fault(w, (_, place) => `It can never apply (${place}): no question that the gate can ask fits it. Correct what it names, or take it out.`)),
    ];
  } catch (e) {
    if (e instanceof EngineTrap) return [{ rule: '', problem: 'The engine failed over these rules. Split long conditions into several rules.' }];
    throw e;
  }
}

const NEVER = /policy is impossible|unable to find an applicable action/;
const UNKNOWN_ACTION = /unrecognized action `N17Q::Action::"((?:[^"\\]|\\.)*)"`/;

function inWords({ error }: ValidationError, place: string): string {
  const action = UNKNOWN_ACTION.exec(error.message)?.[1];
  if (action?.startsWith('call:')) return `It is about calls of the tool ${action.slice('call:'.length)} (${place}), which the registry does not have. Register the tool first, or take the rule out.`;
  const message = error.message.replace(/^for policy `policy\d+`, /, '');
  return `At ${place}: ${message}${error.help ? ` (${error.help})` : ''}.`;
}

/** A rule over calls that names a tool as its resource: the engine takes any name there, also one that nothing bears. */
function unknownTools(set: PolicyText, schema: RuleSchema): RuleFault[] {
  return set.policies.flatMap((p) => {
    const { action, resource } = p.json;
    const actions = action.op === 'All' ? [] : 'entities' in action ? action.entities : 'entity' in action ? [action.entity] : [];
    const ids = actions.map((a) => ('__entity' in a ? a.__entity.id : a.id));
    if (ids.length === 0 || !ids.every((id) => id === 'call' || id.startsWith('call:')) || resource.op !== '==' || !('entity' in resource)) return [];
    const tool = '__entity' in resource.entity ? resource.entity.__entity : resource.entity;
    if (tool.type !== `${NAMESPACE}::Tool` || schema.arguments.has(tool.id)) return [];
    return [{ rule: p.id, problem: `It is about calls of the tool ${tool.id}, which the registry does not have. Register the tool first, or take the rule out.` }];
  });
}

function rulesOf(prepared: Prepared, set: PolicyText, schema: RuleSchema): Rules {
  const byId = new Map(set.policies.map((p) => [p.id, p]));
  return (q: RuleQuestion): RuleAnswer => {
    try {
      const request = requestOf(q, schema, set.mentions);
      return request.ok ? answered(askPrepared(prepared, request.call), byId) : broken(request.reason);
    } catch (e) {
      return broken(`the engine failed over the question: ${String(e)}`); // keeps C4
    }
  };
}

const REASON_CHARS_MAX = 500;
const broken = (reason: string): RuleAnswer => ({ kind: 'broken', reason: reason.slice(0, REASON_CHARS_MAX) });

function answered(answer: AuthorizationAnswer, byId: ReadonlyMap<string, Policy>): RuleAnswer {
  if (answer.type === 'failure') return broken(`the question does not fit the rules' schema: ${answer.errors[0]?.message ?? 'no reason given'}`); // keeps C2
  const { decision, diagnostics } = answer.response;
  // The engine names rules in no order; here the same question has the same answer.
  const [error] = diagnostics.errors.sort((a, b) => (a.policyId < b.policyId ? -1 : 1));
  if (error !== undefined) return broken(`rule ${error.policyId} cannot be evaluated: ${error.error.message}`); // keeps C3
  const by = [...diagnostics.reason].sort().slice(0, NAMED_MAX);
  const reasons = by.map((id) => byId.get(id)?.reason ?? '').filter((r) => r !== '');
  if (decision === 'allow') return { kind: 'allow', by, reasons };
  return { kind: 'deny', by, reasons: by.length === 0 ? [NO_PERMIT] : reasons }; // keeps C5
}

/** The rules of a text, whatever it is worth: rules that cannot be admitted answer every question with why (POL-4). */
export function rulesFrom(text: string, registry: RegistryDocument): Rules {
  const c = compileRules(text, registry);
  if (c.ok) return c.rules;
  const [first] = c.faults;
  const reason = `${first?.rule || 'the rules'}: ${first?.problem ?? 'they cannot be read'}`;
  return () => ({ kind: 'broken', reason });
}
