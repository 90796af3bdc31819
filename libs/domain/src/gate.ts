/**
 * The gate's judgement. Its facts come from one reading of the store: the run at its head, every unresolved effect of the tenant, the tenant's
 * documents with their revisions, the tenant's balances. There is no parameter by which anybody else's word could come in.
 *
 * G1. Invariants first (unresolved effects, contract, world), then the tenant's rules, then approvals, then budget; each only narrows.
 * G2. What cannot be loaded denies: without policy, registry or profiles nothing is permitted (POL-4).
 * G3. A permit is for one digest, names the revisions seen and a short life.
 *
 * Rows: EFF-6, EFF-7, POL-2, POL-3, POL-4, POL-5, APP-2, BUD-1, BUD-2, EFF-4.
 */
import { covers, DIMENSIONS, drawFor, idle, isNothing, least, left, minus, most, nearEnd, NOTHING, owed, paid, settled, type Amounts, type Budget, type Dimension } from './budget.js';
import { compiledSubject } from './compile.js';
import { clip } from './content.js';
import { INTERFERENCE, keyTrustedUntil } from './contract.js';
import { draftOn, type Draft } from './draft.js';
import { type Effect, type OpenEffect } from './effect.js';
import type { Fact, Permit, RefusedBecause } from './events.js';
import type { Digest, EffectId, RunId, StoreTimeMs, StreamId } from './ids.js';
import type { Json } from './json.js';
import { budgetWanted, FAILURES_MAX, nextLookAt, ownRecoveries, PERMITS_UNUSED_MAX } from './needs.js';
import { CONTRADICTED, PERMITS_UNUSED } from './fold-effects.js';
import { permitStale } from './permit.js';
import type { Route } from './provider.js';
import { isDisproved, queued, unresolvedOf, type Approval, type RunState } from './run.js';
import { overlaps } from './scope.js';
import { modelOf, rolesOf, sameRoute, tenantRevisions, type PolicyDocument, type TenantState } from './tenant.js';
import { offers, stillMapped, toolNamed } from './tool.js';
import { whoseMove } from './turn.js';

export interface DecisionView {
  readonly state: RunState;
  /** All unresolved effects of the tenant that share a scope with this run's intents, from every run. */
  readonly open: readonly (OpenEffect & { readonly run: RunId })[];
  readonly tenant: TenantState;
  readonly balance: Amounts;
  /** The store lost acknowledged events of this run and nobody has looked yet (OPS-2). */
  readonly suspect: boolean;
  /** Every tenant stream at the revision that this reading saw. */
  readonly standing: readonly { readonly stream: StreamId; readonly revision: number }[];
  readonly now: StoreTimeMs;
}
export interface GatePorts {
  /** A fresh id for the n-th thing of this decision. */
  readonly id: (kind: string, n: number) => string;
  readonly digest: (v: Json) => Digest;
}

/** Facts of one judgement; the store takes 64 in one append. What is left waits for the next judgement, which the seal after this one brings. */
export const FACTS_MAX = 48;
const EVENTS_MAX = 60;

type No = RefusedBecause;
/** Words of people and policies are repeated as far as the log takes them: what it refused would leave the run without any answer. */
const WORDS_MAX = 4000;
const no = (code: string, reason: string, facts: Json = {}): No => ({ code, reason: clip(reason, WORDS_MAX), facts });

/** Reasons for one approval: many are asked for in one append. */
function briefly(reasons: readonly string[]): readonly string[] {
  const told: string[] = [];
  let room = WORDS_MAX;
  for (const [at, r] of reasons.entries()) {
    if (room <= 0) return [...told, `and ${reasons.length - at} more`];
    told.push(clip(r, room));
    room -= r.length;
  }
  return told;
}

interface Judging { readonly view: DecisionView; readonly policy: PolicyDocument; readonly d: Draft; readonly ports: GatePorts; n: number }
const next = (j: Judging, kind: string): string => j.ports.id(kind, j.n++);

function permitFor(j: Judging, subject: Digest, until = Infinity): Permit {
  return { permit: next(j, 'permit'), subject, seenRevision: j.d.state.revision + 1, tenant: tenantRevisions(j.view.tenant), expiresAt: Math.min(j.view.now + j.policy.permitLifeMs, until), world: j.d.state.world };
}

