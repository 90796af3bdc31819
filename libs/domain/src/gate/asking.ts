/**
 * Who acts, and what the tenant's rules and its hook say about it.
 *
 * A1. A run that somebody asked for on behalf of another acts as that other, for as long as the delegation stands.
 *
 * Rows: POL-1, POL-2, POL-4.
 */
import { left, NOTHING } from '../budget.js';
import { clip } from '../content.js';
import type { Effect } from '../effect.js';
import type { HookAnswer, RefusedBecause } from '../events.js';
import type { Actor, StoreTimeMs } from '../ids.js';
import type { Json } from '../json.js';
import { verdictOf, type RuleAction, type RulePrincipal, type RuleQuestion, type RuleResource, type RuleVerdict } from '../rules.js';
import { delegationOf, rolesOf } from '../tenant.js';
import { no, WORDS_MAX, type Judging } from './judging.js';

export const person = (j: Judging, a: Actor): RulePrincipal => ({ kind: a.kind === 'person' ? 'person' : 'service', id: a.id, roles: rolesOf(j.view.tenant.roles?.document, a.id) });

export interface Acting { readonly principal: RulePrincipal; readonly delegate: string | null; readonly until: StoreTimeMs }
/** For whom the run acts now (keeps A1). `tool` null: a call of the model. */
export function acting(j: Judging, tool: string | null): Acting | RefusedBecause {
  const s = j.d.state;
  const by: Actor = s.requester ?? { kind: 'service', id: '' };
  if (s.onBehalfOf === null) return { principal: person(j, by), delegate: null, until: Infinity };
  const d = delegationOf(j.view.tenant.roles?.document, s.onBehalfOf, by.id, tool, j.view.now);
  if (d === undefined) return no('DELEGATION_ENDED', `${by.id} may not act for ${s.onBehalfOf}${tool === null ? '' : ` with ${tool}`}: no delegation that says so stands now`, { from: s.onBehalfOf, to: by.id });
  return { principal: person(j, { kind: 'person', id: s.onBehalfOf }), delegate: by.id, until: d.until ?? Infinity };
}

/** Sources that a rule may rest on: kept, not rejected, and seen lately enough. */
const observed = (j: Judging): readonly string[] => j.d.state.sources.filter((x) => x.gap === null && x.review !== 'rejected' && x.retrievedAt + j.policy.observationAgeMsMax >= j.view.now).map((x) => x.identity);

export const toolResource = (e: Pick<Effect, 'tool' | 'mapping' | 'scope' | 'contract' | 'dataClass'>): RuleResource => ({ kind: 'tool', name: e.tool, server: e.mapping.server, target: e.scope.target, contract: e.contract.kind, dataClass: e.dataClass });

export function question(j: Judging, action: RuleAction, principal: RulePrincipal, resource: RuleResource, more: Partial<Pick<RuleQuestion, 'args' | 'delegate' | 'attempts' | 'cost' | 'ownRequest'>> = {}): RuleQuestion {
  return { action, principal, resource, args: null, approved: false, delegate: null, attempts: 0, cost: NOTHING, budgetLeft: left(j.d.state.budget), dataClass: j.d.state.dataClass, observed: observed(j), ownRequest: false, ...more };
}

export const callQuestion = (j: Judging, e: Effect, a: Acting): RuleQuestion =>
  question(j, 'call', a.principal, toolResource(e), { args: j.view.args.get(e.args.commitment) ?? null, delegate: a.delegate, attempts: e.attempts.length, cost: e.amounts, ownRequest: true });

/** What the rules and then the hook say; each only narrows. */
export function ruled(j: Judging, q: RuleQuestion, hook?: HookAnswer): RuleVerdict {
  const v = verdictOf(j.ports.rules, q);
  if (hook === undefined || hook.answer === 'allow' || v.kind === 'broken' || v.kind === 'deny') return v;
  const reason = clip(`${hook.reason} (the tenant's hook)`, WORDS_MAX);
  return { kind: hook.answer, by: v.by, reasons: v.kind === 'ask' ? [...v.reasons, reason] : [reason] };
}

/** Why not, for what only rules decide; null: allowed. */
export function refusedByRules(j: Judging, q: RuleQuestion): { readonly because: RefusedBecause; readonly by: readonly string[] } | { readonly because: null; readonly by: readonly string[] } {
  const v = ruled(j, q);
  if (v.kind === 'allow') return { because: null, by: v.by };
  return v.kind === 'broken' ? { because: broken(v.reason), by: [] } : { because: forbidden(v.reasons, v.by), by: v.by };
}
export const broken = (reason: string): RefusedBecause => no('RULES_BROKEN', `the tenant's rules cannot be evaluated, so nothing is permitted: ${reason}`);
export const forbidden = (reasons: readonly string[], by: readonly string[]): RefusedBecause => no('POLICY_FORBIDS', reasons.join('; ') || 'no rule permits it', { rules: [...by] } as Json);
