/**
 * Who has work on a run, and from when. The store keeps these as rows in the append's own transaction; wakes and sweeps both come from
 * them, so that nothing waits without an owner.
 *
 * N1. While a boundary is unsealed, the sealer goes first: nobody else starts anything. What is already out in the world may still report.
 * N2. An attempt in flight always has a lease need; an unknown effect always has a look need, a person, or a pending permit.
 * N3. Where nothing can be done, nothing is due: what waits for a tenant's budget names how much, what waits behind another effect has no need of its
 *     own, and after a dead letter its service pauses. A need that is due and that its service answers with nothing starves others.
 *
 * Rows: SEAL-6, SCH-2 (shape), SVC-1, EFF-5.
 */
import { idle, type Amounts, type Dimension } from './budget.js';
import { isConsequential } from './contract.js';
import { allowedRecoveries, isUnresolved, lastAttempt, type Effect } from './effect.js';
import type { Reactor, ServiceName, StoreTimeMs } from './ids.js';
import { permitStale } from './permit.js';
import { queued, type RunState } from './run.js';
import { whoseMove } from './turn.js';

/** So much in the tenant's account makes it due. */
export type BudgetWait = `budget:${Dimension}:${number}`;
/** Whether a need that waits for the tenant's budget may be due: the store asks when the balance grows, and again when it hands rows out. */
export function waitCovered(waitsFor: Need['waitsFor'], balance: Amounts): boolean {
  const [topic, dimension, least] = waitsFor?.split(':') ?? [];
  return topic !== 'budget' || balance[dimension as Dimension] >= Number(least);
}

/** One row of `needs`: this service has work on this run from `dueAt` on. `waitsFor`: a tenant's change may make it due at once. */
export interface Need {
  readonly service: ServiceName;
  /** Stable while the same work waits: it keeps the first due time. */
  readonly reason: string;
  readonly dueAt: StoreTimeMs;
  readonly waitsFor: 'policy' | 'profiles' | 'person' | BudgetWait | null;
}

/** Looks are spaced out: 0.25 s, doubling, at most 30 s. */
export const LOOK_BACKOFF_MS = 250;
export const LOOK_BACKOFF_MAX_MS = 30_000;
/** Permits for one thing that ran out one after the other, unused, before a person is asked. With their pauses that is about half an hour: a restart or an outage of who should use them is over by then. */
export const PERMITS_UNUSED_MAX = 32;
const RENEWAL_PAUSE_MS_MAX = 60_000;
/** After a dead letter its service is not due on the run before this: a minute, doubling with each, at most an hour. */
export const LETTER_PAUSE_MS = 60_000;
export const LETTER_PAUSE_MS_MAX = 3_600_000;
export const FAILURE_BACKOFF_MS = 500;
export const FAILURES_MAX = 5;
const FAR = 8_640_000_000_000_000;

export const nextLookAt = (e: Effect): StoreTimeMs => (e.lastLookAt === null ? 0 : e.lastLookAt + Math.min(LOOK_BACKOFF_MAX_MS, LOOK_BACKOFF_MS * 2 ** Math.min(e.looks, 16)));

/** When a permit that nobody used is judged again: at its end, and later each time. */
export const renewalAt = (expiresAt: StoreTimeMs, unused: number): StoreTimeMs => expiresAt + (unused === 0 ? 0 : Math.min(RENEWAL_PAUSE_MS_MAX, 500 * 2 ** Math.min(unused, 16)));

/** What a run that the tenant's budget blocks waits for; null: something else, or nothing any more. */
export function budgetWanted(s: RunState): { readonly dimension: Dimension; readonly least: number } | null {
  const f = s.blocked?.waitsFor === 'budget' ? (s.blocked.facts as { readonly dimension?: Dimension; readonly needed?: number }) : null;
  return f?.dimension === undefined ? null : { dimension: f.dimension, least: Math.max(0, (f.needed ?? 1) - idle(s.budget)[f.dimension]) };
}

const need = (service: ServiceName, reason: string, dueAt: StoreTimeMs, waitsFor: Need['waitsFor'] = null): Need => ({ service, reason, dueAt, waitsFor });

/** What the system may do by itself about an effect of unknown outcome. A repetition needs a run that goes on; a look does not. */
export function ownRecoveries(s: RunState, e: Effect, now: StoreTimeMs): { readonly look: boolean; readonly again: boolean; /** A paused run may repeat when it is resumed. */ readonly later: boolean } {
  const open = allowedRecoveries(e, now);
  const again = open.some((r) => r.startsWith('attempt-again')); // each of them carries what makes it harmless: no effect, the same key, the same precondition
  return { look: open.includes('look'), again: again && s.status === 'active', later: again && s.status === 'paused' };
}