/** The tenant's balance after the facts so far. */
const remaining = (j: Pick<Judging, 'd' | 'view'>): Amounts => minus(j.view.balance, minus(paid(j.d.state.budget), paid(j.view.state.budget)));

/** Reserves, drawing a slice from the tenant if needed; or says which dimension is short, and whose. */
function reserve(j: Judging, what: 'generation' | 'effect', amounts: Amounts): { readonly reservation: string } | { readonly short: Dimension; readonly of: 'run' | 'tenant' } {
  const b = j.d.state.budget;
  const missing = DIMENSIONS.find((x) => left(b)[x] < amounts[x]);
  if (missing !== undefined) return { short: missing, of: 'run' };
  const balance = remaining(j);
  let drawn = drawFor(b, amounts, j.policy.slice);
  if (!covers(balance, drawn)) drawn = most(minus(amounts, idle(b)), NOTHING);
  const short = DIMENSIONS.find((x) => balance[x] < drawn[x]);
  if (short !== undefined) return { short, of: 'tenant' };
  const reservation = next(j, 'reservation');
  j.d.add('budget.reserved', { reservation, for: what, amounts, drawn });
  const near = nearEnd(j.d.state.budget);
  if (near.length > 0 && !j.d.state.budget.warned) j.d.add('budget.warned', { dimensions: near });
  return { reservation };
}

/** Invariants and rules for one intent, in their order (G1). */
function objections(j: Judging, e: Effect): { readonly deny: No } | { readonly ask: readonly string[]; /** Unresolved effects that an approval would be given beside. */ readonly beside: readonly EffectId[] } {
  const { view, policy } = j;
  const s = j.d.state;
  if (view.suspect) return { deny: no('STORE_SUSPECT', 'the store lost acknowledged events of this run: nothing is done in the world before a person has looked') };
  if (view.tenant.registry === null) return { deny: no('REGISTRY_UNAVAILABLE', 'no tool registry is published: nothing can be permitted') };
  const tool = toolNamed({ revision: view.tenant.registry.revision, tools: view.tenant.registry.document.tools }, e.tool);
  if (tool === undefined || !stillMapped(tool, e.mapping) || tool.mappingRevision !== e.mapping.mappingRevision || tool.target !== e.scope.target || j.ports.digest(tool.contract as unknown as Json) !== j.ports.digest(e.contract as unknown as Json)) return { deny: no('TOOL_NOT_MAPPED', `tool ${e.tool} is no longer the tool that the call was made for`, { pinned: { ...e.mapping } }) };
  if (!offers(s, tool)) return { deny: no('TOOL_NOT_OFFERED', `tool ${e.tool} is not among the tools of this run`) };
  if (e.world.kind !== s.world.kind || e.world.kind !== 'real') return { deny: no('NO_RECORDING', 'the world of this run is simulated and has no recording for this call') };
  if (e.attempts.length >= policy.attemptsMax) return { deny: no('ATTEMPTS_EXHAUSTED', `${e.attempts.length} attempts were made; the policy allows ${policy.attemptsMax}`, { attempts: e.attempts.length }) };
  const ask: string[] = [];
  const beside: EffectId[] = [];
  for (const o of view.open) {
    if (o.effect === e.effect || !overlaps(o.scope, e.scope) || (o.run === s.run && o.generation === e.generation && o.stage === 'in-flight')) continue; // siblings pass, until one of them may have happened unseen
    const verdict = INTERFERENCE[o.kind][e.contract.kind];
    if (verdict === 'deny') return { deny: no('EFFECT_UNRESOLVED', `effect ${o.effect} (${o.tool}) on the same target is ${o.stage}: it may have happened, so this is not done again before it is settled`, { unresolved: o.effect, run: o.run, stage: o.stage, contract: o.kind }) };
    if (verdict === 'ask') { ask.push(`effect ${o.effect} on the same target is ${o.stage}`); beside.push(o.effect); }
  }
  for (const r of policy.rules) {
    if (!r.tools.includes('*') && !r.tools.includes(e.tool)) continue;
    if (r.effect === 'forbid') return { deny: no('POLICY_FORBIDS', `${r.reason} (rule ${r.id})`, { rule: r.id }) };
    ask.push(clip(`${r.reason} (rule ${r.id})`, WORDS_MAX));
  }
  return { ask, beside };
}

