/**
 * Who has work on a run, and from when. The store keeps these as rows in the append's own transaction; wakes and sweeps both come from
 * them, so that nothing waits without an owner.
 *
 * N1. While a boundary is unsealed, the sealer goes first: nobody else starts anything. What is already out in the world may still report.
 * N2. An attempt in flight always has a lease need; an unknown effect always has a look need, a person, or a pending permit.
 *
 * Rows: SEAL-6, SCH-2 (shape), SVC-1, EFF-5.
 */
import { allowedRecoveries, isUnresolved, lastAttempt, type Effect } from './effect.js';
import type { Reactor, ServiceName, StoreTimeMs } from './ids.js';
import { permitStale } from './permit.js';
import type { RunState } from './run.js';
import { whoseMove } from './turn.js';

/** One row of `needs`: this service has work on this run from `dueAt` on. `waitsFor`: a tenant's change may make it due at once. */
export interface Need {
  readonly service: ServiceName;
  /** Stable while the same work waits: it keeps the first due time. */
  readonly reason: string;
  readonly dueAt: StoreTimeMs;
  readonly waitsFor: 'policy' | 'budget' | 'profiles' | 'person' | null;
}

/** Looks are spaced out: 0.25 s, doubling, at most 30 s. */
export const LOOK_BACKOFF_MS = 250;
export const LOOK_BACKOFF_MAX_MS = 30_000;
/** After so many looks without a settling answer a person is asked. */
export const LOOKS_MAX = 12;
export const FAILURE_BACKOFF_MS = 500;
export const FAILURES_MAX = 5;
const FAR = 8_640_000_000_000_000;

export const nextLookAt = (e: Effect): StoreTimeMs => (e.lastLookAt === null ? 0 : e.lastLookAt + Math.min(LOOK_BACKOFF_MAX_MS, LOOK_BACKOFF_MS * 2 ** Math.min(e.looks, 16)));

const need = (service: ServiceName, reason: string, dueAt: StoreTimeMs, waitsFor: Need['waitsFor'] = null): Need => ({ service, reason, dueAt, waitsFor });

/** What the system may do by itself about an effect of unknown outcome. A repetition needs a run that goes on; a look does not. */
export function ownRecoveries(s: RunState, e: Effect, now: StoreTimeMs): { readonly look: boolean; readonly again: boolean; /** A paused run may repeat when it is resumed. */ readonly later: boolean } {
  const open = allowedRecoveries(e, now);
  const again = open.includes('attempt-again') || open.includes('attempt-again-with-same-key');
  return { look: open.includes('look') && e.looks < LOOKS_MAX, again: again && s.status === 'active', later: again && s.status === 'paused' };
}

function unknownNeeds(e: Effect, s: RunState, add: (n: Need) => void): void {
  const at = s.lastAt;
  if (s.findings.some((f) => f.effect === e.effect && f.stage === 'accepted' && !f.applied)) return; // the findings' own need
  if (e.lookPermit !== null) {
    add(need('effect-reconciler', `look:${e.lookPermit.permit}`, at));
    return add(need('policy-gate', `expiry:${e.lookPermit.permit}`, e.lookPermit.expiresAt));
  }
  if (s.status === 'active' && e.permit !== null && !permitStale(s, e.permit)) {
    add(need('effect-reconciler', `attempt:${e.permit.permit}`, at));
    return add(need('policy-gate', `expiry:${e.permit.permit}`, e.permit.expiresAt, 'policy'));
  }
  if (e.needsPerson !== null) return;
  const own = ownRecoveries(s, e, at);
  // a target that can be asked is asked before anything is repeated, and again only where nothing may be repeated
  if (own.look && (e.looks === 0 || !own.again)) return add(need('policy-gate', `recover:${e.effect}:${e.looks}`, Math.max(at, nextLookAt(e))));
  if (own.again) return add(need('policy-gate', `repeat:${e.effect}:${e.attempts.length}`, at));
  if (!own.later) add(need('effect-reconciler', `person:${e.effect}`, at));
}

function effectNeeds(e: Effect, s: RunState, add: (n: Need) => void): void {
  const at = s.lastAt;
  const attempt = lastAttempt(e);
  if (e.stage === 'in-flight' && attempt) return add(need('effect-reconciler', `lease:${attempt.attempt}`, attempt.startedAt + attempt.leaseMs)); // keeps N2
  if (e.stage === 'unknown') return unknownNeeds(e, s, add);
  if (s.status !== 'active') return;
  if (e.needsPerson !== null) return;
  if (e.stage === 'permitted' && e.permit !== null) {
    if (permitStale(s, e.permit)) return add(need('policy-gate', `rejudge:${e.permit.permit}`, at));
    add(need('effect-reconciler', `attempt:${e.permit.permit}`, at));
    return add(need('policy-gate', `expiry:${e.permit.permit}`, e.permit.expiresAt, 'policy')); // a permit that nobody could use is judged again
  }
  if (e.stage === 'intended' || e.stage === 'not-sent') return add(need('policy-gate', `judge:${e.effect}:${e.attempts.length}`, e.stage === 'intended' ? at : at + FAILURE_BACKOFF_MS * 2 ** e.attempts.length));
  if (e.stage === 'awaiting-approval') {
    const a = Object.values(s.approvals).find((x) => x.effect === e.effect && x.stage !== 'spent');
    if (a !== undefined) add(need('policy-gate', `approval:${a.approval}:${a.stage}`, a.stage === 'requested' ? a.expiresAt : at));
  }
}

export function needsOf(s: RunState): readonly Need[] {
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
  if (s.receiptsPending.length > 0) hold(need('effect-reconciler', 'receipts', at));
  if (s.findings.some((f) => f.stage === 'submitted')) hold(need('policy-gate', 'findings', at));
  if (s.findings.some((f) => f.stage === 'accepted' && !f.applied)) hold(need('effect-reconciler', 'findings', at));
  if (s.status === 'ended') {
    if (s.settle.some((x) => x.reservation in s.budget.reservations)) hold(need('policy-gate', 'settle', at));
    return needs;
  }
  if (s.requests.length > 0) hold(need('policy-gate', `requests:${s.requests.at(-1)?.revision}`, at));
  if (s.blocked !== null && s.status === 'active') hold(need('policy-gate', `blocked:${s.blocked.code}`, FAR, s.blocked.waitsFor));

  switch (whoseMove(s)) {
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
        hold(need('policy-gate', `expiry:${g?.permit?.permit}`, g?.permit?.expiresAt ?? at, 'policy'));
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
