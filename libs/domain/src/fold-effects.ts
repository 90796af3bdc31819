/** The part of the fold that moves effects, calls, approvals and findings. Total: an event that fits nothing changes nothing but the revision. */
import type { EventData, EventEnvelope, EventType, Permit } from './events.js';
import { isConsequential } from './contract.js';
import { EFFECT_MOVES, type Attempt, type Effect, type Stage } from './effect.js';
import { NOTHING } from './budget.js';
import type { EffectId } from './ids.js';
import { moreConfidential } from './tool.js';
import { CONTRADICTIONS_MAX, DENIALS_MAX, HISTORY_ITEMS_MAX, SOURCES_MAX, VALIDATIONS_MAX, type Denial, type HistoryItem, type RunState } from './run.js';

export type Folder<T extends EventType> = (s: RunState, d: EventData[T], e: EventEnvelope) => RunState;
export type Folders = { readonly [T in EventType]?: Folder<T> };

export function remember(s: RunState, item: HistoryItem): RunState {
  const history = [...s.history, item];
  const over = Math.max(0, history.length - HISTORY_ITEMS_MAX);
  return { ...s, history: history.slice(over), historyOmitted: s.historyOmitted + over };
}

export function deny(s: RunState, d: Denial): RunState {
  const denials = [...s.denials, d];
  const over = Math.max(0, denials.length - DENIALS_MAX);
  return { ...s, denials: denials.slice(over), denialsOmitted: s.denialsOmitted + over };
}

export const tally = (s: RunState, segment: number, add: Partial<Record<'generations' | 'effects' | 'denials' | 'unknowns' | 'inputTokens' | 'outputTokens', number>>): RunState => ({
  ...s,
  segments: s.segments.map((t) => (t.segment !== segment ? t : {
    ...t, generations: t.generations + (add.generations ?? 0), effects: t.effects + (add.effects ?? 0), denials: t.denials + (add.denials ?? 0),
    unknowns: t.unknowns + (add.unknowns ?? 0), inputTokens: t.inputTokens + (add.inputTokens ?? 0), outputTokens: t.outputTokens + (add.outputTokens ?? 0),
  })),
});

/** Moves an effect by the table and applies `change`; an unknown effect or an illegal stage changes nothing (the guard refuses it before). */
export function move(s: RunState, type: EventType, id: EffectId, change: (e: Effect) => Partial<Effect>): RunState {
  const e = s.effects[id];
  const m = EFFECT_MOVES[type];
  if (e === undefined || m === undefined || !m.from.includes(e.stage)) return s;
  // keeps E2: a permit for an unresolved effect leaves it unresolved
  const to: Stage = m.to === 'same' || (type === 'effect.permitted' && e.stage === 'unknown') ? e.stage : m.to;
  return { ...s, effects: { ...s.effects, [id]: { ...e, stage: to, ...change(e) } } };
}

const NOT_TAKEN_OVER = 'WORKSPACE_CONFLICT: it answered, but the workspace had moved on since it began, and nothing of what it wrote there was taken over. Look at the files as they are now before you go on.';
export const CONTRADICTED = 'EFFECT_CONTRADICTED';
export const EVIDENCE_ERASED = 'EVIDENCE_ERASED';
/** Begins the reason of an effect that waits for a person because nobody used its permits. */
export const PERMITS_UNUSED = 'PERMITS_UNUSED';
/** How many permits in a row ran out unused, when another one is given. */
export const unusedAfter = (unused: number, was: Permit | null, e: EventEnvelope): number => (was !== null && was.expiresAt <= e.recordedAt ? unused + 1 : unused);