function unknownNeeds(e: Effect, s: RunState, add: (n: Need) => void): void {
  const at = s.lastAt;
  if (s.findings.some((f) => f.effect === e.effect && f.stage === 'accepted' && !f.applied)) return; // the findings' own need
  if (e.lookPermit !== null) {
    add(need('effect-reconciler', `look:${e.lookPermit.permit}`, at));
    return add(need('policy-gate', `expiry:${e.lookPermit.permit}`, renewalAt(e.lookPermit.expiresAt, e.unused)));
  }
  if (s.status === 'active' && e.permit !== null && !permitStale(s, e.permit)) {
    if (queued(s, e)) return;
    add(need('effect-reconciler', `attempt:${e.permit.permit}`, at));
    return add(need('policy-gate', `expiry:${e.permit.permit}`, renewalAt(e.permit.expiresAt, e.unused), 'policy'));
  }
  if (e.needsPerson !== null) return;
  const own = ownRecoveries(s, e, at);
  // a target that can be asked is asked before anything is repeated, and again only where nothing may be repeated
  if (own.look && (e.looks === 0 || !own.again)) return add(need('policy-gate', `recover:${e.effect}:${e.looks}`, Math.max(at, nextLookAt(e))));
  if (own.again && heldBack(s, e)) return; // keeps N3: the look that it waits for brings it
  if (own.again) return add(need('policy-gate', `repeat:${e.effect}:${e.attempts.length}`, at));
  if (!own.later) add(need('effect-reconciler', `person:${e.effect}`, at));
}

/** keeps RES-1: after a resume, what is unknown is looked at before anything consequential begins. The look's answer brings the rest. */
export const heldBack = (s: RunState, e: Effect | null): boolean => s.lookFirst.length > 0 && (e === null || isConsequential(e.contract));

function effectNeeds(e: Effect, s: RunState, add: (n: Need) => void): void {
  const at = s.lastAt;
  const attempt = lastAttempt(e);
  if (e.stage === 'in-flight' && attempt) return add(need('effect-reconciler', `lease:${attempt.attempt}`, attempt.startedAt + attempt.leaseMs)); // keeps N2
  if (e.stage === 'unknown') return unknownNeeds(e, s, add);
  if (s.status !== 'active') return;
  if (e.needsPerson !== null || heldBack(s, e)) return;
  if (e.stage === 'permitted' && e.permit !== null) {
    if (queued(s, e)) return; // keeps N3: it is looked at again when the one before it has ended
    if (permitStale(s, e.permit)) return add(need('policy-gate', `rejudge:${e.permit.permit}`, at));
    add(need('effect-reconciler', `attempt:${e.permit.permit}`, at));
    return add(need('policy-gate', `expiry:${e.permit.permit}`, renewalAt(e.permit.expiresAt, e.unused), 'policy')); // a permit that nobody could use is judged again
  }
  if (e.stage === 'intended' || e.stage === 'not-sent') return add(need('policy-gate', `judge:${e.effect}:${e.attempts.length}`, e.stage === 'intended' ? at : at + FAILURE_BACKOFF_MS * 2 ** e.attempts.length));
  if (e.stage === 'awaiting-approval') {
    const a = Object.values(s.approvals).find((x) => x.effect === e.effect && x.stage !== 'spent');
    if (a !== undefined) add(need('policy-gate', `approval:${a.approval}:${a.stage}`, a.stage === 'requested' ? a.expiresAt : at));
  }
}

/** keeps N3: a service that gave up on a run comes back to it later, and at once when it has got further or a person resumes the run. */
function paused(s: RunState, n: Need): Need {
  const l = s.deadLetters[n.service];
  return l === undefined ? n : { ...n, reason: `${n.reason}~${l.count}`, dueAt: Math.max(n.dueAt, l.at + Math.min(LETTER_PAUSE_MS_MAX, LETTER_PAUSE_MS * 2 ** Math.min(l.count - 1, 16))) };
}
function blockedNeed(s: RunState, b: NonNullable<RunState['blocked']>): Need {
  const wanted = budgetWanted(s);
  if (wanted === null) return need('policy-gate', `blocked:${b.code}`, FAR, b.waitsFor === 'budget' ? null : b.waitsFor);
  const { opensAt } = b.facts as { readonly opensAt?: number | null };
  return need('policy-gate', `blocked:${b.code}:${wanted.dimension}:${wanted.least}`, opensAt ?? FAR, `budget:${wanted.dimension}:${wanted.least}`);
}

