/**
 * What people claim or ask for about a run, judged like any action: findings, raises of the budget, migrations of an effect to another tool.
 *
 * Rows: EFF-5, BUD-1, TOOL-3, POL-1.
 */
import { DIMENSIONS } from '../budget.js';
import type { Effect } from '../effect.js';
import type { RefusedBecause } from '../events.js';
import type { Actor } from '../ids.js';
import type { RuleAction, RuleResource } from '../rules.js';
import { isDisproved } from '../run.js';
import { rolesOf } from '../tenant.js';
import { toolNamed } from '../tool.js';
import { person, question, refusedByRules, toolResource } from './asking.js';
import { FACTS_MAX, full, no, type Judging } from './judging.js';

/** The person holds one of the roles that the policy names, and no rule is against it. */
function mayNot(j: Judging, by: Actor, action: RuleAction, roles: readonly string[], what: string, on: RuleResource): RefusedBecause | null {
  if (by.kind !== 'person' || !rolesOf(j.view.tenant.roles?.document, by.id).some((r) => roles.includes(r))) return no('NOT_AUTHORISED', `${by.id} holds none of the roles that may ${what}: ${roles.join(', ')}`);
  return refusedByRules(j, question(j, action, person(j, by), on, { ownRequest: j.d.state.askers.includes(by.id) })).because;
}

const THE_RUN: RuleResource = { kind: 'tool', name: '', server: '', target: '', contract: 'neither', dataClass: 'public' };
const about = (e: Effect | undefined): RuleResource => (e === undefined ? THE_RUN : toolResource(e));

function findingStands(j: Judging, effect: string, verdict: 'happened' | 'did-not-happen'): RefusedBecause | null {
  const e = j.d.state.effects[effect];
  if (j.d.state.findings.some((x) => x.effect === effect && x.stage === 'accepted' && !x.applied)) return no('ALREADY_FOUND', 'another finding about this effect was accepted before');
  if (verdict === 'did-not-happen' && e?.erased === true) return no('EVIDENCE_ERASED', 'what could tell was erased: that it did not happen can no longer be found, so it stays unknown and is never repeated');
  return e?.stage !== 'unknown' && !(verdict === 'happened' && isDisproved(j.d.state, effect)) ? no('NOT_UNKNOWN', `the effect is ${e?.stage ?? 'not open'}: there is nothing to find`) : null;
}

export function judgeFindings(j: Judging): void {
  for (const f of j.d.state.findings.filter((x) => x.stage === 'submitted').slice(0, FACTS_MAX / 2)) {
    const refused = mayNot(j, f.by, 'find', j.policy.findingRoles, 'judge what happened', about(j.d.state.effects[f.effect])) ?? findingStands(j, f.effect, f.verdict);
    if (refused !== null) j.d.add('finding.refused', { finding: f.finding, effect: f.effect, ...refused });
    else j.d.add('finding.accepted', { finding: f.finding, effect: f.effect, verdict: f.verdict, by: f.by });
  }
}

export function judgeRaises(j: Judging): void {
  for (const r of j.d.state.raises) {
    if (full(j)) return;
    const refused = mayNot(j, r.by, 'raise', j.policy.raiseRoles, 'raise a budget', THE_RUN);
    if (refused !== null) j.d.add('budget.raise-refused', { raise: r.raise, ...refused });
    else j.d.add('budget.raised', { raise: r.raise, amounts: r.amounts, wallMs: r.wallMs, by: r.by });
  }
  const b = j.d.state.blocked; // what waited for it goes on by itself
  if (j.d.state.status === 'active' && b?.code === 'BUDGET_EXHAUSTED' && (b.facts as { readonly of?: string }).of === 'run' && DIMENSIONS.some((x) => j.d.state.budget.granted[x] > j.view.state.budget.granted[x])) j.d.add('run.resumed', { reason: 'the budget was raised' });
}

export function judgeMigrations(j: Judging): void {
  const registry = j.view.tenant.registry;
  for (const m of j.d.state.migrations) {
    if (full(j)) return;
    const e = j.d.state.effects[m.effect];
    const tool = registry === null ? undefined : toolNamed({ revision: registry.revision, tools: registry.document.tools }, m.tool);
    const refused = mayNot(j, m.by, 'find', j.policy.findingRoles, 'migrate an effect', about(e)) ?? (e?.stage !== 'unknown' ? no('NOT_UNKNOWN', 'the effect is not unknown: there is nothing to migrate') : e.erased ? no('EVIDENCE_ERASED', 'its evidence was erased') : null);
    if (refused !== null || tool === undefined || registry === null) { j.d.add('effect.migration-refused', { migration: m.migration, effect: m.effect, ...(refused ?? no('UNKNOWN_TOOL', `no tool ${m.tool} is registered now`)) }); continue; }
    j.d.add('effect.migrated', { migration: m.migration, effect: m.effect, tool: tool.name, mapping: { registryRevision: registry.revision, mappingRevision: tool.mappingRevision, server: tool.server, schemaDigest: tool.schemaDigest }, contract: tool.contract, by: m.by });
  }
}