/** Nobody approves what they asked for, where policy says so. */
const ownApproval = (j: Judging, a: Approval): boolean => j.policy.fourEyes && a.by !== null && j.d.state.askers.includes(a.by.id);

/** An approval that stands for exactly this intent now, beside no more than what it was asked beside, or null. A repetition that the contract allows may cite the one that its first attempt spent, while it lives (APP-3). */
function approvalFor(j: Judging, e: Effect, beside: readonly EffectId[]): string | null {
  const { view, policy } = j;
  const a = Object.values(j.d.state.approvals).find((x) => x.effect === e.effect && x.subject === e.subject && (x.stage === 'approved' || (x.stage === 'spent' && e.stage === 'unknown')) && x.expiresAt > view.now && beside.every((b) => x.beside.includes(b)));
  if (a === undefined || a.by === null || ownApproval(j, a)) return null;
  const roles = rolesOf(view.tenant.roles?.document, a.by.id);
  return roles.some((r) => policy.approverRoles.includes(r)) ? a.approval : null;
}

const judgeable = (j: Judging, e: Effect): boolean =>
  e.stage === 'intended' || e.stage === 'not-sent' || e.stage === 'awaiting-approval' || (e.stage === 'permitted' && e.permit !== null && unusable(j, e.permit) && !queued(j.d.state, e));
function unusable(j: Judging, p: Permit): boolean {
  const t = tenantRevisions(j.view.tenant);
  return permitStale(j.d.state, p) || p.expiresAt <= j.view.now || t.policy !== p.tenant.policy || t.registry !== p.tenant.registry || t.roles !== p.tenant.roles || t.profiles !== p.tenant.profiles;
}

function judgeEffect(j: Judging, e: Effect): (() => void) | null {
  const o = objections(j, e);
  if ('deny' in o) { j.d.add('effect.denied', { effect: e.effect, ...o.deny }); return null; }
  const approval = o.ask.length === 0 ? null : approvalFor(j, e, o.beside);
  if (o.ask.length > 0 && approval === null) {
    const own = Object.values(j.d.state.approvals).filter((x) => x.effect === e.effect && x.subject === e.subject);
    const waiting = own.find((x) => x.stage === 'requested' && x.expiresAt > j.view.now);
    if (waiting !== undefined) return null;
    const ended = own.at(-1);
    if (ended !== undefined) { j.d.add('effect.denied', { effect: e.effect, ...no('NOT_APPROVED', ended.stage === 'approved' ? `approval ${ended.approval} by ${ended.by?.id ?? 'nobody'} does not stand: it ran out, its giver has no such role or asked for it, or something else on the same target became unresolved since` : `approval ${ended.approval} is ${ended.stage === 'requested' ? 'expired' : ended.stage}`, { approval: ended.approval }) }); return null; }
    j.d.add('approval.requested', { approval: next(j, 'approval'), effect: e.effect, subject: e.subject, reasons: briefly(o.ask), beside: o.beside, expiresAt: j.view.now + j.policy.approvalLifeMs });
    return null;
  }
  return permitEffect(j, e, approval, o.beside);
}

/** A repetition must begin while the target surely knows the key. */
const repeatableUntil = (e: Effect): StoreTimeMs => (e.stage === 'unknown' && e.contract.kind === 'keyed' ? keyTrustedUntil(e.contract, e.attempts[0]?.startedAt ?? 0) : Infinity);

