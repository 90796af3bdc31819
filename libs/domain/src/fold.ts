/**
 * `evolve(state, event)`: the only way in which a run's state comes about. Total, pure, and the same in the store, in every
 * service, in the simulation and in the doctor.
 *
 * F1. fold(a ++ b) = fold(fold(a), b), so a snapshot and a tail stand for the whole.
 * F2. An unresolved effect leaves `effects` never; a settled one leaves when the next output is accepted.
 *
 * Rows: RUN-1, RUN-4, SEAL-4, BUD-1.
 */
import { givenBack, nearEnd, NOTHING, minus, plus, openBudget, settled, type Amounts } from './budget.js';
import { isConsequential } from './contract.js';
import { allowedRecoveries, isUnresolved, queryOf } from './effect.js';
import type { EffectId, StoreTimeMs } from './ids.js';
import { EVENT_TABLE, type EventData, type EventEnvelope, type EventType } from './events.js';
import { CONTRADICTED, deny, EFFECT_FOLD, EVIDENCE_ERASED, PERMITS_UNUSED, remember, tally, unusedAfter, type Folders } from './fold-effects.js';
import { FAILURES_MAX } from './needs.js';
import { sameRoute } from './tenant.js';
import { APPROVALS_OVER_MAX, DISPROVED_MAX, LINEAGE_ITEMS_MAX, settledAsNot, type Lineage, type Request, type RunState } from './run.js';
import { atWork } from './turn.js';

type Started = EventData['generation.started'];

const request = (kind: Request['kind']) => (s: RunState, d: { readonly reason: string }, e: EventEnvelope): RunState => ({ ...s, requests: [...s.requests, { kind, revision: e.revision, actor: e.actor, reason: d.reason }] });
const answered = (s: RunState, kinds: readonly Request['kind'][]): readonly Request[] => s.requests.filter((r) => !kinds.includes(r.kind));

/** Effects that the next turn no longer needs: settled, and their calls belong to an older output (keeps F2). */
function keepOpen(s: RunState, now: number): Pick<RunState, 'effects' | 'approvals' | 'disproved'> {
  const effects = Object.fromEntries(Object.entries(s.effects).filter(([, e]) => isUnresolved(e)));
  const left = Object.values(s.effects).filter(settledAsNot).map((e) => ({ effect: e.effect, tool: e.tool }));
  // an approval is for one effect, and goes with it; what was refused, revoked or ran out is told for a while
  const over = Object.values(s.approvals).filter((a) => effects[a.effect] === undefined && a.stage !== 'spent' && (a.stage === 'rejected' || a.stage === 'revoked' || a.expiresAt <= now)).slice(-APPROVALS_OVER_MAX);
  const approvals = Object.fromEntries([...over, ...Object.values(s.approvals).filter((a) => effects[a.effect] !== undefined)].map((a) => [a.approval, a]));
  return { effects, approvals, disproved: [...s.disproved, ...left].slice(-DISPROVED_MAX) };
}

function failed(s: RunState, code: string, retryAt: number | null, refusesLineage = false): RunState {
  return { ...s, generation: null, failures: { count: s.failures.count + 1, retryAt, lastCode: code, refusesLineage } };
}
/** Queues a settlement for the gate; without known usage there is none, and the reservation stays (BUD-3). */
const settleLater = (s: RunState, used: Amounts | null): RunState => (s.generation?.reservation == null || used === null ? s : { ...s, settle: [...s.settle, { reservation: s.generation.reservation, used }] });

/** The continuations of the lineage so far, each with the results that answered it. A context names only those that it is the first to send. */
function sentBefore(items: Lineage['items'], named: EventData['context.compiled']['continuations']): EventData['context.compiled']['continuations'] {
  const handles = new Set(named.map((c) => c.handle));
  return items.flatMap((x, at) => {
    const next = items[at + 1];
    return x.kind !== 'output' || next?.kind !== 'said' ? [] : x.continuations.flatMap((c) => (handles.has(c.handle) ? [] : [{ handle: c.handle, results: next.entry.commitment }]));
  });
}

