/**
 * What the effect reconciler decides: intents from accepted calls, which attempts to start, what an outcome means, when a person is needed.
 *
 * R1. An outcome that came after the first byte and is not an answer is unknown, never failed.
 * R2. Evidence is appended beside what was known; contradicting evidence is kept and named.
 * R3. What a call leaves in the workspace follows the state that it began at. Where the run has gone on from there, it is a conflict, never a replacement.
 *
 * Rows: EFF-1, EFF-2, EFF-3, EFF-4, EFF-5, EFF-9, EFF-10, TOOL-1, WSP-3.
 */
import { clip, type ContentRef } from './content.js';
import { isConsequential } from './contract.js';
import { draftOn } from './draft.js';
import { EFFECT_MOVES, lastAttempt, queryOf, sentBy, type Effect } from './effect.js';
import { fact, type Fact, type WorkspaceRef } from './events.js';
import type { AttemptId, EffectId, StoreTimeMs } from './ids.js';
import type { Json } from './json.js';
import { heldBack, ownRecoveries } from './needs.js';
import { permitStale } from './permit.js';
import { isDisproved, queued, settledAsNot, type OpenCall, type RunState } from './run.js';
import { offers, toolNamed, type Registry, type ToolMapping } from './tool.js';

export type Validated = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly issues: string };
export type PlannedCall =
  | { readonly kind: 'refused'; readonly call: OpenCall; readonly code: 'REGISTRY_UNAVAILABLE' | 'UNKNOWN_TOOL' | 'TOOL_NOT_OFFERED' | 'ARGUMENTS_NOT_JSON' | 'ARGUMENTS_TOO_LARGE' | 'ARGUMENTS_INVALID'; readonly reason: string }
  | { readonly kind: 'intent'; readonly call: OpenCall; readonly tool: ToolMapping; readonly args: Json };

/** Plans every call of the last output that has no intent yet. Without a registry each is refused, so that nobody waits. `argsOf` gives the parsed arguments, or undefined where they were not JSON. */
export function planCalls(s: RunState, registry: Registry | null, argsOf: (c: OpenCall) => Json | undefined, validate: (t: ToolMapping, args: Json) => Validated): readonly PlannedCall[] {
  return s.calls.filter((c) => c.effect === null && c.refused === null).map((call): PlannedCall => {
    if (registry === null) return { kind: 'refused', call, code: 'REGISTRY_UNAVAILABLE', reason: 'no tool registry is published' };
    const tool = toolNamed(registry, call.tool);
    if (tool === undefined) return { kind: 'refused', call, code: 'UNKNOWN_TOOL', reason: 'no tool of this name is registered, or it was removed' };
    if (!offers(s, tool)) return { kind: 'refused', call, code: 'TOOL_NOT_OFFERED', reason: 'this run does not offer the tool' };
    const args = call.args === null ? undefined : argsOf(call);
    if (args === undefined) return { kind: 'refused', call, code: 'ARGUMENTS_NOT_JSON', reason: 'the arguments are not valid JSON' };
    if (call.args !== null && call.args.bytes > tool.argumentBytesMax) return { kind: 'refused', call, code: 'ARGUMENTS_TOO_LARGE', reason: `the arguments have ${call.args.bytes} bytes; the tool takes at most ${tool.argumentBytesMax}` };
    const v = validate(tool, args);
    if (!v.ok) return { kind: 'refused', call, code: 'ARGUMENTS_INVALID', reason: clip(v.issues, 500) };
    return { kind: 'intent', call, tool, args: v.value };
  });
}

/** Effects whose permit lets an attempt start now, of those that hold the same only the first. The store checks the rest in the attempt's own transaction. */
export const startable = (s: RunState, now: StoreTimeMs): readonly Effect[] =>
  s.status !== 'active' || s.boundary.length > 0 ? [] : Object.values(s.effects).filter((e) => e.permit !== null && (e.stage === 'permitted' || e.stage === 'unknown') && !permitStale(s, e.permit) && e.permit.expiresAt > now && !queued(s, e) && !heldBack(s, e));

export type Outcome =
  | { readonly kind: 'observed'; readonly ok: boolean; readonly text: ContentRef; readonly receipt: ContentRef | null }
  | { readonly kind: 'refused'; readonly cause: string; readonly text: ContentRef }
  | { readonly kind: 'not-sent'; readonly cause: string }
  | { readonly kind: 'unknown'; readonly cause: string };

/** A cause may quote what a tool printed: whatever it is, it must not cost the outcome that it is told with. */
const told = (cause: string): string => clip(cause, 1000);

const personFacts = (s: RunState, facts: readonly Fact[], effect: EffectId, now: StoreTimeMs): readonly Fact[] => {
  const d = draftOn(s, 'effect-reconciler', now);
  for (const f of facts) d.add(f.type, f.data as never);
  const e = d.state.effects[effect];
  const receipt = e?.stage === 'unknown' || e?.stage === 'refused' ? e.receipts.at(-1) : undefined;
  // a receipt that came while the attempt was in flight tells what its lost reply would have told, and contradicts a refusal (R2)
  if (receipt !== undefined) return [...facts, ...(e?.stage === 'refused' ? [fact('effect.contradicted', { effect, from: 'receipt', evidence: receipt })] : []), fact('effect.reconciled', { effect, as: 'happened', by: 'receipt', evidence: receipt, text: null })];
  const why = e === undefined ? null : personNeeded(d.state, e, now);
  return why === null ? facts : [...facts, fact('effect.needs-person', { effect, reason: why })];
};