const endAttempt = (e: Effect, end: Attempt['end']): readonly Attempt[] => e.attempts.map((a, i) => (i === e.attempts.length - 1 && a.end === 'open' ? { ...a, end } : a));
/** What never left spends no approval (APP-3); what an earlier attempt spent stays spent, and what was revoked meanwhile stays revoked. */
function unspent(s: RunState, id: EffectId): RunState {
  const e = s.effects[id];
  const a = s.approvals[e?.permit?.approval ?? ''];
  return a?.stage !== 'spent' || e?.attempts.slice(0, -1).some((x) => x.end !== 'not-sent') ? s : { ...s, approvals: { ...s.approvals, [a.approval]: { ...a, stage: 'approved' } } };
}
const mayHaveHappenedBefore = (e: Effect | undefined): boolean => e !== undefined && isConsequential(e.contract) && e.attempts.slice(0, -1).some((a) => a.end === 'unknown');
/** The last attempt has its end; the effect is as unknown as it was before it, and keeps its reservation. */
const stillUnknown = (s: RunState, type: EventType, id: EffectId, end: Attempt['end']): RunState => move(s, type, id, (x) => ({ stage: 'unknown', attempts: endAttempt(x, end), permit: null }));
const result = (s: RunState, id: EffectId, revision: number, outcome: string): RunState => {
  const e = s.effects[id];
  return e === undefined ? s : remember(s, { kind: 'result', revision, call: e.call, tool: e.tool, outcome, text: e.result?.text ?? null, segment: e.segment });
};
/** What came in is in the run from now on, and in what its models are told. */
const confided = (s: RunState, id: EffectId): RunState => ({ ...s, dataClass: moreConfidential(s.dataClass, s.effects[id]?.dataClass ?? 'public') });
/** A command's result says something about the tree that it started from (WSP-1). */
function validated(s: RunState, d: EventData['effect.observed'], e: EventEnvelope): RunState {
  const x = s.effects[d.effect];
  if (x?.command !== true) return s;
  return { ...s, validations: [...s.validations, { effect: d.effect, tool: x.tool, tree: s.workspace?.tree.commitment ?? null, ok: d.ok, text: d.text, revision: e.revision }].slice(-VALIDATIONS_MAX) };
}
/** The newest observation of an identity stands for it; what is required and not to be had goes last. */
function sourced(s: RunState, d: EventData['source.observed']): RunState {
  const { scope: _scope, ...rest } = d;
  const all = [...s.sources.filter((x) => x.identity !== d.identity), { ...rest, tool: s.effects[d.effect]?.tool ?? '', review: 'unreviewed' as const, reviewedBy: null }];
  const over = all.length - SOURCES_MAX;
  if (over <= 0) return { ...s, sources: all };
  const drop = all.find((x) => !x.required || x.gap === null) ?? all[0];
  return { ...s, sources: all.filter((x) => x !== drop), sourcesOmitted: s.sourcesOmitted + 1 };
}
const settleReservation = (s: RunState, id: EffectId, spent: boolean): RunState => {
  const e = s.effects[id];
  const r = e?.reservation ?? null;
  if (e === undefined || r === null || !(r in s.budget.reservations)) return s;
  return { ...s, settle: [...s.settle.filter((x) => x.reservation !== r), { reservation: r, used: spent ? e.amounts : NOTHING }], effects: { ...s.effects, [id]: { ...e, reservation: null } } };
};

/** One question about an effect at a time: a new one takes the place of one that waits. */
const unasked = (s: RunState, id: EffectId): RunState['approvals'] => Object.fromEntries(Object.entries(s.approvals).filter(([, a]) => a.effect !== id || a.stage !== 'requested'));