/** Reserves, and returns what gives the permit; null when the budget does not cover it, which is said. */
function permitEffect(j: Judging, e: Effect, approval: string | null, beside: readonly EffectId[]): (() => void) | null {
  let reservation = e.reservation !== null && e.reservation in j.d.state.budget.reservations ? e.reservation : null;
  if (reservation === null) {
    const r = reserve(j, 'effect', e.amounts);
    if ('short' in r) {
      j.d.add('budget.exhausted', { dimension: r.short, needed: e.amounts, of: r.of });
      j.d.add(e.stage === 'unknown' ? 'effect.recovery-denied' : 'effect.denied', { effect: e.effect, ...no('BUDGET_EXHAUSTED', `the ${r.of}'s budget of ${r.short} does not cover it`, { dimension: r.short, of: r.of }) });
      return null;
    }
    reservation = r.reservation;
  }
  const held = reservation;
  // Permits come last in the append, so that no denial beside them makes them stale.
  return () => {
    const siblings = Object.values(j.d.state.effects).filter((x) => x.generation === e.generation && x.effect !== e.effect && x.stage !== 'unknown').map((x) => x.effect);
    j.d.add('effect.permitted', { effect: e.effect, attemptNumber: e.attempts.length + 1, siblings: [...new Set([...siblings, ...beside])], reservation: held, approval, ...permitFor(j, e.subject, repeatableUntil(e)) });
  };
}

const full = (j: Pick<Judging, 'd'>, more = 0): boolean => j.d.facts.length + more >= FACTS_MAX;

/** Its permits ran out one after the other, and this one did too: another would end like them. */
const leftUnused = (j: Judging, x: { readonly unused: number }, p: Permit | null): boolean => p !== null && p.expiresAt <= j.view.now && x.unused >= PERMITS_UNUSED_MAX - 1;

/** What was done since rested on something that was not so (EFF-9): a person decides how it goes on. */
function pauseContradicted(j: Judging): void {
  const c = j.d.state.contradictions.unasked;
  if (c.length > 0) j.d.add('run.paused', { code: CONTRADICTED, reason: clip(`settled as not having happened, and now there is evidence that it did: ${c.map((x) => `${x.tool} (${x.effect}), by a ${x.from}`).join('; ')}. It may have been done again since: look, then resume the run`, 2000) });
}

/** Permits that nobody uses are not renewed for ever: a person finds out why, and resumes the run. */
function pauseUnused(j: Judging): void {
  const { effects, generation: g } = j.d.state;
  const e = Object.values(effects).find((x) => x.stage === 'permitted' && leftUnused(j, x, x.permit));
  if (e !== undefined || (g?.stage === 'permitted' && leftUnused(j, g, g.permit))) j.d.add('run.paused', { code: PERMITS_UNUSED, reason: `${PERMITS_UNUSED_MAX} permits in a row for ${e === undefined ? 'the model call' : `${e.tool} (${e.effect})`} ran out before anybody used them: find out why, then resume the run` });
}

function judgeEffects(j: Judging): void {
  if (j.d.state.status !== 'active') return;
  const permits: (() => void)[] = [];
  for (const e of Object.values(j.d.state.effects)) {
    if (!judgeable(j, e) || e.needsPerson !== null) continue;
    if (full(j, permits.length)) break;
    const give = judgeEffect(j, e);
    if (give !== null) permits.push(give);
  }
  for (const give of permits) give();
}

/** Looking, or attempting again where the contract lets us, for effects of unknown outcome. What cannot be tried is said, so that a person knows. */
function recover(j: Judging): void {
  const { now } = j.view;
  for (const e of unresolvedOf(j.d.state)) {
    if (full(j)) return;
    if (e.stage !== 'unknown' || e.needsPerson !== null || (e.permit !== null && !unusable(j, e.permit)) || (e.lookPermit !== null && e.lookPermit.expiresAt > now)) continue;
    if (j.d.state.findings.some((f) => f.effect === e.effect && f.stage === 'accepted' && !f.applied)) continue; // it is settled already, but for the recording
    if (leftUnused(j, e, e.lookPermit ?? e.permit)) { j.d.add('effect.recovery-denied', { effect: e.effect, ...no(PERMITS_UNUSED, `${PERMITS_UNUSED_MAX} permits in a row ran out before anybody used them: resume the run to have it tried again, or say what happened`) }); continue; }
    const all = ownRecoveries(j.d.state, e, now);
    const own = { ...all, look: all.look && e.looks < j.policy.looksMax };
    if (own.look && (e.looks === 0 || !own.again)) {
      if (nextLookAt(e) <= now) j.d.add('look.permitted', { effect: e.effect, look: e.looks + 1, ...permitFor(j, e.subject) });
    } else if (own.again) judgeRepetition(j, e);
    else if (!own.later) j.d.add('effect.recovery-denied', { effect: e.effect, ...no('NO_RECOVERY_LEFT', all.look ? `${e.looks} looks gave no settling answer: only a receipt or a person can tell` : `its contract (${e.contract.kind}) leaves the system nothing to try: only a receipt or a person can tell`) });
  }
}