/** When the time for work is used up, if the run stays at work; null: it does not run now, or has no bound. */
export const workEndsAt = (s: RunState): StoreTimeMs | null => (s.status !== 'active' || s.clock.limitMs === null || s.clock.since === null ? null : s.clock.since + Math.max(0, s.clock.limitMs - s.clock.spentMs));

export const needsOf = (s: RunState): readonly Need[] => allNeeds(s).map((n) => paused(s, n));

function allNeeds(s: RunState): readonly Need[] {
  const needs: Need[] = [];
  const add = (n: Need): void => { needs.push(n); };
  const at = s.lastAt;
  if (s.status === 'new') return needs;
  const sealing = s.boundary.length > 0;
  if (sealing) add(need('checkpoint-sealer', 'seal', at)); // keeps N1
  const hold = (n: Need): void => { if (!sealing || n.reason.startsWith('lease:')) add(n); };

  const g = s.generation;
  if (g?.stage === 'started' && g.startedAt !== null) add(need('provider-gateway', `lease:${g.attempt}`, g.startedAt + g.leaseMs));
  for (const e of Object.values(s.effects)) if (isUnresolved(e) || s.status === 'active') effectNeeds(e, s, hold);
  const [receipt] = s.receiptsPending;
  if (receipt !== undefined) hold(need('effect-reconciler', `receipts:${receipt.receipt.commitment}`, at)); // other work once this one is recorded, so that the rest wakes somebody
  if (s.findings.some((f) => f.stage === 'submitted')) hold(need('policy-gate', 'findings', at));
  if (s.findings.some((f) => f.stage === 'accepted' && !f.applied)) hold(need('effect-reconciler', 'findings', at));
  if (s.migrations.length > 0) hold(need('policy-gate', `migrations:${s.migrations.at(-1)?.migration}`, at));
  if (s.status === 'ended') {
    if (s.erasure !== null) hold(need('checkpoint-sealer', 'erase', at));
    if (s.settle.some((x) => x.reservation in s.budget.reservations)) hold(need('policy-gate', 'settle', at));
    return needs;
  }
  if (s.requests.length > 0) hold(need('policy-gate', `requests:${s.requests.at(-1)?.revision}`, at));
  if (s.raises.length > 0) hold(need('policy-gate', `raises:${s.raises.at(-1)?.raise}`, at));
  const runsOut = workEndsAt(s);
  if (runsOut !== null) hold(need('policy-gate', `wall:${runsOut}`, runsOut));
  if (s.contradictions.unasked.length > 0 && s.status === 'active') hold(need('policy-gate', `contradicted:${s.contradictions.count}`, at));
  if (s.blocked !== null && s.status === 'active') add(blockedNeed(s, s.blocked)); // also before the seal: what the tenant changes until then would wake nobody

  const move = whoseMove(s);
  if (heldBack(s, null) && (move === 'compile' || move === 'judge-generation' || move === 'generate')) return needs;
  switch (move) {
    case 'intend': hold(need('effect-reconciler', 'intend', at)); break;
    case 'compile':
      if (s.failures.count >= FAILURES_MAX) hold(need('policy-gate', 'failing', at));
      else hold(need('context-compiler', `compile:${s.failures.count}`, s.failures.count === 0 ? at : Math.max(s.failures.retryAt ?? 0, at + FAILURE_BACKOFF_MS * 2 ** s.failures.count)));
      break;
    case 'judge-generation': hold(need('policy-gate', `generation:${g?.generation}`, at)); break;
    case 'generate':
      if (g?.permit && permitStale(s, g.permit)) hold(need('policy-gate', `rejudge:${g.permit.permit}`, at));
      else {
        hold(need('provider-gateway', `generate:${g?.permit?.permit}`, at));
        hold(need('policy-gate', `expiry:${g?.permit?.permit}`, renewalAt(g?.permit?.expiresAt ?? at, g?.unused ?? 0), 'policy'));
      }
      break;
    case 'finish': if (s.task?.whenDone === 'end' || s.finished !== 'stop') hold(need('policy-gate', 'finish', at)); break;
    case 'tools': case 'generating': case 'nobody': break;
  }
  return needs;
}

/** Who should hear of an append at once: one reactor, several, or none. */
export function wakeOf(needs: readonly Need[], now: StoreTimeMs): Reactor | 'several' | 'none' {
  const due = new Set(needs.filter((n) => n.dueAt <= now).map((n) => n.service as Reactor));
  return due.size === 0 ? 'none' : due.size === 1 ? ([...due][0] as Reactor) : 'several';
}
export const hasNeed = (s: RunState, service: ServiceName, prefix: string, now: StoreTimeMs): boolean =>
  needsOf(s).some((n) => n.service === service && n.reason.startsWith(prefix) && n.dueAt <= now);
