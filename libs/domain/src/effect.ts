/**
 * One effect's life. The stage is the strongest thing known; it moves only along the table below.
 *
 *   intended → permitted → in-flight → observed | refused | not-sent | unknown → happened | did-not-happen
 *
 * E1. An effect in flight or unknown is unresolved until evidence moves it; time alone moves it from in-flight to unknown, never on.
 *     A later attempt that was refused or not sent says nothing about an earlier one of unknown outcome: the effect stays unknown.
 * E2. A permit given to an unresolved effect leaves it unresolved.
 *
 * Rows: EFF-1, EFF-3, EFF-4, EFF-10.
 */
import type { ContentRef } from './content.js';
import { isConsequential, keyTrustedUntil, recoveriesOf, type EffectContract, type Recovery } from './contract.js';
import type { Scope } from './scope.js';
import type { EventType, Permit, World } from './events.js';
import type { Amounts } from './budget.js';
import type { AttemptId, Digest, EffectId, GenerationId, StoreTimeMs } from './ids.js';
import type { DataClass, PinnedMapping } from './tool.js';

export const STAGES = ['intended', 'awaiting-approval', 'permitted', 'denied', 'withdrawn', 'in-flight', 'unknown', 'observed', 'refused', 'not-sent', 'happened', 'did-not-happen'] as const;
export type Stage = (typeof STAGES)[number];

export interface Attempt {
  readonly attempt: AttemptId;
  readonly owner: string;
  readonly startedAt: StoreTimeMs;
  readonly leaseMs: number;
  readonly end: 'open' | 'observed' | 'refused' | 'not-sent' | 'unknown';
}

/** A dispatch begins within this share of the lease, or not at all: the rest is for the answer. */
export const DISPATCH_SHARE = 0.5;
/** From then on the attempt can no longer begin: what is counted from its sending is counted from here, and not from its claim. */
export const sentBy = (a: Attempt): StoreTimeMs => a.startedAt + a.leaseMs * DISPATCH_SHARE;

export interface Effect {
  readonly effect: EffectId;
  readonly call: string;
  readonly generation: GenerationId;
  readonly segment: number;
  readonly tool: string;
  readonly mapping: PinnedMapping;
  readonly contract: EffectContract;
  readonly scope: Scope;
  readonly args: ContentRef;
  readonly subject: Digest;
  readonly key: string;
  readonly world: World;
  readonly amounts: Amounts;
  readonly dataClass: DataClass;
  readonly stage: Stage;
  readonly intendedAt: number;
  readonly permit: (Permit & { readonly siblings: readonly EffectId[]; readonly approval: string | null }) | null;
  /** Held from the first permit until the outcome is known, through repetitions of the same effect. */
  readonly reservation: string | null;
  readonly attempts: readonly Attempt[];
  readonly receipts: readonly ContentRef[];
  readonly result: { readonly ok: boolean; readonly text: ContentRef | null; readonly words: string } | null;
  readonly lookPermit: (Permit & { readonly look: number }) | null;
  readonly looks: number;
  readonly lastLookAt: StoreTimeMs | null;
  readonly needsPerson: string | null;
  /** A person said as which of today's tools it is looked at, since its own is no longer there (TOOL-3). */
  readonly migrated: { readonly tool: string; readonly mapping: PinnedMapping; readonly contract: EffectContract } | null;
  /** Its evidence was erased on request: nobody can tell any more what became of it, and it is never repeated (EFF-8). */
  readonly erased: boolean;
  /** What of the run it holds while it is in flight; effects that hold the same go one after the other. */
  readonly holds?: 'workspace';
  /** Permits in a row, for an attempt or a look, that ran out before anybody used them. */
  readonly unused: number;
  readonly command?: true;
  readonly duplicated: number;
}