/** A repetition is judged like any attempt, but its denial leaves the effect unknown. */
function judgeRepetition(j: Judging, e: Effect): void {
  const o = objections(j, e);
  if ('deny' in o) return j.d.add('effect.recovery-denied', { effect: e.effect, ...o.deny });
  const approval = o.ask.length === 0 ? null : approvalFor(j, e, o.beside);
  if (o.ask.length > 0 && approval === null) return j.d.add('effect.recovery-denied', { effect: e.effect, ...no('REPETITION_NEEDS_PERSON', clip(o.ask.join('; '), 1000)) });
  permitEffect(j, e, approval, o.beside)?.();
}

function judgeFindings(j: Judging): void {
  for (const f of j.d.state.findings.filter((x) => x.stage === 'submitted').slice(0, FACTS_MAX / 2)) {
    const e = j.d.state.effects[f.effect];
    const roles = rolesOf(j.view.tenant.roles?.document, f.by.id);
    if (f.by.kind !== 'person' || !roles.some((r) => j.policy.findingRoles.includes(r))) j.d.add('finding.refused', { finding: f.finding, effect: f.effect, ...no('NOT_AUTHORISED', `${f.by.id} holds none of the roles that may judge what happened: ${j.policy.findingRoles.join(', ')}`) });
    else if (j.d.state.findings.some((x) => x.effect === f.effect && x.stage === 'accepted' && !x.applied)) j.d.add('finding.refused', { finding: f.finding, effect: f.effect, ...no('ALREADY_FOUND', 'another finding about this effect was accepted before') });
    else if (e?.stage !== 'unknown' && !(f.verdict === 'happened' && isDisproved(j.d.state, f.effect))) j.d.add('finding.refused', { finding: f.finding, effect: f.effect, ...no('NOT_UNKNOWN', `the effect is ${e?.stage ?? 'not open'}: there is nothing to find`) });
    else j.d.add('finding.accepted', { finding: f.finding, effect: f.effect, verdict: f.verdict, by: f.by });
  }
}

export function eligibleRoute(t: TenantState): Route | null {
  const doc = t.profiles?.document;
  return doc?.preference.find((r) => modelOf(doc, r) !== undefined) ?? null;
}

