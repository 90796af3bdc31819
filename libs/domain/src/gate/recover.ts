/**
 * What the system may do by itself about an effect of unknown outcome: ask the world, or attempt again where the contract lets it. What cannot be tried is said, so
 * that a person knows.
 *
 * Looking is a permit class of its own, under the effect's pinned contract: a removed tool is still looked at, and never called (POL-5, TOOL-3, TOOL-5).
 *
 * Rows: EFF-4, EFF-5, POL-5, TOOL-3, TOOL-5.
 */
import { clip } from '../content.js';
import type { Effect } from '../effect.js';
import type { RefusedBecause } from '../events.js';
import { PERMITS_UNUSED } from '../fold-effects.js';
import { heldBack, nextLookAt, ownRecoveries, PERMITS_UNUSED_MAX } from '../needs.js';
import { unresolvedOf } from '../run.js';
import { acting, question, refusedByRules, toolResource } from './asking.js';
import { approvalFor, leftUnused, mapped, objections, permitEffect } from './calls.js';
import { denied, full, groundsOf, no, permitFor, unusable, type Judging } from './judging.js';

export function recover(j: Judging): void {
  const { now } = j.view;
  for (const e of unresolvedOf(j.d.state)) {
    if (full(j)) return;
    if (e.stage !== 'unknown' || e.needsPerson !== null || e.erased || (e.permit !== null && !unusable(j, e.permit)) || (e.lookPermit !== null && e.lookPermit.expiresAt > now)) continue;
    if (j.d.state.findings.some((f) => f.effect === e.effect && f.stage === 'accepted' && !f.applied)) continue; // it is settled already, but for the recording
    if (leftUnused(j, e, e.lookPermit ?? e.permit)) { personFor(j, e, no(PERMITS_UNUSED, `${PERMITS_UNUSED_MAX} permits in a row ran out before anybody used them: resume the run to have it tried again, or say what happened`)); continue; }
    const all = ownRecoveries(j.d.state, e, now);
    const own = { ...all, look: all.look && e.looks < j.policy.looksMax };
    if (own.look && (e.looks === 0 || !own.again)) judgeLook(j, e);
    else if (own.again) { if (!heldBack(j.d.state, e)) judgeRepetition(j, e); }
    else if (!own.later) personFor(j, e, nothingLeft(j, e, all.look));
  }
}
const personFor = (j: Judging, e: Effect, because: RefusedBecause, by: readonly string[] = []): void => j.d.add('effect.recovery-denied', { effect: e.effect, ...denied(j, because, groundsOf(j, by)) });

function nothingLeft(j: Judging, e: Effect, looked: boolean): RefusedBecause {
  if (e.migrated === null && mapped(j, e)?.code === 'TOOL_NOT_MAPPED') return migrationNeeded(e, looked ? `${e.looks} looks gave no settling answer` : 'its contract lets nobody ask');
  return no('NO_RECOVERY_LEFT', looked ? `${e.looks} looks gave no settling answer: only a receipt or a person can tell` : `its contract (${e.contract.kind}) leaves the system nothing to try: only a receipt or a person can tell`);
}
/** keeps TOOL-3: what the contract meant is kept; as what it is looked at from now on, a person says. */
const migrationNeeded = (e: Effect, why: string): RefusedBecause =>
  no('MIGRATION_NEEDED', `${why}, and ${e.tool} is no longer the tool that it was called as: say what happened, or migrate the effect to the tool that can be asked about it now`, { pinned: { ...e.mapping } });

function judgeLook(j: Judging, e: Effect): void {
  if (nextLookAt(e) > j.view.now) return;
  const who = acting(j, null);
  const r = refusedByRules(j, question(j, 'look', 'code' in who ? { kind: 'service', id: 'policy-gate', roles: [] } : who.principal, toolResource(e), { attempts: e.attempts.length }));
  if (r.because !== null) return personFor(j, e, r.because, r.by);
  j.d.add('look.permitted', { effect: e.effect, look: e.looks + 1, ...permitFor(j, e.subject, groundsOf(j, r.by)) });
}

/** A repetition is judged like any attempt, but its denial leaves the effect unknown. */
function judgeRepetition(j: Judging, e: Effect): void {
  if (mapped(j, e)?.code === 'TOOL_NOT_MAPPED') return personFor(j, e, migrationNeeded(e, 'it cannot be attempted again'));
  const o = objections(j, e);
  if ('deny' in o) return j.d.add('effect.recovery-denied', { effect: e.effect, ...denied(j, o.deny, o.grounds) });
  const approval = o.ask.length === 0 ? null : approvalFor(j, e, o.beside);
  if (o.ask.length > 0 && approval === null) return j.d.add('effect.recovery-denied', { effect: e.effect, ...denied(j, no('REPETITION_NEEDS_PERSON', clip(o.ask.join('; '), 1000)), o.grounds) });
  permitEffect(j, e, approval, o)?.();
}
