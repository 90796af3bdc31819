/**
 * Judging an intent: invariants first, then the tenant's rules and hook, then approvals, then budget; each only narrows.
 *
 * Rows: EFF-6, EFF-7, POL-1, POL-2, APP-2, APP-3, BUD-2, TOOL-3, TOOL-4, TOOL-5, RES-1, SRC-2.
 */
import { clip } from '../content.js';
import { INTERFERENCE, isConsequential, keyTrustedUntil } from '../contract.js';
import { type Effect } from '../effect.js';
import type { Grounds, Permit, RefusedBecause } from '../events.js';
import type { EffectId, StoreTimeMs } from '../ids.js';
import type { Json } from '../json.js';
import { heldBack, PERMITS_UNUSED_MAX } from '../needs.js';
import { queued, sourceGaps, type Approval } from '../run.js';
import { overlaps } from '../scope.js';
import { rolesOf, tenantRevisions } from '../tenant.js';
import { offers, toolNamed, type ToolMapping } from '../tool.js';
import { acting, broken, callQuestion, forbidden, person, question, ruled, toolResource } from './asking.js';
import { denied, full, groundsOf, next, no, permitFor, unusable, WORDS_MAX, type Judging } from './judging.js';
import { reserve, shortFacts } from './money.js';

/** Reasons for one approval: many are asked for in one append. */
function briefly(reasons: readonly string[]): readonly string[] {
  const told: string[] = [];
  let room = WORDS_MAX;
  for (const [at, r] of reasons.entries()) {
    if (room <= 0) return [...told, `and ${reasons.length - at} more`];
    told.push(clip(r, room));
    room -= r.length;
  }
  return told;
}

/** In which parts a mapping differs from what a call pinned. */
const changedIn = (j: Judging, t: ToolMapping, e: Effect): readonly string[] => [
  ...(t.server === e.mapping.server ? [] : ['server']), ...(t.schemaDigest === e.mapping.schemaDigest ? [] : ['schema']), ...(t.mappingRevision === e.mapping.mappingRevision ? [] : ['mapping revision']),
  ...(t.target === e.scope.target ? [] : ['target']), ...(j.ports.digest(t.contract as unknown as Json) === j.ports.digest(e.contract as unknown as Json) ? [] : ['contract']),
];

/** The tool is still the one that the call was made for, under the same contract (TOOL-4). */
export function mapped(j: Judging, e: Effect): RefusedBecause | null {
  const registry = j.view.tenant.registry;
  if (registry === null) return no('REGISTRY_UNAVAILABLE', 'no tool registry is published: nothing can be permitted');
  const tool = toolNamed({ revision: registry.revision, tools: registry.document.tools }, e.tool);
  const changed = tool === undefined ? ['registration'] : changedIn(j, tool, e);
  if (tool === undefined || changed.length > 0) return no('TOOL_NOT_MAPPED', `tool ${e.tool} is no longer the tool that the call was made for: ${tool === undefined ? 'it is not registered any more' : `another ${changed.join(', ')}`}`, { pinned: { ...e.mapping }, changed });
  return offers(j.d.state, tool) ? null : no('TOOL_NOT_OFFERED', `tool ${e.tool} is not among the tools of this run`);
}

/** What no rule of a tenant can allow. */
function invariants(j: Judging, e: Effect): RefusedBecause | null {
  const s = j.d.state;
  if (j.view.suspect) return no('STORE_SUSPECT', 'the store lost acknowledged events of this run: nothing is done in the world before a person has looked');
  const unmapped = mapped(j, e);
  if (unmapped !== null) return unmapped;
  if (e.world.kind !== s.world.kind || e.world.kind !== 'real') return no('NO_RECORDING', 'the world of this run is simulated and has no recording for this call');
  if (e.attempts.length >= j.policy.attemptsMax) return no('ATTEMPTS_EXHAUSTED', `${e.attempts.length} attempts were made; the policy allows ${j.policy.attemptsMax}`, { attempts: e.attempts.length });
  const [gap] = isConsequential(e.contract) ? sourceGaps(s) : [];
  if (gap !== undefined) return no('SOURCE_MISSING', `${gap.identity} is a required source and not to be had (${gap.gap ?? 'rejected'}): retrieve it again first`, { source: gap.source, identity: gap.identity });
  return null;
}

