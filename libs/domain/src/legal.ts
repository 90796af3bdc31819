/**
 * Whether an event may follow a state. The store's guard asks this for every event of every append; a service that has a bug, or that
 * somebody took over, cannot write what is not legal here.
 *
 * L1. Nothing is appended to a run that was not created; after its end only evidence, findings, seals and notes land.
 * L2. An effect moves only along EFFECT_MOVES, and only by its open attempt.
 * L3. An unresolved effect is settled only with evidence: an answer, a receipt, a query whose absence is final, an accepted finding.
 * L4. Nothing is dispatched while a boundary is unsealed, without a permit that stands, or twice under a contract that allows once.
 * L5. Reservations fit; what is returned at the end is what is idle.
 * L6. A change of the workspace follows the state that is there.
 *
 * Rows: RUN-7, EFF-2, EFF-4, EFF-5, EFF-7, EFF-10, BUD-2, SEAL-6, WSP-3.
 */
import { areAmounts, budgetHolds, DIMENSIONS, idle, isNothing, owed, plus, reserved, covers, settled, type Amounts, type Budget } from './budget.js';
import { allowedRecoveries, dispatchBy, EFFECT_MOVES, isUnresolved, lastAttempt, queryOf, sentBy, type Effect } from './effect.js';
import type { EventData, EventEnvelope, EventType } from './events.js';
import type { EffectId } from './ids.js';
import { FINDINGS_MAX, isDisproved, queued, unresolvedOf, WAITING_MAX, type RunState } from './run.js';
import { heldBack } from './needs.js';
import { sameRoute } from './tenant.js';
import { whoseMove } from './turn.js';

/** Why not, in words; null: legal. */
export type Illegal = string | null;

export const AFTER_END: ReadonlySet<EventType> = new Set<EventType>([
  'receipt.received', 'effect.receipt-recorded', 'effect.observed', 'effect.refused', 'effect.not-sent', 'effect.outcome-unknown', 'effect.reconciled', 'effect.looked', 'look.permitted',
  'generation.refused', 'generation.not-sent', 'generation.outcome-unknown',
  'source.observed', 'workspace.changed', 'workspace.conflicted', // they come with an outcome, in its append: refused, they would cost it
  'effect.duplicated', 'effect.contradicted', 'effect.needs-person', 'effect.recovery-denied', 'effect.finding-submitted', 'finding.accepted', 'finding.refused', 'budget.settled', 'budget.raise-refused', 'effect.migration-requested', 'effect.migrated', 'effect.migration-refused', 'source.reviewed', 'run.erasure-requested', 'content.erased', 'checkpoint.sealed', 'note.added', 'dead-letter.recorded', 'provider.disagreed',
]);
const STARTS: ReadonlySet<EventType> = new Set<EventType>(['effect.attempt-started', 'generation.started', 'effect.permitted', 'generation.permitted', 'context.compiled', 'effect.intended']);

type Check<T extends EventType> = (s: RunState, d: EventData[T], e: EventEnvelope) => Illegal;

const effectOf = (s: RunState, id: EffectId): Effect | string => (Object.hasOwn(s.effects, id) ? s.effects[id] : undefined) ?? `this run has no open effect ${id}`;
const openAttempt = (s: RunState, id: EffectId, attempt: string): Illegal => {
  const x = effectOf(s, id);
  if (typeof x === 'string') return x;
  const a = lastAttempt(x);
  return a?.attempt !== attempt || a.end !== 'open' ? `attempt ${attempt} of ${id} is not the open one` : null;
};
const openGeneration = (s: RunState, generation: string, attempt: string): Illegal =>
  s.generation?.generation !== generation || s.generation.stage !== 'started' || s.generation.attempt !== attempt ? `generation ${generation} has no open attempt ${attempt}` : null;