export const EFFECT_FOLD: Folders = {
  'effect.intended': (s, d, e) => {
    const effect: Effect = { ...d, segment: s.segment, stage: 'intended', intendedAt: e.revision, permit: null, reservation: null, attempts: [], receipts: [], result: null, lookPermit: null, looks: 0, lastLookAt: null, needsPerson: null, migrated: null, erased: false, unused: 0, duplicated: 0 };
    return tally({ ...s, effects: { ...s.effects, [d.effect]: effect }, calls: s.calls.map((c) => (c.call === d.call ? { ...c, effect: d.effect } : c)) }, s.segment, { effects: 1 });
  },
  'call.refused': (s, d, e) =>
    remember({ ...s, calls: s.calls.map((c) => (c.call === d.call ? { ...c, refused: { code: d.code, reason: d.reason } } : c)) },
      { kind: 'result', revision: e.revision, call: d.call, tool: d.tool, outcome: d.code, text: null, segment: s.segment }),
  'approval.requested': (s, d) => move({ ...s, approvals: { ...unasked(s, d.effect), [d.approval]: { approval: d.approval, effect: d.effect, subject: d.subject, stage: 'requested', by: null, beside: d.beside, expiresAt: d.expiresAt } } }, 'approval.requested', d.effect, () => ({ permit: null })),
  'approval.decided': (s, d, e) => {
    const a = s.approvals[d.approval];
    return a?.stage !== 'requested' ? s : { ...s, approvals: { ...s.approvals, [d.approval]: { ...a, stage: d.decision, by: e.actor } } };
  },
  'approval.revoked': (s, d) => {
    const a = s.approvals[d.approval];
    return a === undefined ? s : { ...s, approvals: { ...s.approvals, [d.approval]: { ...a, stage: 'revoked' } } };
  },
  'effect.permitted': (s, d, e) => move(s, 'effect.permitted', d.effect, (x) => ({ permit: d, reservation: d.reservation, needsPerson: null, lookPermit: null, unused: unusedAfter(x.unused, x.permit ?? x.lookPermit, e) })),
  'effect.denied': (s, d, e) => {
    const moved = move(s, 'effect.denied', d.effect, () => ({ permit: null, result: { ok: false, text: null, words: `${d.code}: ${d.reason}` } }));
    return settleReservation(tally(result(deny(moved, { revision: e.revision, of: d.effect, code: d.code, reason: d.reason }), d.effect, e.revision, 'denied'), s.segment, { denials: 1 }), d.effect, false);
  },
  'effect.withdrawn': (s, d, e) => settleReservation(result(move(s, 'effect.withdrawn', d.effect, () => ({ permit: null, result: { ok: false, text: null, words: `withdrawn: ${d.reason}` } })), d.effect, e.revision, 'withdrawn'), d.effect, false),
  'effect.attempt-started': (s, d, e) => {
    const at = s.effects[d.effect];
    const approval = at?.permit?.approval ?? null;
    const approvals = approval === null || s.approvals[approval] === undefined ? s.approvals : { ...s.approvals, [approval]: { ...s.approvals[approval], stage: 'spent' as const } };
    return move({ ...s, approvals }, 'effect.attempt-started', d.effect, (x) => ({ attempts: [...x.attempts, { attempt: d.attempt, owner: d.owner, startedAt: e.recordedAt, leaseMs: d.leaseMs, end: 'open' }], lookPermit: null, unused: 0 }));
  },
  'effect.observed': (s, d, e) => settleReservation(validated(confided(result(move(s, 'effect.observed', d.effect, (x) => ({ attempts: endAttempt(x, 'observed'), receipts: d.receipt === null ? x.receipts : [...x.receipts, d.receipt], result: { ok: d.ok, text: d.text, words: 'observed' } })), d.effect, e.revision, d.ok ? 'observed' : 'observed-failure'), d.effect), d, e), d.effect, true),
  // keeps E1: what an earlier attempt may have done is not undone by a later one that was refused or did not leave
  'effect.refused': (s, d, e) => (mayHaveHappenedBefore(s.effects[d.effect]) ? stillUnknown(s, 'effect.refused', d.effect, 'refused') : settleReservation(result(move(s, 'effect.refused', d.effect, (x) => ({ attempts: endAttempt(x, 'refused'), result: { ok: false, text: d.text, words: `refused: ${d.cause}` } })), d.effect, e.revision, 'refused'), d.effect, true)),
  'effect.not-sent': (s, d) => (mayHaveHappenedBefore(s.effects[d.effect]) ? stillUnknown(s, 'effect.not-sent', d.effect, 'not-sent')
    // what an earlier attempt of unknown outcome may have cost is not given back (BUD-3)
    : settleReservation(move(unspent(s, d.effect), 'effect.not-sent', d.effect, (x) => ({ attempts: endAttempt(x, 'not-sent'), result: null })), d.effect, s.effects[d.effect]?.attempts.slice(0, -1).some((a) => a.end === 'unknown') ?? false)),
  'effect.outcome-unknown': (s, d, e) => tally(remember(move(s, 'effect.outcome-unknown', d.effect, (x) => ({ attempts: endAttempt(x, 'unknown'), permit: null })), { kind: 'result', revision: e.revision, call: s.effects[d.effect]?.call ?? '', tool: s.effects[d.effect]?.tool ?? '', outcome: 'unknown', text: null, segment: s.segment }), s.segment, { unknowns: 1 }),
  'receipt.received': (s, d) => ({ ...s, receiptsPending: [...s.receiptsPending, { effect: d.effect, receipt: d.receipt, from: d.from }] }),
  'effect.receipt-recorded': (s, d) => move({ ...s, receiptsPending: s.receiptsPending.filter((r) => r.receipt.commitment !== d.receipt.commitment) }, 'effect.receipt-recorded', d.effect, (x) => ({ receipts: [...x.receipts, d.receipt] })),
  'effect.reconciled': (s, d, e) => {
    const findings = s.findings.map((f) => (f.effect === d.effect && f.stage === 'accepted' ? { ...f, applied: true } : f));
    const moved = move({ ...s, findings }, 'effect.reconciled', d.effect, (x) => ({ stage: d.as, needsPerson: null, lookPermit: null, receipts: d.evidence === null || x.receipts.some((r) => r.commitment === d.evidence?.commitment) ? x.receipts : [...x.receipts, d.evidence], result: { ok: d.as === 'happened', text: d.text, words: d.as === 'happened' ? `happened, by ${d.by}` : `did not happen, by ${d.by}` } }));
    return settleReservation(result(moved, d.effect, e.revision, d.as), d.effect, d.as === 'happened');
  },
  // the system will not try again by itself: from here on a person is needed
  'effect.recovery-denied': (s, d, e) => move(deny(s, { revision: e.revision, of: d.effect, code: d.code, reason: d.reason }), 'effect.recovery-denied', d.effect, () => ({ needsPerson: `${d.code}: ${d.reason}`, permit: null, lookPermit: null })),
  // a look is permitted when nothing may be attempted: a permit that is left is over, and must not look like a wait
  'look.permitted': (s, d, e) => move(s, 'look.permitted', d.effect, (x) => ({ lookPermit: d, permit: null, unused: unusedAfter(x.unused, x.lookPermit ?? x.permit, e) })),
  'effect.looked': (s, d, e) => move(s, 'effect.looked', d.effect, (x) => ({ lookPermit: null, looks: x.looks + 1, lastLookAt: e.recordedAt, unused: 0 })),
  // the run went on as if it had not happened: it is counted, the next model is told, and a person is asked
  'effect.contradicted': (s, d, e) => {
    const tool = s.effects[d.effect]?.tool ?? s.disproved.find((x) => x.effect === d.effect)?.tool ?? '';
    const told = deny(s, { revision: e.revision, of: d.effect, code: CONTRADICTED, reason: `${tool} (${d.effect}) was settled as refused or as not having happened, and a ${d.from} now says that it did` });
    return {
      ...told, disproved: s.disproved.filter((x) => x.effect !== d.effect), findings: s.effects[d.effect] !== undefined ? s.findings : s.findings.map((f) => (f.effect === d.effect && f.stage === 'accepted' ? { ...f, applied: true } : f)),
      contradictions: { count: s.contradictions.count + 1, unasked: [...s.contradictions.unasked, { effect: d.effect, tool, from: d.from, revision: e.revision }].slice(-CONTRADICTIONS_MAX) },
    };
  },
  'effect.needs-person': (s, d) => move(s, 'effect.needs-person', d.effect, () => ({ needsPerson: d.reason, lookPermit: null })),
  'effect.duplicated': (s, d) => ({ ...move(s, 'effect.duplicated', d.effect, (x) => ({ duplicated: Math.max(x.duplicated, d.count), receipts: [...x.receipts, d.evidence] })), duplicates: s.duplicates + 1 }),
  'effect.finding-submitted': (s, d, e) => ({ ...s, findings: [...s.findings.filter((f) => !f.applied), { finding: d.finding, effect: d.effect, verdict: d.verdict, evidence: d.evidence, by: e.actor, stage: 'submitted', applied: false }] }),
  'finding.accepted': (s, d) => ({ ...s, findings: s.findings.map((f) => (f.finding === d.finding ? { ...f, stage: 'accepted' } : f)) }),
  'finding.refused': (s, d) => ({ ...s, findings: s.findings.map((f) => (f.finding === d.finding ? { ...f, stage: 'refused', applied: true } : f)) }),
  'effect.migration-requested': (s, d, e) => ({ ...s, migrations: [...s.migrations, { migration: d.migration, effect: d.effect, tool: d.tool, by: e.actor }] }),
  'effect.migrated': (s, d) => move({ ...s, migrations: s.migrations.filter((m) => m.migration !== d.migration) }, 'effect.migrated', d.effect, () => ({ migrated: { tool: d.tool, mapping: d.mapping, contract: d.contract }, needsPerson: null, permit: null, lookPermit: null })),
  'effect.migration-refused': (s, d) => ({ ...s, migrations: s.migrations.filter((m) => m.migration !== d.migration) }),
  'source.observed': (s, d) => sourced(s, d),
  'source.reviewed': (s, d, e) => ({ ...s, sources: s.sources.map((x) => (x.source === d.source ? { ...x, review: d.decision, reviewedBy: e.actor } : x)) }),
  // it answered, and nothing of it is there: whoever asked for it must not build on it (WSP-3)
  'workspace.conflicted': (s, d) => {
    const e = d.effect === null ? undefined : s.effects[d.effect];
    return e?.result?.ok !== true ? s : { ...s, effects: { ...s.effects, [e.effect]: { ...e, result: { ok: false, text: null, words: NOT_TAKEN_OVER } } } };
  },
  'workspace.changed': (s, d) => ({ ...s, workspace: d.workspace, workspaceChanges: [...s.workspaceChanges, { effect: d.effect, tree: d.workspace.tree.commitment, summary: d.summary }].slice(-VALIDATIONS_MAX) }),
};
