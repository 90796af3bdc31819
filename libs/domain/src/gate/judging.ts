/** What one judgement works with, and how it words a refusal and a permit. */
import { clip } from '../content.js';
import type { Draft } from '../draft.js';
import type { OpenEffect } from '../effect.js';
import type { Denied, Grounds, HookAnswer, Permit, RefusedBecause } from '../events.js';
import type { Digest, EffectId, RunId, StoreTimeMs, StreamId } from '../ids.js';
import type { Json } from '../json.js';
import type { Rules } from '../rules.js';
import type { Amounts } from '../budget.js';
import { permitStale } from '../permit.js';
import type { RunState } from '../run.js';
import { tenantRevisions, type PolicyDocument, type TenantState } from '../tenant.js';

/** One reading of the store. */
export interface DecisionView {
  readonly state: RunState;
  /** All unresolved effects of the tenant that share a scope with this run's intents, from every run. */
  readonly open: readonly (OpenEffect & { readonly run: RunId })[];
  readonly tenant: TenantState;
  readonly balance: Amounts;
  /** When a limit of the tenant's opens its next window; null: no limit is in the way. */
  readonly windowEndsAt: StoreTimeMs | null;
  /** The store lost acknowledged events of this run and nobody has looked yet (OPS-2). */
  readonly suspect: boolean;
  /** Every tenant stream at the revision that this reading saw. */
  readonly standing: readonly { readonly stream: StreamId; readonly revision: number }[];
  readonly now: StoreTimeMs;
}
/** What the gate adds to it, from the store too: the arguments of what it judges, by commitment; and what the tenant's own hook said about it, which can only refuse. */
export interface GateView extends DecisionView {
  readonly args: ReadonlyMap<string, Json>;
  readonly hooked: ReadonlyMap<EffectId, HookAnswer>;
}
export interface GatePorts {
  /** A fresh id for the n-th thing of this decision. */
  readonly id: (kind: string, n: number) => string;
  readonly digest: (v: Json) => Digest;
  /** The tenant's rules at the revisions of the view. */
  readonly rules: Rules;
}

/** Facts of one judgement; the store takes 64 in one append. What is left waits for the next judgement, which the seal after this one brings. */
export const FACTS_MAX = 48;
export const EVENTS_MAX = 60;
/** Words of people and policies are repeated as far as the log takes them: what it refused would leave the run without any answer. */
export const WORDS_MAX = 4000;

export const no = (code: string, reason: string, facts: Json = {}): RefusedBecause => ({ code, reason: clip(reason, WORDS_MAX), facts });

export interface Judging { readonly view: GateView; readonly policy: PolicyDocument; readonly d: Draft; readonly ports: GatePorts; n: number }
/** The part of it that needs no policy. */
export type Bare = Pick<Judging, 'd' | 'view'>;
export const next = (j: Judging, kind: string): string => j.ports.id(kind, j.n++);
export const full = (j: Pick<Judging, 'd'>, more = 0): boolean => j.d.facts.length + more >= FACTS_MAX;

/** Of what was met, so many are named: one is enough to refuse. */
const MET_MAX = 8;
export const groundsOf = (j: Bare, by: readonly string[] = [], met: Grounds['met'] = [], hook?: HookAnswer): Grounds => ({ revision: j.view.state.revision, at: j.view.now, by: by.slice(0, 32), met: met.slice(0, MET_MAX).map(({ effect, tool, kind, stage, generation, run }) => ({ effect, tool, kind, stage, generation, run })), ...(hook === undefined ? {} : { hook }) });
export const denied = (j: Bare, because: RefusedBecause, grounds: Grounds = groundsOf(j)): Denied => ({ ...because, tenant: tenantRevisions(j.view.tenant), grounds });

export function permitFor(j: Judging, subject: Digest, grounds: Grounds, until: StoreTimeMs = Infinity): Permit {
  return { permit: next(j, 'permit'), subject, seenRevision: j.d.state.revision + 1, tenant: tenantRevisions(j.view.tenant), expiresAt: Math.min(j.view.now + j.policy.permitLifeMs, until), world: j.d.state.world, grounds };
}
export function unusable(j: Judging, p: Permit): boolean {
  const t = tenantRevisions(j.view.tenant);
  return permitStale(j.d.state, p) || p.expiresAt <= j.view.now || t.policy !== p.tenant.policy || t.registry !== p.tenant.registry || t.roles !== p.tenant.roles || t.profiles !== p.tenant.profiles;
}