function attemptStart(s: RunState, d: EventData['effect.attempt-started'], e: EventEnvelope): Illegal {
  const x = effectOf(s, d.effect);
  if (typeof x === 'string') return x;
  if (s.boundary.length > 0) return 'a boundary is unsealed';
  if (heldBack(s, x)) return 'what was unknown when the run was resumed has not been looked at';
  if (x.permit === null || x.permit.permit !== d.permit) return `effect ${d.effect} has no permit ${d.permit}`;
  if (x.permit.subject !== x.subject) return 'the permit is for another intent';
  if (queued(s, x)) return `another effect holds the ${x.holds}`;
  if (d.attemptNumber !== x.attempts.length + 1) return `attempt number ${d.attemptNumber} does not follow ${x.attempts.length}`;
  // keeps L4 (EFF-4): whatever a permit says, a second send needs a contract that allows it
  const before = x.attempts.filter((a) => a.end !== 'not-sent');
  if (before.length > 0 && x.contract.kind === 'neither') return 'its contract is neither keyed nor queryable: it is never sent twice';
  if (before.length > 0 && x.contract.kind === 'queryable') return 'its contract allows looking, not sending again';
  // a permit may outlive what its contract allows: a key's life ends by the store's clock
  if (x.stage === 'unknown' && !allowedRecoveries(x, e.recordedAt).some((r) => r.startsWith('attempt-again'))) return 'its contract does not allow another attempt any more';
  if (x.stage === 'unknown' && d.dispatchBy > dispatchBy(x, Infinity, 0)) return 'it might be sent when its key is not relied on any more';
  const approval = x.permit.approval === null ? null : s.approvals[x.permit.approval];
  if (x.permit.approval !== null && (approval === undefined || approval === null || approval.subject !== x.subject || (approval.stage !== 'approved' && !(approval.stage === 'spent' && before.length > 0)))) return 'its approval does not stand';
  return null;
}

function reconciled(s: RunState, d: EventData['effect.reconciled'], e: EventEnvelope): Illegal {
  const x = effectOf(s, d.effect);
  if (typeof x === 'string') return x;
  if (x.erased && d.as !== 'happened') return 'its evidence was erased: nobody can tell that it did not happen';
  if (d.by === 'finding') return s.findings.some((f) => f.effect === d.effect && f.stage === 'accepted' && !f.applied && f.verdict === d.as) ? null : 'no accepted finding says so';
  if (d.evidence === null) return `reconciled by ${d.by} without evidence`;
  if (d.by !== 'query') return d.as === 'happened' ? null : `a ${d.by} shows what happened, not what did not`;
  const query = queryOf(x);
  if (query === undefined) return 'its contract has no query';
  if (d.as === 'happened') return null;
  const after = query.absenceFinalAfterMs;
  const last = lastAttempt(x);
  return after !== null && last !== undefined && e.recordedAt >= sentBy(last) + after ? null : 'absence is not final for this contract yet'; // keeps L3
}

const chargeable = (b: Budget, charged: Amounts): Illegal => (areAmounts(charged) && covers(owed(b), charged) ? null : 'more is charged than is owed');

