/**
 * The store's judgement of an append: who may write it, whether it is legal after what is there, and what the append's own transaction must
 * still check. Pure; the store calls it at the expected revision.
 *
 * Rows: RUN-1, SEAL-2, SEAL-5, EFF-2, EFF-6, EFF-7, BUD-2, BUD-5, CON-3.
 */
import { isNothing, minus, paid, type Amounts } from './budget.js';
import { cutOf, differences, type Cut, type Manifest } from './checkpoint.js';
import { isConsequential } from './contract.js';
import { isUnresolved, openEffectOf, type OpenEffect } from './effect.js';
import { EVENT_TABLE, type EventEnvelope } from './events.js';
import { evolve } from './fold.js';
import type { Digest, EffectId, ServiceName } from './ids.js';
import type { Json } from './json.js';
import { broken, illegal } from './legal.js';
import { needsOf, type Need } from './needs.js';
import { both, NO_CONDITIONS, permitStale, requiresOf, type Conditions } from './permit.js';
import type { RunState } from './run.js';

export interface Refused { readonly kind: 'refused'; readonly code: 'WRONG_OWNER' | 'ILLEGAL' | 'PERMIT_STALE' | 'PERMIT_EXPIRED' | 'CHECKPOINT_WRONG' | 'CHECKPOINT_OMITS_EFFECT'; readonly message: string; readonly facts: Json }
export interface Judged {
  readonly kind: 'judged';
  readonly state: RunState;
  readonly conditions: Conditions;
  /** Taken from the tenant's account (negative: given back). */
  readonly debit: Amounts | null;
  readonly openEffects: { readonly upsert: readonly OpenEffect[]; readonly remove: readonly EffectId[] };
  /** Nobody has anything to do on the run until somebody writes again. */
  readonly rests: boolean;
  readonly needs: { readonly upsert: readonly Need[]; readonly remove: readonly { readonly service: ServiceName; readonly reason: string }[] };
  readonly cut: Cut | null;
  readonly eraseContents: boolean;
}
export interface SealCheck { readonly manifest: Manifest | null; readonly canonical: (v: unknown) => string; readonly digest: (text: string) => Digest }

const refuse = (code: Refused['code'], message: string, facts: Json = {}): Refused => ({ kind: 'refused', code, message, facts });

export const mayWrite = (type: EventEnvelope['type'], writer: ServiceName): boolean => EVENT_TABLE[type].writer === 'any' || EVENT_TABLE[type].writer === writer;

/** Whatever else is against it, its permit had ended: a claim that came too late, and no mistake of who made it. */
const expired = (s: RunState, e: EventEnvelope): boolean => e.type === 'effect.attempt-started' && (s.effects[e.data.effect]?.permit?.expiresAt ?? Infinity) <= e.recordedAt;

/** What the transaction must check before this event may stand. */
function conditionsOf(s: RunState, e: EventEnvelope): Conditions | Refused {
  if (e.type === 'effect.attempt-started') {
    const x = s.effects[e.data.effect];
    const p = x?.permit;
    if (x === undefined || p === undefined || p === null) return refuse('ILLEGAL', 'no permit');
    if (permitStale(s, p)) return refuse('PERMIT_STALE', `permit ${p.permit} was given at revision ${p.seenRevision}; authority changed at ${s.authorityRevision}`, { permit: p.permit, seen: p.seenRevision, authority: s.authorityRevision });
    const approval = p.approval === null ? null : s.approvals[p.approval];
    return {
      requires: requiresOf(p.tenant, ['policy', 'registry', 'roles']),
      validUntil: approval ? Math.min(p.expiresAt, approval.expiresAt) : p.expiresAt,
      scopesFree: isConsequential(x.contract) ? [{ scope: x.scope, except: [x.effect, ...p.siblings] }] : [],
    };
  }
  if (e.type === 'generation.started') {
    const p = s.generation?.permit;
    if (p === undefined || p === null) return refuse('ILLEGAL', 'no permit');
    if (permitStale(s, p)) return refuse('PERMIT_STALE', `permit ${p.permit} was given at revision ${p.seenRevision}; authority changed at ${s.authorityRevision}`, { permit: p.permit, seen: p.seenRevision, authority: s.authorityRevision });
    return { requires: requiresOf(p.tenant, ['policy', 'profiles', 'roles']), validUntil: p.expiresAt, scopesFree: [] };
  }
  return NO_CONDITIONS;
}

/** What the tenant has paid changes by slices drawn, by what is charged and given back at the run's end, and by what is settled after it. */
function debitOf(before: RunState, after: RunState): Amounts | null {
  const d = minus(paid(after.budget), paid(before.budget));
  return isNothing(d) ? null : d;
}