function compiled(s: RunState, d: EventData['context.compiled'], e: EventEnvelope): RunState {
  const fresh: Lineage = { lineage: d.lineage, route: d.route, system: d.system, tools: d.tools, items: [], open: false, binding: null, retained: [], wirePrefix: null, turn: 0, bytes: 0 };
  const base = d.opensLineage || s.lineage === null ? fresh : s.lineage;
  const again = d.form === 'exact-replay';
  const items = again ? base.items : [...base.items, { kind: 'said' as const, entry: d.entry, at: e.revision }];
  return {
    ...s,
    lineage: { ...base, items: items.slice(-LINEAGE_ITEMS_MAX), open: true, turn: again ? base.turn : base.turn + 1, bytes: again ? base.bytes : base.bytes + d.entry.bytes },
    lineages: s.lineages + (d.opensLineage ? 1 : 0),
    generation: { generation: d.generation, stage: 'compiled', form: d.form, route: d.route, lineage: d.lineage, subject: d.subject, compiledAt: e.revision, system: d.system, tools: d.tools, manifest: d.manifest, continuations: [...sentBefore(base.items, d.continuations), ...d.continuations], tokensMax: d.tokensMax, permit: null, reservation: null, attempt: null, owner: null, startedAt: null, leaseMs: 0, unused: 0 },
    continuationWanted: false,
  };
}

function accepted(s: RunState, d: EventData['generation.accepted'], e: EventEnvelope): RunState {
  const g = s.generation;
  const l = s.lineage;
  const compiledAt = g?.compiledAt ?? e.revision;
  const lineage: Lineage | null = l === null ? null : {
    ...l, open: false, bytes: l.bytes + d.output.bytes,
    items: [...l.items, { kind: 'output', generation: d.generation, output: d.output, continuations: d.continuations, turn: l.turn, calls: d.calls.map((c) => c.call), recoverable: d.recoverable }],
  };
  const base: RunState = {
    ...settleLater(s, d.spent), lineage, ...keepOpen(s, e.recordedAt), generation: null, generations: s.generations + 1, failures: { count: 0, retryAt: null, lastCode: null, refusesLineage: false },
    inputs: s.inputs.filter((i) => i.revision > compiledAt), finished: d.calls.length === 0 ? d.finish : null,
    calls: d.calls.map((c) => ({ call: c.call, tool: c.tool, args: c.args, generation: d.generation, effect: null, refused: null })),
  };
  const tokens = { generations: 1, inputTokens: d.usage.inputTokens ?? 0, outputTokens: d.usage.outputTokens ?? 0 };
  return remember(tally(base, s.segment, tokens), { kind: 'output', revision: e.revision, output: d.output, segment: s.segment });
}

/** A person has looked: whoever did not use their permits gets as many again, and services come back at once. */
const usedAgain = (s: RunState): RunState => ({
  ...s, deadLetters: {}, generation: s.generation === null ? null : { ...s.generation, unused: 0 },
  effects: Object.fromEntries(Object.entries(s.effects).map(([k, e]) => [k, { ...e, unused: 0, needsPerson: e.needsPerson?.startsWith(PERMITS_UNUSED) ? null : e.needsPerson }])),
});
/** What a resume leaves to be looked at first: unknown, or under way since before it, and asking the world is what comes next for it (RES-1). */
function toLookAt(s: RunState): readonly EffectId[] {
  return Object.values(s.effects).filter((e) => {
    if (e.stage === 'in-flight') return isConsequential(e.contract) && queryOf(e) !== undefined; // its owner may be dead, and then it is unknown later
    const open = e.stage === 'unknown' && e.needsPerson === null ? allowedRecoveries(e, s.lastAt) : [];
    return open.includes('look') && (e.looks === 0 || !open.some((r) => r.startsWith('attempt-again')));
  }).map((e) => e.effect);
}
/** Of those, what has not had its look yet. */
const stillToLookAt = (s: RunState, e: EventEnvelope): readonly EffectId[] =>
  s.lookFirst.length === 0 ? s.lookFirst : s.lookFirst.filter((id) => { const x = s.effects[id]; return x?.stage === 'in-flight' || (x?.stage === 'unknown' && x.needsPerson === null && !(e.type === 'effect.looked' && e.data.effect === id)); });