const CHECKS: { readonly [T in EventType]?: Check<T> } = {
  'run.created': (_s, d) => (areAmounts(d.budget) ? null : 'a budget is whole numbers, zero or more'),
  'checkpoint.sealed': (s, d) => (s.boundary.length === 0 ? 'there is no unsealed boundary' : d.cut !== s.revision ? `the cut is ${d.cut}, the head is ${s.revision}` : d.previous !== (s.checkpoint?.checkpoint ?? null) ? 'the previous checkpoint is another' : null),
  'context.compiled': (s, d) => {
    if (whoseMove(s) !== 'compile') return 'it is not the model that is to move';
    const known = new Set(s.lineage?.items.flatMap((i) => (i.kind === 'output' ? i.continuations.map((c) => c.handle) : [])));
    return d.opensLineage ? (d.continuations.length === 0 ? null : 'a new lineage carries no continuation') : d.continuations.every((c) => known.has(c.handle)) && d.lineage === s.lineage?.lineage ? null : 'it names a continuation of another lineage';
  },
  'generation.permitted': (s, d) => (s.generation?.generation !== d.generation || s.generation.stage === 'started' ? `generation ${d.generation} does not wait for a decision` : d.subject !== s.generation.subject ? 'the permit is for another context' : d.reservation in s.budget.reservations ? null : 'nothing is reserved for it'),
  'generation.denied': (s, d) => (s.generation?.generation !== d.generation || s.generation.stage === 'started' ? `generation ${d.generation} does not wait for a decision` : null),
  'generation.started': (s, d) => {
    const g = s.generation;
    if (g?.generation !== d.generation || g.stage !== 'permitted') return `generation ${d.generation} is not permitted`;
    if (s.boundary.some((b) => b !== 'run-state')) return 'a boundary is unsealed';
    if (heldBack(s, null)) return 'what was unknown when the run was resumed has not been looked at';
    if (g.permit?.permit !== d.permit || g.permit.subject !== g.subject) return 'the permit is another';
    if (d.form !== g.form) return `the context was compiled as ${g.form}, not as ${d.form}`;
    return sameRoute(s.segmentRoute, g.route) ? null : 'a change of the decision-maker needs its transition first';
  },
  'generation.accepted': (s, d) => openGeneration(s, d.generation, d.attempt) ?? (new Set(d.calls.map((c) => c.call)).size === d.calls.length ? null : 'two calls share one id'),
  'generation.refused': (s, d) => openGeneration(s, d.generation, d.attempt),
  'generation.not-sent': (s, d) => openGeneration(s, d.generation, d.attempt),
  'generation.outcome-unknown': (s, d, e) => openGeneration(s, d.generation, d.attempt) ?? (d.cause === 'CLAIM_EXPIRED' && e.recordedAt < (s.generation?.startedAt ?? 0) + (s.generation?.leaseMs ?? 0) ? 'the claim has not run out' : null),
  'generation.blocked': (s, d) => (s.generation?.generation === d.generation && s.generation.stage !== 'started' ? null : `generation ${d.generation} is not waiting to start`),
  'segment.started': (s, d) => (d.segment === s.segment + 1 ? null : `segment ${d.segment} does not follow ${s.segment}`),
  'effect.intended': (s, d) => {
    const c = s.calls.find((x) => x.call === d.call);
    return c === undefined || c.generation !== d.generation ? `no open call ${d.call}` : c.effect !== null || c.refused !== null ? `call ${d.call} already has its intent` : c.tool !== d.tool ? 'the call asked for another tool' : d.effect in s.effects ? `effect ${d.effect} is there already` : null;
  },
  'call.refused': (s, d) => (s.calls.some((c) => c.call === d.call && c.effect === null && c.refused === null) ? null : `no open call ${d.call}`),
  'effect.permitted': (s, d) => {
    const x = effectOf(s, d.effect);
    if (typeof x === 'string') return x;
    if (d.subject !== x.subject) return 'the permit is for another intent';
    if (d.attemptNumber !== x.attempts.length + 1) return 'the attempt number does not follow';
    if (!(d.reservation in s.budget.reservations)) return 'nothing is reserved for it';
    return x.stage === 'unknown' && !allowedRecoveries(x, s.lastAt).some((r) => r.startsWith('attempt-again')) ? 'its contract does not allow another attempt' : null;
  },
  'effect.attempt-started': attemptStart,
  'effect.observed': (s, d) => openAttempt(s, d.effect, d.attempt),
  'effect.refused': (s, d) => openAttempt(s, d.effect, d.attempt),
  'effect.not-sent': (s, d) => openAttempt(s, d.effect, d.attempt),
  'effect.outcome-unknown': (s, d, e) => {
    const a = s.effects[d.effect] ? lastAttempt(s.effects[d.effect] as Effect) : undefined;
    return openAttempt(s, d.effect, d.attempt) ?? (d.cause === 'CLAIM_EXPIRED' && a !== undefined && e.recordedAt < a.startedAt + a.leaseMs ? 'the claim has not run out' : null);
  },
  'effect.reconciled': reconciled,
  'effect.contradicted': (s, d) => (!isDisproved(s, d.effect) ? `effect ${d.effect} was not settled as not having happened` : d.from !== 'finding' || s.findings.some((f) => f.effect === d.effect && f.stage === 'accepted' && !f.applied && f.verdict === 'happened') ? null : 'no accepted finding says so'),
  'effect.finding-submitted': (s) => { const waiting = s.findings.filter((f) => !f.applied).length; return waiting < FINDINGS_MAX ? null : `FINDINGS_FULL: ${waiting} findings wait for their judgement already, and none of them is dropped for another`; },
  'effect.looked': (s, d) => (s.effects[d.effect]?.lookPermit?.look === d.look ? null : 'this look is not permitted'),
  'look.permitted': (s, d) => (!Object.hasOwn(s.effects, d.effect) || queryOf(s.effects[d.effect] as Effect) === undefined ? 'its contract has no query' : null),
  'finding.accepted': (s, d) => (s.findings.some((f) => f.finding === d.finding && f.stage === 'submitted' && f.effect === d.effect && f.verdict === d.verdict) ? null : 'no such finding waits'),
  'finding.refused': (s, d) => (s.findings.some((f) => f.finding === d.finding && f.stage === 'submitted') ? null : 'no such finding waits'),
  'approval.decided': (s, d) => (s.approvals[d.approval]?.stage !== 'requested' ? `no approval ${d.approval} waits for a decision` : s.approvals[d.approval]?.subject !== d.subject ? 'the approval is for another intent' : null),
  'approval.revoked': (s, d) => (!Object.hasOwn(s.approvals, d.approval) ? `no approval ${d.approval}` : null),
  'budget.reserved': (s, d) => (!areAmounts(d.amounts) || !areAmounts(d.drawn) ? 'amounts are whole numbers, zero or more' : d.reservation in s.budget.reservations ? 'this reservation is there already' : covers(s.budget.granted, plus(s.budget.drawn, d.drawn)) && covers(plus(s.budget.drawn, d.drawn), plus(plus(s.budget.used, reserved(s.budget)), d.amounts)) ? null : 'the budget does not cover it'), // keeps L5
  'budget.settled': (s, d) => {
    if (!(d.reservation in s.budget.reservations) || !areAmounts(d.used)) return `no reservation ${d.reservation}`;
    return d.charged === undefined ? null : s.status !== 'ended' ? 'while a run goes on, it draws what it needs' : chargeable(settled(s.budget, d.reservation, d.used), d.charged);
  },
  'budget.raise-requested': (s, d) => (s.raises.length >= WAITING_MAX ? `${WAITING_MAX} raises wait already` : !areAmounts(d.amounts) || (isNothing(d.amounts) && d.wallMs === 0) ? 'a raise is whole numbers, and more than nothing' : areAmounts(plus(s.budget.granted, d.amounts)) ? null : 'the budget would be larger than can be counted'),
  'budget.raised': (s, d) => { const r = s.raises.find((x) => x.raise === d.raise); return r === undefined ? `no raise ${d.raise} waits` : r.wallMs === d.wallMs && DIMENSIONS.every((k) => r.amounts[k] === d.amounts[k]) ? null : 'it is not the raise that was asked for'; },
  'effect.migration-requested': (s) => (s.migrations.length < WAITING_MAX ? null : `${WAITING_MAX} migrations wait already`),
  'effect.migrated': (s, d) => (s.migrations.some((m) => m.migration === d.migration && m.effect === d.effect && m.tool === d.tool) ? null : 'no such migration waits'),
  'effect.migration-refused': (s, d) => (s.migrations.some((m) => m.migration === d.migration) ? null : 'no such migration waits'),
  'workspace.changed': (s, d) => (d.previous === (s.workspace?.tree.commitment ?? null) ? null : 'it follows another state of the workspace'), // keeps L6
  'source.observed': (s, d) => (Object.hasOwn(s.effects, d.effect) ? null : `this run has no open effect ${d.effect}`),
  'source.reviewed': (s, d) => (s.sources.some((x) => x.source === d.source) ? null : `this run has no source ${d.source}, or a newer observation took its place`),
  'run.erasure-requested': (s) => (s.status === 'ended' ? (s.erasure === null ? null : 'its erasure was asked for already') : 'the run has not ended: end it first, then its content can be erased'),
  'content.erased': (s, d) => { const open = unresolvedOf(s).map((e) => e.effect); return s.erasure === null ? 'nobody asked for it' : open.length === d.unresolved.length && open.every((e) => d.unresolved.includes(e)) ? null : 'it must name what is unresolved'; },
  'run.ended': (s, d) => (d.withUnknowns !== unresolvedOf(s).length > 0 ? 'it must say whether unresolved effects remain' : !DIMENSIONS.every((x) => d.returned[x] === Math.max(0, idle(s.budget)[x])) ? 'what is returned is not what is idle' : d.charged === undefined ? null : chargeable(s.budget, d.charged)),
  'run.resumed': (s) => (s.status === 'paused' || s.blocked !== null || s.requests.length > 0 ? null : 'the run is not paused'),
  'run.pause-requested': (s) => (s.status === 'paused' ? 'the run is paused already' : null),
};