function judgeGeneration(j: Judging): void {
  const s = j.d.state;
  const g = s.generation;
  if (g === null || g.stage === 'started' || (g.stage === 'permitted' && g.permit !== null && !unusable(j, g.permit))) return;
  const doc = j.view.tenant.profiles?.document;
  const model = modelOf(doc, g.route);
  const revisions = tenantRevisions(j.view.tenant);
  if (j.view.suspect) return j.d.add('generation.denied', { generation: g.generation, ...no('STORE_SUSPECT', 'the store lost acknowledged events of this run: nothing is sent before a person has looked', { tenant: { ...revisions } }) });
  const changes = s.route !== null && !sameRoute(s.route, g.route);
  if (changes && s.task?.changePolicy === 'forbid') return j.d.add('generation.denied', { generation: g.generation, ...no('CHANGE_FORBIDDEN', 'this run forbids a change of its decision-maker', { tenant: { ...revisions } }) });
  if (changes && s.task?.changePolicy === 'review') return j.d.add('generation.denied', { generation: g.generation, ...no('CHANGE_NEEDS_REVIEW', 'a person must resume the run before its decision-maker changes', { tenant: { ...revisions } }) });
  const gone = (r: Route): string => `account ${r.account} with model ${r.model} is no longer configured`;
  if (model === undefined) {
    const to = eligibleRoute(j.view.tenant);
    if (to === null) return j.d.add('generation.denied', { generation: g.generation, ...no('NO_ROUTE', 'no provider account and model is configured that this run may use', { tenant: { ...revisions } }) });
    return j.d.add('route.decided', { from: s.route, to, reason: gone(g.route), tenant: revisions });
  }
  const subject = compiledSubject(s);
  if (subject === null || j.ports.digest(subject) !== g.subject) return j.d.add('generation.denied', { generation: g.generation, ...no('CONTEXT_MISMATCH', 'the compiled context is not what its digest says', { tenant: { ...revisions } }) });
  const tokens = g.tokensMax.input + g.tokensMax.output;
  const usd = Math.ceil((g.tokensMax.input * model.usdMicrosPer1kInput + g.tokensMax.output * model.usdMicrosPer1kOutput) / 1000);
  let reservation = g.reservation !== null && g.reservation in s.budget.reservations ? g.reservation : null;
  if (reservation === null) {
    const amounts = { usd_micros: usd, tokens, calls: 0 };
    const r = reserve(j, 'generation', amounts);
    if ('short' in r) {
      j.d.add('budget.exhausted', { dimension: r.short, needed: amounts, of: r.of });
      return j.d.add('generation.denied', { generation: g.generation, ...no('BUDGET_EXHAUSTED', `the ${r.of}'s budget of ${r.short} does not cover ${amounts[r.short]}`, { dimension: r.short, needed: amounts[r.short], of: r.of, tenant: { ...revisions } }) });
    }
    reservation = r.reservation;
  }
  if (s.route === null || !sameRoute(s.route, g.route)) j.d.add('route.decided', { from: s.route, to: g.route, reason: s.route === null ? 'the first eligible route of the tenant' : modelOf(doc, s.route) === undefined ? gone(s.route) : 'the context was compiled for it', tenant: revisions });
  j.d.add('generation.permitted', { generation: g.generation, reservation, ...permitFor(j, g.subject) });
}

/** What is owed, as far as the tenant's account goes; nothing of it: no field. */
function charge(j: Pick<Judging, 'd' | 'view'>, b: Budget): { readonly charged?: Amounts } {
  const charged = most(least(owed(b), remaining(j)), NOTHING);
  return isNothing(charged) ? {} : { charged };
}
function settle(j: Pick<Judging, 'd' | 'view'>): void {
  for (const x of j.d.state.settle.slice(0, Math.max(0, EVENTS_MAX - j.d.facts.length))) {
    const b = j.d.state.budget;
    if (x.reservation in b.reservations) j.d.add('budget.settled', { ...x, ...(j.d.state.status === 'ended' ? charge(j, settled(b, x.reservation, x.used)) : {}) });
  }
}

function end(j: Pick<Judging, 'd' | 'view'>, how: 'completed' | 'by-person' | 'failed', by: import('./ids.js').Actor, reason: string): void {
  for (const e of Object.values(j.d.state.effects)) if (['intended', 'not-sent', 'awaiting-approval', 'permitted'].includes(e.stage) && !full(j)) j.d.add('effect.withdrawn', { effect: e.effect, reason: 'the run ends' });
  settle(j);
  if (full(j)) return; // more than one append holds: the request stays, and the rest follows
  const g = j.d.state.generation;
  if (g !== null && g.stage !== 'started' && g.reservation !== null && g.reservation in j.d.state.budget.reservations) j.d.add('budget.settled', { reservation: g.reservation, used: NOTHING });
  j.d.add('run.ended', { how, withUnknowns: unresolvedOf(j.d.state).length > 0, by, reason, returned: most(idle(j.d.state.budget), NOTHING), ...charge(j, j.d.state.budget) });
}

function answerRequests(j: Pick<Judging, 'd' | 'view'>): void {
  const s = j.d.state;
  const ending = s.requests.find((r) => r.kind === 'end');
  if (ending !== undefined) return end(j, 'by-person', ending.actor, ending.reason);
  const last = s.requests.at(-1);
  if (last === undefined) return;
  if (last.kind === 'pause') return j.d.add('run.paused', { code: 'ASKED', reason: last.reason });
  j.d.add('run.resumed', { reason: clip(`${last.kind === 'resume' ? 'resume run' : 'continue provider response'}: ${last.reason}`, WORDS_MAX) });
}