/** Why the system cannot settle an unknown effect by itself; null: it still can. */
export function personNeeded(s: RunState, e: Effect, now: StoreTimeMs): string | null {
  if (e.stage !== 'unknown' || e.needsPerson !== null) return null;
  const own = ownRecoveries(s, e, now);
  if (own.look || own.again || own.later) return null;
  return `its contract (${e.contract.kind}) lets the system neither ask nor repeat: only a receipt or a person can tell`;
}

/** What the owner of an attempt records when it has an outcome. If the attempt was declared unknown meanwhile, the late word is evidence (R2). */
export function recordOutcome(s: RunState, effect: EffectId, attempt: AttemptId, o: Outcome, now: StoreTimeMs): readonly Fact[] {
  const e = s.effects[effect];
  const a = e === undefined ? undefined : e.attempts.find((x) => x.attempt === attempt);
  if (e === undefined && o.kind === 'observed' && isDisproved(s, effect)) return contradiction(s, effect, o.receipt ?? o.text, 'late-reply');
  if (e === undefined || a === undefined) return [];
  if (a.end === 'open' && lastAttempt(e)?.attempt === attempt && e.stage === 'in-flight') {
    switch (o.kind) {
      case 'observed': return [fact('effect.observed', { effect, attempt, ok: o.ok, text: o.text, receipt: o.receipt })];
      // after an earlier attempt of unknown outcome these leave the effect unknown (E1)
      case 'refused': return personFacts(s, [fact('effect.refused', { effect, attempt, cause: told(o.cause), text: o.text })], effect, now);
      // whoever handed in a receipt was reached, whatever the connector says of the bytes
      case 'not-sent': return e.receipts.length > 0 ? recordOutcome(s, effect, attempt, { kind: 'unknown', cause: `RECEIPT_FOR_NOT_SENT: ${o.cause}` }, now) : personFacts(s, [fact('effect.not-sent', { effect, attempt, cause: told(o.cause) })], effect, now);
      case 'unknown': return personFacts(s, [fact('effect.outcome-unknown', { effect, attempt, cause: told(o.cause) })], effect, now); // keeps R1
    }
  }
  if (o.kind !== 'observed') return [];
  const evidence = o.receipt ?? o.text;
  if (e.stage === 'unknown') return [fact('effect.receipt-recorded', { effect, receipt: evidence, from: 'late-reply' }), fact('effect.reconciled', { effect, as: 'happened', by: 'late-reply', evidence, text: o.text })];
  if (settledAsNot(e)) return contradiction(s, effect, evidence, 'late-reply');
  return e.receipts.some((r) => r.commitment === evidence.commitment) ? [] : [fact('effect.receipt-recorded', { effect, receipt: evidence, from: 'late-reply' })];
}

/**
 * An outcome's facts with what the call left in the workspace, begun at `from` (keeps R3). Only the outcome that settles the effect moves the workspace. Of a late
 * one that the run did not wait for nothing is taken over: what was contained is attempted again on the state as it is now, anything else happened all the same.
 */
export function withWorkspace(s: RunState, facts: readonly Fact[], effect: EffectId, from: WorkspaceRef | null, left: { readonly workspace: WorkspaceRef; readonly summary: string }): readonly Fact[] {
  const late = !facts.some((f) => f.type === 'effect.observed');
  if (late && !facts.some((f) => f.type === 'effect.reconciled')) return facts;
  const [began, now] = [from?.tree.commitment ?? null, s.workspace?.tree.commitment ?? null];
  const busy = late && Object.values(s.effects).some((x) => x.effect !== effect && x.holds === 'workspace' && x.stage === 'in-flight');
  if (began === now && !busy) return [...facts, fact('workspace.changed', { effect, workspace: left.workspace, previous: now, summary: left.summary })];
  const conflict = fact('workspace.conflicted', { effect, found: clip(JSON.stringify({ code: 'WORKSPACE_MOVED_ON', began, now, left: left.workspace.tree.commitment, summary: left.summary }), 2000) });
  const e = s.effects[effect];
  return late && e !== undefined && !isConsequential(e.contract) ? [conflict] : [...facts, conflict];
}

/** Evidence that an effect happened although it was settled that it did not: kept, named, counted, and put before a person (EFF-9). */
const contradiction = (s: RunState, effect: EffectId, evidence: ContentRef, from: 'receipt' | 'late-reply'): readonly Fact[] => [
  fact('effect.receipt-recorded', { effect, receipt: evidence, from }), fact('effect.contradicted', { effect, from, evidence }),
  ...(s.effects[effect] === undefined ? [] : [fact('effect.reconciled', { effect, as: 'happened', by: 'receipt', evidence, text: null })]),
];