/** Null if `e` may follow `s`. `s` is the state right before `e`, with the append's earlier events folded in. */
export function illegal(s: RunState, e: EventEnvelope): Illegal {
  const type = e.type;
  if (type === 'run.created') { if (s.status !== 'new') return 'the run exists already'; }
  else if (s.status === 'new') return 'the run does not exist'; // keeps L1
  if (s.status === 'ended' && !AFTER_END.has(type)) return `the run has ended; ${type} can no longer land`; // keeps L1
  if (s.status !== 'active' && STARTS.has(type)) return `the run is ${s.status}`;
  const m = EFFECT_MOVES[type];
  if (m !== undefined) {
    const x = effectOf(s, (e.data as { effect: EffectId }).effect);
    // a settled effect leaves the state; a receipt that comes later is evidence, and must not wait for ever
    if (typeof x === 'string') return afterLeaving(s, e) ? checked(s, e) : x;
    if (!m.from.includes(x.stage)) return `an effect that is ${x.stage} cannot take ${type}`; // keeps L2
  }
  return checked(s, e);
}
const checked = (s: RunState, e: EventEnvelope): Illegal => (CHECKS[e.type] as Check<EventType> | undefined)?.(s, e.data as never, e) ?? null;

/** Evidence about an effect that has left the state: a receipt that was handed in, and whatever contradicts that it did not happen. */
function afterLeaving(s: RunState, e: EventEnvelope): boolean {
  if (e.type === 'effect.receipt-recorded') return isDisproved(s, e.data.effect) || s.receiptsPending.some((r) => r.effect === e.data.effect && r.receipt.commitment === e.data.receipt.commitment);
  return (e.type === 'effect.finding-submitted' || e.type === 'finding.accepted') && e.data.verdict === 'happened' && isDisproved(s, e.data.effect);
}

/** The invariants that no sequence of legal events may break; the guard checks them on what it is about to store. */
export function broken(before: RunState, after: RunState): Illegal {
  if (!budgetHolds(after.budget)) return 'the budget would be overspent';
  for (const e of Object.values(before.effects)) if (isUnresolved(e) && after.effects[e.effect] === undefined) return `unresolved effect ${e.effect} would be forgotten`;
  return null;
}