/** Which stages an event may find, and what it leaves. `same`: the stage stays. */
export const EFFECT_MOVES: { readonly [T in EventType]?: { readonly from: readonly Stage[]; readonly to: Stage | 'same' } } = {
  'approval.requested': { from: ['intended', 'not-sent', 'permitted'], to: 'awaiting-approval' },
  'effect.permitted': { from: ['intended', 'awaiting-approval', 'not-sent', 'permitted', 'unknown'], to: 'permitted' },
  'effect.denied': { from: ['intended', 'awaiting-approval', 'not-sent', 'permitted'], to: 'denied' },
  'effect.withdrawn': { from: ['intended', 'awaiting-approval', 'not-sent', 'permitted'], to: 'withdrawn' },
  'effect.attempt-started': { from: ['permitted', 'unknown'], to: 'in-flight' },
  'effect.observed': { from: ['in-flight'], to: 'observed' },
  'effect.refused': { from: ['in-flight'], to: 'refused' },
  'effect.not-sent': { from: ['in-flight'], to: 'not-sent' },
  'effect.outcome-unknown': { from: ['in-flight'], to: 'unknown' },
  'effect.receipt-recorded': { from: STAGES, to: 'same' },
  'effect.reconciled': { from: ['unknown', 'did-not-happen', 'refused'], to: 'same' },
  'look.permitted': { from: ['unknown'], to: 'same' },
  'effect.looked': { from: ['unknown'], to: 'same' },
  'effect.recovery-denied': { from: ['unknown'], to: 'same' },
  'effect.needs-person': { from: ['unknown', 'not-sent', 'intended', 'permitted', 'awaiting-approval'], to: 'same' },
  'effect.duplicated': { from: ['in-flight', 'unknown', 'observed', 'happened', 'did-not-happen', 'refused'], to: 'same' },
  'effect.finding-submitted': { from: ['unknown', 'happened', 'did-not-happen', 'refused'], to: 'same' },
  'finding.accepted': { from: ['unknown', 'happened', 'did-not-happen', 'refused'], to: 'same' },
  'effect.migration-requested': { from: ['unknown'], to: 'same' },
  'effect.migrated': { from: ['unknown'], to: 'same' },
};

export const UNRESOLVED: ReadonlySet<Stage> = new Set<Stage>(['in-flight', 'unknown']);
export const isUnresolved = (e: Effect): boolean => UNRESOLVED.has(e.stage);
/** The call that asked for it has its answer, as far as it will get one without a person. */
export const isAnswered = (e: Effect): boolean =>
  ['observed', 'refused', 'denied', 'withdrawn', 'happened', 'did-not-happen'].includes(e.stage) || e.needsPerson !== null;

export const lastAttempt = (e: Effect): Attempt | undefined => e.attempts.at(-1);

/** A repetition was answered with a refusal: the precondition may have failed because the attempt before it took. From here on only evidence can tell (EFF-4). */
const comparedInVain = (e: Effect): boolean => e.attempts.some((a) => a.end === 'refused');

/** Until when an attempt that is claimed now may be sent: a repetition under its key only while the target surely knows the key. */
export const dispatchBy = (e: Effect, now: StoreTimeMs, leaseMs: number): StoreTimeMs =>
  Math.floor(Math.min(now + leaseMs * DISPATCH_SHARE, e.stage === 'unknown' && e.contract.kind === 'keyed' ? keyTrustedUntil(e.contract, e.attempts[0]?.startedAt ?? 0) : Infinity));

/** How the effect may be asked about: as its contract says, and after a migration as both contracts say. Absence is final only where both say so, after the longer time. */
export function queryOf(e: Pick<Effect, 'contract' | 'migrated'>): EffectContract['query'] {
  if (e.migrated === null) return e.contract.query;
  const now = e.migrated.contract.query;
  const own = e.contract.query?.absenceFinalAfterMs ?? null;
  return now && { absenceFinalAfterMs: own === null || now.absenceFinalAfterMs === null ? null : Math.max(own, now.absenceFinalAfterMs) };
}

/** What the system may still do by itself with an unresolved effect, by its pinned contract. A migration lets nothing be repeated. */
export function allowedRecoveries(e: Effect, now: StoreTimeMs): readonly Recovery[] {
  if (e.stage !== 'unknown' || e.erased) return [];
  const own = recoveriesOf(e.contract, e.attempts[0]?.startedAt ?? now, now).filter((r) => r !== 'attempt-again-if-precondition-holds' || !comparedInVain(e));
  return e.migrated === null ? own : [...(queryOf(e) === undefined ? [] : ['look' as const]), ...own.filter((r) => r === 'wait-for-evidence')];
}

/** In words, what must not be repeated. Undefined when repeating is harmless or the effect is settled. */
export const prohibited = (e: Effect): string | undefined =>
  isUnresolved(e) && isConsequential(e.contract) ? `do not ask for ${e.tool} on ${e.scope.target} again: its outcome is ${e.stage === 'in-flight' ? 'pending' : e.erased ? 'unknown, and its evidence was erased' : 'unknown'}` : undefined;

/** A row of the store's `open_effects`: what the gate looks at, from other runs too. */
export interface OpenEffect {
  readonly effect: EffectId;
  readonly tool: string;
  readonly scope: Scope;
  readonly kind: EffectContract['kind'];
  readonly stage: 'in-flight' | 'unknown';
  readonly generation: GenerationId;
}
export const openEffectOf = (e: Effect): OpenEffect | undefined =>
  isUnresolved(e) ? { effect: e.effect, tool: e.tool, scope: e.scope, kind: e.contract.kind, stage: e.stage as 'in-flight' | 'unknown', generation: e.generation } : undefined;