/** At most so many receipts in one append. */
const RECEIPTS_AT_ONCE = 16;
/** Receipts that tools delivered by callback. One for an effect that was never sent, or that has left the state, is evidence all the same. */
export function takeReceipts(s: RunState): readonly Fact[] {
  const facts: Fact[] = [];
  const seen = new Set<EffectId>();
  for (const r of s.receiptsPending.slice(0, RECEIPTS_AT_ONCE)) {
    const e = s.effects[r.effect];
    if (isDisproved(s, r.effect) && !seen.has(r.effect)) facts.push(...contradiction(s, r.effect, r.receipt, 'receipt').map((f) => (f.type === 'effect.receipt-recorded' ? fact(f.type, { ...f.data, from: r.from }) : f)));
    else facts.push(fact('effect.receipt-recorded', { effect: r.effect, receipt: r.receipt, from: r.from }));
    if (e?.stage === 'unknown' && !seen.has(r.effect)) facts.push(fact('effect.reconciled', { effect: r.effect, as: 'happened', by: 'receipt', evidence: r.receipt, text: null }));
    seen.add(r.effect);
  }
  return facts;
}

/** One finding settles an effect; whatever else was accepted for it is answered with it. */
export function applyFindings(s: RunState): readonly Fact[] {
  const first = s.findings.filter((f, at) => f.stage === 'accepted' && !f.applied && s.findings.findIndex((x) => x.effect === f.effect && x.stage === 'accepted' && !x.applied) === at);
  return first.slice(0, RECEIPTS_AT_ONCE).flatMap((f) => [
    ...(f.verdict === 'happened' && isDisproved(s, f.effect) ? [fact('effect.contradicted', { effect: f.effect, from: 'finding', evidence: f.evidence })] : []),
    ...(s.effects[f.effect] === undefined ? [] : [fact('effect.reconciled', { effect: f.effect, as: f.verdict, by: 'finding', evidence: f.evidence, text: null })]),
  ]);
}

/** So many facts about claims in one append, and at most one more: an append takes 64, and one that was refused would leave all of them in flight for ever. */
const EXPIRED_AT_ONCE = 48;
/** Claims of others that ran out, and unknown effects that nobody but a person can settle. What is left is due still. */
export function expireClaims(s: RunState, mine: ReadonlySet<AttemptId>, now: StoreTimeMs): readonly Fact[] {
  const facts: Fact[] = [];
  for (const e of Object.values(s.effects)) {
    if (facts.length >= EXPIRED_AT_ONCE) break;
    const a = lastAttempt(e);
    if (e.stage === 'in-flight' && a !== undefined && !mine.has(a.attempt) && now >= a.startedAt + a.leaseMs) facts.push(...personFacts(s, [fact('effect.outcome-unknown', { effect: e.effect, attempt: a.attempt, cause: 'CLAIM_EXPIRED' })], e.effect, now));
    else { const why = personNeeded(s, e, now); if (why !== null) facts.push(fact('effect.needs-person', { effect: e.effect, reason: why })); }
  }
  return facts;
}

export type Look = { readonly kind: 'happened'; readonly evidence: ContentRef; readonly text: ContentRef | null; readonly count: number } | { readonly kind: 'not-found'; readonly evidence: ContentRef } | { readonly kind: 'cannot-tell'; readonly cause: string };

/** What an answer to a permitted look records. That it happened is evidence, whatever became of the effect or its permit while the answer was under way (R2). */
export function recordLook(s: RunState, effect: EffectId, l: Look, now: StoreTimeMs): readonly Fact[] {
  const e = s.effects[effect];
  if (l.kind === 'happened') return seenThere(s, effect, l);
  const p = e?.lookPermit ?? null;
  if (e === undefined || p === null || e.stage !== 'unknown') return [];
  const after = queryOf(e)?.absenceFinalAfterMs ?? null;
  const a = lastAttempt(e);
  const looked = fact('effect.looked', { effect, look: p.look, answer: l.kind, cause: l.kind === 'cannot-tell' ? told(l.cause) : '' });
  if (l.kind === 'not-found' && after !== null && a !== undefined && now >= sentBy(a) + after) return [looked, fact('effect.reconciled', { effect, as: 'did-not-happen', by: 'query', evidence: l.evidence, text: null })];
  return personFacts(s, [looked], effect, now);
}

function seenThere(s: RunState, effect: EffectId, l: Extract<Look, { kind: 'happened' }>): readonly Fact[] {
  const e = s.effects[effect];
  const twice = e !== undefined && l.count > Math.max(1, e.duplicated) && EFFECT_MOVES['effect.duplicated']?.from.includes(e.stage) === true ? [fact('effect.duplicated', { effect, count: l.count, evidence: l.evidence })] : [];
  if (e?.stage === 'unknown') return [fact('effect.reconciled', { effect, as: 'happened', by: 'query', evidence: l.evidence, text: l.text }), ...twice];
  return isDisproved(s, effect) ? [...contradiction(s, effect, l.evidence, 'late-reply'), ...twice] : twice;
}