export type Objections =
  | { readonly deny: RefusedBecause; readonly grounds: Grounds }
  | { readonly ask: readonly string[]; /** Unresolved effects that an approval would be given beside. */ readonly beside: readonly EffectId[]; readonly until: StoreTimeMs; readonly grounds: Grounds };

/** Invariants and rules for one intent, in their order. */
export function objections(j: Judging, e: Effect): Objections {
  const { view } = j;
  const s = j.d.state;
  const never = invariants(j, e);
  if (never !== null) return { deny: never, grounds: groundsOf(j) };
  const ask: string[] = [];
  const beside: EffectId[] = [];
  // siblings pass, until one of them may have happened unseen
  const met = view.open.filter((o) => o.effect !== e.effect && overlaps(o.scope, e.scope) && !(o.run === s.run && o.generation === e.generation && o.stage === 'in-flight'));
  for (const o of met) {
    const verdict = INTERFERENCE[o.kind][e.contract.kind];
    if (verdict === 'deny') return { deny: no('EFFECT_UNRESOLVED', `effect ${o.effect} (${o.tool}) on the same target is ${o.stage}: it may have happened, so this is not done again before it is settled`, { unresolved: o.effect, run: o.run, stage: o.stage, contract: o.kind }), grounds: groundsOf(j, [], [o]) };
    if (verdict === 'ask') { ask.push(`effect ${o.effect} on the same target is ${o.stage}`); beside.push(o.effect); }
  }
  const who = acting(j, e.tool);
  if ('code' in who) return { deny: who, grounds: groundsOf(j, [], met) };
  const hook = view.hooked.get(e.effect);
  const v = ruled(j, callQuestion(j, e, who), hook);
  const by = v.kind === 'broken' ? [] : v.by;
  const grounds = groundsOf(j, by, met, hook);
  if (v.kind === 'broken') return { deny: broken(v.reason), grounds };
  if (v.kind === 'deny') return { deny: forbidden(v.reasons, v.by), grounds };
  return { ask: v.kind === 'ask' ? [...ask, ...v.reasons.map((r) => clip(r, WORDS_MAX))] : ask, beside, until: who.until, grounds };
}

/** Why an approval does not stand for this intent now, beside these, in words; null: it stands. A repetition that the contract allows may cite the one that its first attempt spent, while it lives (APP-3). */
function fallen(j: Judging, e: Effect, a: Approval, beside: readonly EffectId[]): string | null {
  const { view, policy } = j;
  if (a.stage === 'requested') return 'is expired';
  if (a.by === null || !(a.stage === 'approved' || (a.stage === 'spent' && e.stage === 'unknown'))) return `is ${a.stage}`;
  if (a.expiresAt <= view.now) return 'does not stand any more: it ran out';
  const since = beside.find((b) => !a.beside.includes(b));
  if (since !== undefined) return `does not stand any more: effect ${since} on the same target became unresolved since`;
  const own = j.d.state.askers.includes(a.by.id) || j.d.state.onBehalfOf === a.by.id;
  if (policy.fourEyes && own) return `does not stand: ${a.by.id} asked for it, and policy wants another person to approve it`;
  if (!rolesOf(view.tenant.roles?.document, a.by.id).some((r) => policy.approverRoles.includes(r))) return `does not stand: ${a.by.id} holds none of the roles that may approve: ${policy.approverRoles.join(', ')}`;
  return ruled(j, question(j, 'approve', person(j, a.by), toolResource(e), { ownRequest: own, cost: e.amounts })).kind === 'allow' ? null : `does not stand: the rules do not let ${a.by.id} approve it`;
}

/** An approval that stands for exactly this intent now, beside no more than what it was asked beside, or null. */
export const approvalFor = (j: Judging, e: Effect, beside: readonly EffectId[]): Approval | null =>
  Object.values(j.d.state.approvals).find((a) => a.effect === e.effect && a.subject === e.subject && fallen(j, e, a, beside) === null) ?? null;

const judgeable = (j: Judging, e: Effect): boolean =>
  e.stage === 'intended' || e.stage === 'not-sent' || e.stage === 'awaiting-approval' || (e.stage === 'permitted' && e.permit !== null && unusable(j, e.permit) && !queued(j.d.state, e));