function reconsiderBlocked(j: Judging): void {
  const b = j.d.state.blocked;
  if (b === null || b.waitsFor === 'person') return;
  const was = (b.facts as { tenant?: { [k: string]: number } }).tenant ?? {};
  const is = tenantRevisions(j.view.tenant);
  const changed = (['policy', 'registry', 'profiles', 'roles'] as const).filter((k) => was[k] !== is[k]);
  const wanted = budgetWanted(j.d.state);
  const funded = wanted !== null && j.view.balance[wanted.dimension] >= wanted.least;
  if (changed.length > 0 || funded) j.d.add('run.resumed', { reason: funded ? 'the tenant has budget again' : `${changed.join(', ')} changed: judged again` });
}

/** All that the gate has to say about this run now; empty: nothing. Called again with the same view it says the same, but for ids. */
export function judge(view: DecisionView, ports: GatePorts): readonly Fact[] {
  const s = view.state;
  if (s.status === 'new' || s.boundary.length > 0) return [];
  const d = draftOn(s, 'policy-gate', view.now);
  const policy = view.tenant.policy?.document;
  if (policy === undefined) { // keeps G2; a person's own word about the run needs no policy (HUM-2)
    for (const f of s.findings.filter((x) => x.stage === 'submitted').slice(0, FACTS_MAX / 2)) d.add('finding.refused', { finding: f.finding, effect: f.effect, ...no('POLICY_UNAVAILABLE', 'no policy says who may judge what happened') });
    answerRequests({ d, view });
    if (d.state.status === 'ended' || d.state.requests.length > 0) return d.facts;
    for (const e of Object.values(s.effects)) if (d.state.status === 'active' && !full({ d }) && (e.stage === 'intended' || e.stage === 'not-sent')) d.add('effect.denied', { effect: e.effect, ...no('POLICY_UNAVAILABLE', 'no policy is published: nothing can be permitted') });
    const g = d.state.generation;
    if (d.state.status === 'active' && g?.stage === 'compiled') d.add('generation.denied', { generation: g.generation, ...no('POLICY_UNAVAILABLE', 'no policy is published: nothing can be permitted', { tenant: { ...tenantRevisions(view.tenant) } }) });
    return d.facts;
  }
  const j: Judging = { view, policy, d, ports, n: 0 };
  judgeFindings(j);
  answerRequests(j);
  if (d.state.status === 'active' && !d.state.requests.some((r) => r.kind === 'end')) {
    pauseContradicted(j);
    if (d.state.status === 'active') reconsiderBlocked(j);
    if (d.state.status === 'active') pauseUnused(j);
  }
  if (d.state.status === 'active' && !d.state.requests.some((r) => r.kind === 'end')) {
    judgeEffects(j);
    judgeGeneration(j);
    if (d.state.failures.count >= FAILURES_MAX && whoseMove(d.state) === 'compile') d.add('run.paused', { code: 'MODEL_FAILING', reason: clip(`${d.state.failures.count} attempts in a row gave no output; the last one: ${d.state.failures.lastCode ?? 'unknown'}`, WORDS_MAX) });
    if (whoseMove(d.state) === 'finish') {
      if (d.state.finished !== 'stop') d.add('run.paused', { code: 'MODEL_FINISHED_ABNORMALLY', reason: `the model ended its output with "${d.state.finished}", which is not success` });
      else if (d.state.task?.whenDone === 'end') end(j, 'completed', { kind: 'service', id: `segment ${d.state.segment}` }, 'the model gave its last output; that says nothing about its correctness');
    }
  }
  recover(j);
  if (s.status === 'ended' || (d.facts.length > 0 && d.state.status !== 'ended')) settle(j);
  return orderPermitsLast(s, d.facts);
}

/** A settlement or a look behind a permit changes no authority, but a permit's seen revision must not precede it: permits are renumbered to the append's end. */
function orderPermitsLast(s: RunState, facts: readonly Fact[]): readonly Fact[] {
  const end = s.revision + facts.length;
  return facts.map((f) => (f.type === 'effect.permitted' || f.type === 'generation.permitted' || f.type === 'look.permitted' ? ({ ...f, data: { ...f.data, seenRevision: end } } as Fact) : f));
}
