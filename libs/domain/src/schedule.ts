/**
 * What a run waits for, and until when. Waits are read from the state, as needs are, so there is nothing to rebuild after a restart: what the store's clock
 * brings is a row of `needs`, and what a person brings is said here beside it. When its time comes the gate judges again: a wait is an intention to reconsider.
 *
 * W1. Every wait names its owner, when it is due by the store's clock (or that only a person or the tenant brings it), what is reserved for it, what ends it
 *     early, and what bounds it.
 *
 * Rows: SCH-1, SCH-2, SCH-3, SEAL-1.
 */
import type { ServiceName, StoreTimeMs } from './ids.js';
import { FAILURES_MAX, needsOf, PERMITS_UNUSED_MAX, type Need } from './needs.js';
import type { RunState } from './run.js';

export interface Schedule {
  readonly intent: string;
  /** The effect, generation, attempt, permit or approval that it is about; '': the run. */
  readonly of: string;
  /** Who takes it up; `person`: nobody else can. */
  readonly owner: ServiceName | 'person';
  /** Null: no time brings it. */
  readonly eligibleAt: StoreTimeMs | null;
  readonly clock: 'store';
  readonly reservation: string | null;
  readonly endsEarly: readonly string[];
  readonly bound: string;
}

interface Kind { readonly intent: string; readonly endsEarly: readonly string[]; readonly bound: string }
const RUN_STOPS = ['the run is paused', 'the run ends'];
const KINDS: { readonly [prefix: string]: Kind } = {
  lease: { intent: 'find out what became of an attempt that nobody answered for', endsEarly: ['its outcome is recorded'], bound: 'it is unknown from then on' },
  recover: { intent: 'ask the world what happened', endsEarly: ['a receipt comes', 'a finding is accepted'], bound: 'the policy\'s looksMax, then a person' },
  expiry: { intent: 'judge again what was permitted and not begun', endsEarly: ['it begins', ...RUN_STOPS], bound: `${PERMITS_UNUSED_MAX} permits in a row, then a person` },
  judge: { intent: 'attempt again what was not sent', endsEarly: RUN_STOPS, bound: 'the policy\'s attemptsMax, then the call is denied' },
  approval: { intent: 'judge without the approval that nobody gave', endsEarly: ['a person decides', ...RUN_STOPS], bound: 'the end of the approval, then the call is denied' },
  compile: { intent: 'ask a model again', endsEarly: RUN_STOPS, bound: `${FAILURES_MAX} failures in a row, then a person` },
  blocked: { intent: 'go on when the tenant has changed what is in the way', endsEarly: ['a person resumes the run', 'the run ends'], bound: 'none: it waits for the tenant' },
  wall: { intent: 'stop when the time for work is used up', endsEarly: ['the budget is raised', ...RUN_STOPS], bound: 'a person raises the budget, or ends the run' },
};
const LETTER: Kind = { intent: 'try again what a service gave up on', endsEarly: ['the service gets further', 'a person resumes the run'], bound: 'an hour between two tries' };

/** A need that a date far beyond any clock keeps from being due waits for a change of the tenant's. */
const FAR_MS = 8_640_000_000_000_000;

function ofNeed(s: RunState, n: Need): Schedule {
  const [prefix = '', of = ''] = n.reason.split(/[:~]/);
  const kind = KINDS[prefix] ?? LETTER;
  const effect = s.effects[of] ?? Object.values(s.effects).find((e) => e.permit?.permit === of || e.lookPermit?.permit === of || e.attempts.some((a) => a.attempt === of) || s.approvals[of]?.effect === e.effect);
  const generation = s.generation !== null && (prefix === 'compile' || s.generation.attempt === of || s.generation.permit?.permit === of) ? s.generation : null;
  return { ...kind, of, owner: n.service, eligibleAt: n.dueAt >= FAR_MS ? null : n.dueAt, clock: 'store', reservation: effect?.reservation ?? generation?.reservation ?? null };
}

function ofPeople(s: RunState): readonly Schedule[] {
  const wait = (intent: string, of: string, endsEarly: readonly string[], reservation: string | null = null): Schedule => ({ intent, of, owner: 'person', eligibleAt: null, clock: 'store', reservation, endsEarly, bound: 'none: it waits for a person' });
  const effects = Object.values(s.effects).flatMap((e) => (e.stage === 'unknown' && e.needsPerson !== null ? [wait('be told what happened', e.effect, ['a receipt comes'], e.reservation)] : []));
  if (s.status === 'ended') return effects;
  return [
    ...effects,
    ...(s.paused === null ? [] : [wait('be resumed or ended', '', [])]),
    ...(s.blocked?.waitsFor === 'person' ? [wait(`be helped: ${s.blocked.code}`, '', ['the run ends'])] : []),
  ];
}

/** All waits of the run, the earliest first, those that no time brings last. Pure: from a state rebuilt after a restart come the same. */
export function schedulesOf(s: RunState): readonly Schedule[] {
  const timed = needsOf({ ...s, boundary: [] }).filter((n) => n.dueAt > s.lastAt).map((n) => ofNeed(s, n));
  return [...timed, ...ofPeople(s)].toSorted((a, b) => (a.eligibleAt ?? Infinity) - (b.eligibleAt ?? Infinity) || (a.of < b.of ? -1 : 1));
}
