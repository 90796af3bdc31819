/**
 * A run's state for a person. A pure mapping of the fold and of what only the events say; texts come in from outside.
 *
 * V1. Every unresolved effect of the state is in it, with its stage, contract, attempts, receipts, allowed recoveries and what must not be repeated.
 * V2. No continuation is in it: neither bytes nor references to them (CON-1).
 *
 * Rows: RUN-2, EFF-1, BUD-1, RES-8, SCH-1, APP-1, SRC-2, WSP-1.
 */
import type { http } from '@n17q/contracts';
import { allowedRecoveries, FAILURES_MAX, isUnresolved, left, needsOf, prohibited, reserved, schedulesOf, sourceGaps, workEndsAt, type Effect, type Json, type Need, type RunState, type Schedule, type StoreTimeMs } from '@n17q/domain';
import { NOTHING_TOLD, type Chronicle } from '../reading/chronicle.js';
import { actionsOf, moveOf } from './words.js';

const TIME_MAX = 8.64e15;
const iso = (ms: StoreTimeMs): string => new Date(ms).toISOString();
const isoOrNever = (ms: StoreTimeMs): string | null => (ms >= TIME_MAX ? null : iso(ms));
/** A reason without the ids behind it. */
const waitOf = (n: Need): http.RunView['waits'][number] => ({ service: n.service, reason: n.reason.split(':')[0] ?? n.reason, dueAt: isoOrNever(n.dueAt), waitsFor: n.waitsFor });

function effectOf(e: Effect, now: StoreTimeMs, c: Chronicle): http.ShownEffect {
  return {
    effect: e.effect, tool: e.tool, stage: e.stage, unresolved: isUnresolved(e), segment: e.segment, subject: e.subject, contract: e.contract as http.ShownEffect['contract'], scope: { target: e.scope.target, fields: Object.keys(e.scope.fields).sort() }, args: e.args,
    attempts: e.attempts.map((a) => ({ attempt: a.attempt, startedAt: iso(a.startedAt), leaseMs: a.leaseMs, end: a.end, endedAt: c.ends.get(a.attempt)?.endedAt ?? null, cause: c.ends.get(a.attempt)?.cause ?? null })),
    receipts: [...e.receipts], looks: e.looks, duplicated: e.duplicated, migratedTo: e.migrated?.tool ?? null, evidenceErased: e.erased, allowed: [...allowedRecoveries(e, now)], prohibited: prohibited(e) ?? null, needsPerson: e.needsPerson, result: e.result,
  };
}

const scheduled = (s: RunState, x: Schedule): http.RunView['schedule'][number] => ({ ...x, at: x.eligibleAt === null ? null : isoOrNever(x.eligibleAt), reserved: x.reservation === null ? null : (s.budget.reservations[x.reservation] ?? null), endsEarly: [...x.endsEarly] });

/** The clock stands at the last event; what has passed since belongs to it while the run is at work. */
function workOf(s: RunState, now: StoreTimeMs): http.RunView['work'] {
  const running = s.clock.since !== null && s.status !== 'ended';
  const ends = workEndsAt(s);
  return { spentMs: s.clock.spentMs + (running ? Math.max(0, now - (s.clock.since ?? now)) : 0), limitMs: s.clock.limitMs, atWork: running, endsAt: ends === null ? null : isoOrNever(ends) };
}

/** What of the view a person needs to judge whether to go on: what is waited for, what it rests on, what was asked for and not yet judged. */
const standingOf = (s: RunState, now: StoreTimeMs): Pick<http.RunView, 'schedule' | 'requester' | 'onBehalfOf' | 'work' | 'lookFirst' | 'sources' | 'raises' | 'migrations' | 'validations' | 'workspaceChanges' | 'evidenceErased' | 'erasure'> => ({
  schedule: schedulesOf(s).map((x) => scheduled(s, x)), requester: s.requester, onBehalfOf: s.onBehalfOf, work: workOf(s, now), lookFirst: [...s.lookFirst],
  sources: { known: s.sources.length, omitted: s.sourcesOmitted, gaps: sourceGaps(s).map((x) => ({ source: x.source, identity: x.identity, why: x.gap ?? 'a person rejected what was recorded' })) },
  raises: s.raises.map((r) => ({ ...r })), migrations: s.migrations.map((m) => ({ ...m })),
  validations: s.validations.map((v) => ({ ...v, ofPresentTree: v.tree !== null && v.tree === s.workspace?.tree.commitment })), workspaceChanges: s.workspaceChanges.map((c) => ({ ...c })),
  evidenceErased: s.contentErased, erasure: s.erasure,
});

export function runViewOf(s: RunState, goal: http.ShownText | null, now: StoreTimeMs, c: Chronicle = NOTHING_TOLD): http.RunView {
  const effects = Object.values(s.effects).map((e) => effectOf(e, now, c));
  const g = s.generation;
  const view: http.RunView = {
    run: s.run, revision: s.revision, title: s.task?.title ?? '', status: s.status, goal, retention: s.retention, world: s.world.kind === 'real' ? 'real' : `simulated: ${s.world.name}`,
    constraints: [...(s.task?.constraints ?? [])], tools: [...(s.task?.tools ?? [])], plan: [...s.plan],
    move: moveOf(s), waits: needsOf(s).map(waitOf), ...standingOf(s, now), actions: [...actionsOf(s)],
    ended: s.ended, paused: s.status === 'ended' ? null : s.paused, blocked: s.blocked === null || s.status === 'ended' ? null : { code: s.blocked.code, reason: s.blocked.reason, waitsFor: s.blocked.waitsFor },
    failures: { count: s.failures.count, max: FAILURES_MAX, retryAt: s.failures.retryAt === null ? null : iso(s.failures.retryAt), lastCode: s.failures.lastCode },
    requests: s.requests.map((r) => ({ kind: r.kind, revision: r.revision, by: r.actor, reason: r.reason })),
    route: s.route, segment: { number: s.segment, route: s.segmentRoute }, segments: s.segments.map((t) => ({ ...t })),
    generation: g === null ? null : { generation: g.generation, stage: g.stage, form: g.form, route: g.route, attempt: g.attempt },
    unresolved: effects.filter((e) => e.unresolved), effects,
    approvals: Object.values(s.approvals).map((a) => ({ approval: a.approval, effect: a.effect, subject: a.subject, stage: a.stage, by: a.by, expiresAt: iso(a.expiresAt), tool: s.effects[a.effect]?.tool ?? null, target: s.effects[a.effect]?.scope.target ?? null, beside: [...a.beside], reasons: [...(c.asked.get(a.approval)?.reasons ?? [])], rules: [...(c.asked.get(a.approval)?.rules ?? [])], note: c.notes.get(a.approval) ?? '' })),
    findings: s.findings.map((f) => ({ finding: f.finding, effect: f.effect, verdict: f.verdict, stage: f.stage, by: f.by, evidence: f.evidence })),
    settled: [...c.settled], refusals: [...c.refusals], erased: c.erased,
    denials: s.denials.map((d) => ({ ...d })), denialsOmitted: s.denialsOmitted,
    budget: { granted: s.budget.granted, drawn: s.budget.drawn, used: s.budget.used, reserved: reserved(s.budget), left: left(s.budget), overrun: s.budget.overrun, exhausted: s.budget.exhausted },
    checkpoint: s.checkpoint, workspace: s.workspace,
    counts: { generations: s.generations, lineages: s.lineages, inputsWaiting: s.inputs.length, openCalls: s.calls.length, historyOmitted: s.historyOmitted, duplicates: s.duplicates, contradictions: s.contradictions.count },
  };
  return view;
}
export type { Json };