/** keeps BUD-1: the clock runs from one event to the next while the run is at work. */
const clockAt = (s: RunState, at: StoreTimeMs): RunState['clock'] => ({ ...s.clock, spentMs: s.clock.spentMs + (s.clock.since === null ? 0 : Math.max(0, at - s.clock.since)), since: atWork(s) ? at : null });
/** Dead letters of a service count until it gets further. */
function lettersAfter(s: RunState, e: EventEnvelope): RunState['deadLetters'] {
  if (e.type === 'dead-letter.recorded') return { ...s.deadLetters, [e.writer]: { count: (s.deadLetters[e.writer]?.count ?? 0) + 1, at: e.recordedAt } };
  if (s.deadLetters[e.writer] === undefined) return s.deadLetters;
  const { [e.writer]: _over, ...others } = s.deadLetters;
  return others;
}

const askedBy = (s: RunState, e: EventEnvelope): readonly string[] => (s.askers.includes(e.actor.id) ? s.askers : [...s.askers, e.actor.id]);

const RUN_FOLD: Folders = {
  'run.created': (s, d, e) => remember({
    ...s, status: 'active', askers: askedBy(s, e), task: { goal: d.goal, title: d.title, constraints: d.constraints, tools: d.tools, whenDone: d.whenDone, changePolicy: d.changePolicy }, retention: d.retention, world: d.world,
    requester: e.actor, onBehalfOf: d.onBehalfOf, clock: { limitMs: d.wallMs, spentMs: 0, since: null },
    budget: openBudget(d.budget), workspace: d.workspace, inputs: [{ revision: e.revision, text: d.goal }],
  }, { kind: 'input', revision: e.revision, text: d.goal }),
  'input.received': (s, d, e) => remember({ ...s, askers: askedBy(s, e), inputs: [...s.inputs, { revision: e.revision, text: d.text }], finished: null }, { kind: 'input', revision: e.revision, text: d.text }),
  'run.pause-requested': request('pause'),
  'run.resume-requested': request('resume'),
  'run.end-requested': request('end'),
  'provider-response.continue-requested': request('continue-provider-response'),
  'run.erasure-requested': (s, d, e) => ({ ...s, erasure: { reason: d.reason, by: e.actor } }),
  // the skeleton stays: what was unresolved is so for ever, unless somebody says that it happened (EFF-8)
  'content.erased': (s) => ({ ...s, erasure: null, contentErased: true, effects: Object.fromEntries(Object.entries(s.effects).map(([k, x]) => [k, isUnresolved(x) ? { ...x, erased: true, permit: null, lookPermit: null, needsPerson: `${EVIDENCE_ERASED}: what could tell was erased on request` } : x])) }),
  'budget.raise-requested': (s, d, e) => ({ ...s, raises: [...s.raises, { raise: d.raise, amounts: d.amounts, wallMs: d.wallMs, by: e.actor }] }),
  'budget.raised': (s, d) => {
    const budget = { ...s.budget, granted: plus(s.budget.granted, d.amounts), exhausted: null };
    return { ...s, raises: s.raises.filter((r) => r.raise !== d.raise), budget: { ...budget, warned: nearEnd(budget).length > 0 && budget.warned }, clock: { ...s.clock, limitMs: s.clock.limitMs === null ? null : s.clock.limitMs + d.wallMs } };
  },
  'budget.raise-refused': (s, d) => ({ ...s, raises: s.raises.filter((r) => r.raise !== d.raise) }),
  'plan.changed': (s, d) => ({ ...s, plan: d.steps }),
  'checkpoint.sealed': (s, d) => ({ ...s, boundary: [], checkpoint: { checkpoint: d.checkpoint, cut: d.cut, manifest: d.manifest } }),
  'context.compiled': compiled,
  'context.blocked': (s, d, e) => deny({ ...s, blocked: { code: d.code, reason: d.reason, waitsFor: d.code === 'NO_ROUTE' ? 'profiles' : d.code === 'REGISTRY_UNAVAILABLE' ? 'policy' : 'person', facts: d.facts } }, { revision: e.revision, of: 'context', code: d.code, reason: d.reason }),
  'generation.permitted': (s, d, e) => (s.generation?.generation !== d.generation ? s : { ...s, generation: { ...s.generation, stage: 'permitted', permit: d, reservation: d.reservation, unused: unusedAfter(s.generation.unused, s.generation.permit, e) } }),
  'generation.denied': (s, d, e) => {
    // what the run's own grant does not cover, no money of the tenant brings back
    const waitsFor = d.code === 'BUDGET_EXHAUSTED' ? ((d.facts as { readonly of?: string }).of === 'run' ? 'person' as const : 'budget' as const) : d.code === 'NO_ROUTE' ? 'profiles' as const : d.code === 'CHANGE_NEEDS_REVIEW' || d.code === 'STORE_SUSPECT' ? 'person' as const : 'policy' as const;
    return tally(deny({ ...settleLater(s, NOTHING), generation: null, blocked: { code: d.code, reason: d.reason, waitsFor, facts: d.facts } }, { revision: e.revision, of: d.generation, code: d.code, reason: d.reason }), s.segment, { denials: 1 });
  },
  // a context for another route is dropped unless it is under way; what was reserved for it goes back
  'route.decided': (s, d) => {
    const dropped = s.generation !== null && s.generation.stage !== 'started' && !sameRoute(s.generation.route, d.to);
    return { ...(dropped ? settleLater(s, NOTHING) : s), route: d.to, generation: dropped ? null : s.generation, blocked: null };
  },
  'run.paused': (s, d) => ({ ...s, contradictions: d.code === CONTRADICTED ? { ...s.contradictions, unasked: [] } : s.contradictions, status: 'paused', paused: { code: d.code, reason: d.reason }, requests: answered(s, ['pause']) }),
  'run.resumed': (s) => ({ ...usedAgain(s), lookFirst: toLookAt(s), status: 'active', paused: null, blocked: null, failures: { count: 0, retryAt: null, lastCode: null, refusesLineage: false }, continuationWanted: s.requests.some((r) => r.kind === 'continue-provider-response'), requests: answered(s, ['resume', 'continue-provider-response', 'pause']) }),
  'run.ended': (s, d, e) => ({ ...s, status: 'ended', ended: { how: d.how, withUnknowns: d.withUnknowns, by: d.by, reason: d.reason, revision: e.revision }, requests: [], raises: [], generation: s.generation?.stage === 'started' ? s.generation : null, budget: { ...s.budget, drawn: minus(s.budget.drawn, d.returned), charged: plus(s.budget.charged, d.charged ?? NOTHING) } }),
  'budget.reserved': (s, d) => ({ ...s, budget: { ...s.budget, drawn: plus(s.budget.drawn, d.drawn), reservations: { ...s.budget.reservations, [d.reservation]: d.amounts } } }),
  'budget.settled': (s, d) => {
    if (!(d.reservation in s.budget.reservations)) return s;
    const budget = settled(s.budget, d.reservation, d.used);
    return { ...s, settle: s.settle.filter((x) => x.reservation !== d.reservation), budget: s.status === 'ended' ? givenBack({ ...budget, charged: plus(budget.charged, d.charged ?? NOTHING) }) : budget };
  },
  'budget.warned': (s) => ({ ...s, budget: { ...s.budget, warned: true } }),
  'budget.exhausted': (s, d) => ({ ...s, budget: { ...s.budget, exhausted: d.dimension } }),
  'segment.started': (s, d) => ({ ...s, segment: d.segment, segmentRoute: d.to, segments: [...s.segments, { segment: d.segment, route: d.to, generations: 0, effects: 0, denials: 0, unknowns: 0, inputTokens: 0, outputTokens: 0 }].slice(-32) }),
  'generation.started': (s, d: Started, e) => (s.generation?.generation !== d.generation ? s : {
    ...s, generation: { ...s.generation, stage: 'started', attempt: d.attempt, owner: d.owner, startedAt: e.recordedAt, leaseMs: d.leaseMs },
    lineage: s.lineage === null ? null : { ...s.lineage, wirePrefix: d.wirePrefix },
  }),
  'continuation.retained': (s, d) => {
    const l = s.lineage;
    if (l === null || l.lineage !== d.lineage) return s;
    const binding = { adapter: d.adapter, endpoint: d.endpoint, account: d.account, accountScope: d.accountScope, modelServed: d.modelServed };
    const same = l.binding === null || (l.binding !== 'mixed' && (Object.keys(binding) as (keyof typeof binding)[]).every((k) => (l.binding as typeof binding)[k] === binding[k]));
    return { ...s, lineage: { ...l, binding: same ? binding : 'mixed', retained: [...l.retained, { handle: d.handle, generation: d.generation, turn: d.turn, exact: d.exact }] } };
  },
  'generation.accepted': accepted,
  'generation.refused': (s, d, e) => {
    const next = failed(settleLater(s, d.spent), d.code, d.class === 'retry-later' ? e.recordedAt + (d.retryAfterMs ?? 1000) : null, d.class === 'never-retry-as-is' || d.class === 'repairable-once');
    // the same again, although the context had changed: more tries would only cost
    const over = d.class === 'repairable-once' && s.failures.lastCode === d.code ? { ...next, failures: { ...next.failures, count: FAILURES_MAX } } : next;
    return d.output === undefined ? over : deny(over, { revision: e.revision, of: d.generation, code: d.code, reason: d.reason });
  },
  // an unknown usage keeps its reservation (BUD-3): nothing is settled here
  'generation.outcome-unknown': (s) => failed(s, 'OUTCOME_UNKNOWN', null),
  'generation.not-sent': (s, d, e) => failed(settleLater(s, NOTHING), d.cause, e.recordedAt + 1000),
  'generation.blocked': (s, d, e) => deny({ ...settleLater(s, NOTHING), generation: null, blocked: { code: d.code, reason: d.reason, waitsFor: 'person', facts: d.facts } }, { revision: e.revision, of: d.generation, code: d.code, reason: d.reason }),
};

const FOLD = { ...RUN_FOLD, ...EFFECT_FOLD } as { readonly [type: string]: ((s: RunState, d: never, e: EventEnvelope) => RunState) | undefined };

/** One event further. Revision, head, authority and boundary move for every event; the rest by its own rule. */
export function evolve(s: RunState, e: EventEnvelope): RunState {
  const rule = EVENT_TABLE[e.type as EventType];
  const next = FOLD[e.type]?.(s, e.data as never, e) ?? s;
  return {
    ...next, revision: e.revision, head: e.digest, lastAt: e.recordedAt, deadLetters: lettersAfter(next, e), lookFirst: stillToLookAt(next, e), clock: clockAt(next, e.recordedAt),
    authorityRevision: rule.authority ? e.revision : next.authorityRevision,
    boundary: rule.boundary === null || next.boundary.includes(rule.boundary) ? next.boundary : [...next.boundary, rule.boundary],
  };
}

export const fold = (s: RunState, events: Iterable<EventEnvelope>): RunState => {
  let state = s;
  for (const e of events) state = evolve(state, e);
  return state;
};