function judgeEffect(j: Judging, e: Effect): (() => void) | null {
  const o = objections(j, e);
  if ('deny' in o) { j.d.add('effect.denied', { effect: e.effect, ...denied(j, o.deny, o.grounds) }); return null; }
  const approval = o.ask.length === 0 ? null : approvalFor(j, e, o.beside);
  if (o.ask.length > 0 && approval === null) {
    const own = Object.values(j.d.state.approvals).filter((x) => x.effect === e.effect && x.subject === e.subject);
    const waiting = own.find((x) => x.stage === 'requested' && x.expiresAt > j.view.now);
    if (waiting !== undefined && e.stage === 'awaiting-approval') return null;
    const ended = own.at(-1);
    // asked before, and permitted meanwhile by a policy that did not ask: the question is put anew
    if (ended !== undefined && waiting === undefined) { j.d.add('effect.denied', { effect: e.effect, ...denied(j, notApproved(j, e, ended, o.beside), o.grounds) }); return null; }
    j.d.add('approval.requested', { approval: next(j, 'approval'), effect: e.effect, subject: e.subject, reasons: briefly(o.ask), beside: o.beside, expiresAt: j.view.now + j.policy.approvalLifeMs, tenant: tenantRevisions(j.view.tenant), grounds: o.grounds });
    return null;
  }
  return permitEffect(j, e, approval, o);
}
const notApproved = (j: Judging, e: Effect, a: Approval, beside: readonly EffectId[]): RefusedBecause =>
  no('NOT_APPROVED', `approval ${a.approval}${a.by === null ? '' : ` by ${a.by.id}`} ${fallen(j, e, a, beside) ?? 'does not stand'}`, { approval: a.approval });

/** A repetition must begin while the target surely knows the key. */
const repeatableUntil = (e: Effect): StoreTimeMs => (e.stage === 'unknown' && e.contract.kind === 'keyed' ? keyTrustedUntil(e.contract, e.attempts[0]?.startedAt ?? 0) : Infinity);

/** Reserves, and returns what gives the permit; null when the budget does not cover it, which is said. */
export function permitEffect(j: Judging, e: Effect, approval: Approval | null, o: Extract<Objections, { ask: unknown }>): (() => void) | null {
  let reservation = e.reservation !== null && e.reservation in j.d.state.budget.reservations ? e.reservation : null;
  if (reservation === null) {
    const r = reserve(j, 'effect', e.amounts);
    if ('short' in r) {
      j.d.add('budget.exhausted', { dimension: r.short, needed: e.amounts, of: r.of });
      j.d.add(e.stage === 'unknown' ? 'effect.recovery-denied' : 'effect.denied', { effect: e.effect, ...denied(j, no('BUDGET_EXHAUSTED', `the ${r.of}'s budget of ${r.short} does not cover it`, { ...shortFacts(j, r, e.amounts) }), o.grounds) });
      return null;
    }
    reservation = r.reservation;
  }
  const held = reservation;
  // Permits come last in the append, so that no denial beside them makes them stale.
  return () => {
    const siblings = Object.values(j.d.state.effects).filter((x) => x.generation === e.generation && x.effect !== e.effect && x.stage !== 'unknown').map((x) => x.effect);
    j.d.add('effect.permitted', { effect: e.effect, attemptNumber: e.attempts.length + 1, siblings: [...new Set([...siblings, ...o.beside])], reservation: held, approval: approval?.approval ?? null, ...permitFor(j, e.subject, o.grounds, Math.min(o.until, repeatableUntil(e))) });
  };
}

export function judgeEffects(j: Judging): void {
  if (j.d.state.status !== 'active') return;
  const permits: (() => void)[] = [];
  for (const e of Object.values(j.d.state.effects)) {
    if (!judgeable(j, e) || e.needsPerson !== null || heldBack(j.d.state, e)) continue;
    if (full(j, permits.length)) break;
    const give = judgeEffect(j, e);
    if (give !== null) permits.push(give);
  }
  for (const give of permits) give();
}

/** Its permits ran out one after the other, and this one did too: another would end like them. */
export const leftUnused = (j: Judging, x: { readonly unused: number }, p: Permit | null): boolean => p !== null && p.expiresAt <= j.view.now && x.unused >= PERMITS_UNUSED_MAX - 1;