function checkSeal(s: RunState, check: SealCheck): Cut | Refused {
  const own = cutOf(s, check.canonical, check.digest);
  if (check.manifest === null) return refuse('CHECKPOINT_WRONG', 'a checkpoint.sealed event comes with its checkpoint, in one append');
  const wrong = differences(check.manifest, own.manifest);
  if (wrong.length === 0) return own;
  // keeps SEAL-5: the store's own fold says which effects are unresolved
  return refuse(wrong.includes('section effects') ? 'CHECKPOINT_OMITS_EFFECT' : 'CHECKPOINT_WRONG', `the checkpoint differs from the run at its cut in: ${wrong.join(', ')}`, { differs: wrong, unresolved: Object.values(s.effects).filter(isUnresolved).map((e) => e.effect) });
}

export function judgeAppend(before: RunState, writer: ServiceName, events: readonly EventEnvelope[], seal: SealCheck): Judged | Refused {
  let s = before;
  let conditions = NO_CONDITIONS;
  let cut: Cut | null = null;
  const last = events.at(-1)?.revision ?? before.revision;
  for (const e of events) {
    if (!mayWrite(e.type, writer)) return refuse('WRONG_OWNER', `${e.type} belongs to ${EVENT_TABLE[e.type].writer}, not to ${writer}`, { type: e.type, owner: EVENT_TABLE[e.type].writer });
    if (e.type === 'dead-letter.recorded' && e.data.service !== writer) return refuse('WRONG_OWNER', 'a dead letter is of the service that records it', { service: e.data.service });
    const why = illegal(s, e);
    if (why !== null) return refuse(expired(s, e) ? 'PERMIT_EXPIRED' : 'ILLEGAL', `${e.type} at revision ${e.revision}: ${why}`, { type: e.type, revision: e.revision, why });
    // only a boundary that this append makes itself, by its transition, may be open here (SEAL-6)
    if (e.type === 'generation.started' && before.boundary.length > 0) return refuse('ILLEGAL', `${e.type} at revision ${e.revision}: a boundary is unsealed`, { type: e.type, revision: e.revision, why: 'a boundary is unsealed' });
    // keeps EFF-7: what claims to have seen more than there is would never be stale
    if ((e.type === 'effect.permitted' || e.type === 'generation.permitted' || e.type === 'look.permitted') && e.data.seenRevision > last) return refuse('ILLEGAL', `${e.type} at revision ${e.revision}: it claims to have seen revision ${e.data.seenRevision}`, { type: e.type, revision: e.revision, why: 'it claims to have seen what is not there yet' });
    const c = conditionsOf(s, e);
    if ('kind' in c) return c;
    conditions = both(conditions, c);
    if (e.type === 'checkpoint.sealed') {
      const checked = checkSeal(s, seal);
      if ('kind' in checked) return checked;
      cut = checked;
    }
    const after = evolve(s, e);
    const wrong = broken(s, after);
    if (wrong !== null) return refuse('ILLEGAL', `${e.type} at revision ${e.revision}: ${wrong}`, { type: e.type, why: wrong });
    s = after;
  }
  return { kind: 'judged', state: s, conditions, debit: debitOf(before, s), cut, openEffects: openDiff(before, s), needs: needDiff(before, s), rests: needsOf(s).length === 0, eraseContents: (!contentEnds(before) && contentEnds(s)) || events.some((e) => e.type === 'content.erased') };
}

/** A run that keeps metadata only lets its content go at its end, but not while something unresolved may still need it (EFF-8). */
export const contentEnds = (s: RunState): boolean =>
  s.status === 'ended' && s.retention === 'metadata-only' && s.receiptsPending.length === 0 && s.findings.every((f) => f.applied) && !Object.values(s.effects).some(isUnresolved);

function openDiff(before: RunState, after: RunState): Judged['openEffects'] {
  const was = new Map(Object.values(before.effects).filter(isUnresolved).map((e) => [e.effect, e.stage]));
  const upsert = Object.values(after.effects).filter((e) => isUnresolved(e) && was.get(e.effect) !== e.stage).map((e) => openEffectOf(e) as OpenEffect);
  const remove = [...was.keys()].filter((id) => { const e = after.effects[id]; return e === undefined || !isUnresolved(e); });
  return { upsert, remove };
}

const keyOf = (n: { readonly service: string; readonly reason: string }): string => `${n.service} ${n.reason}`;
function needDiff(before: RunState, after: RunState): Judged['needs'] {
  const was = new Map(needsOf(before).map((n) => [keyOf(n), n]));
  const is = new Map(needsOf(after).map((n) => [keyOf(n), n]));
  return { upsert: [...is.values()].filter((n) => !was.has(keyOf(n))), remove: [...was.values()].filter((n) => !is.has(keyOf(n))).map((n) => ({ service: n.service, reason: n.reason })) };
}
