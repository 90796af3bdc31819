/**
 * The gate's judgement. Its facts come from one reading of the store: the run at its head, every unresolved effect of the tenant, the tenant's
 * documents with their revisions, the tenant's balances. There is no parameter by which anybody else's word could come in.
 *
 * G1. Invariants first (unresolved effects, contract, world), then the tenant's rules and hook, then approvals, then budget; each only narrows.
 * G2. What cannot be loaded denies: without policy, registry or profiles nothing is permitted (POL-4).
 * G3. A permit is for one digest, names the revisions seen and a short life. Every decision says what it rests on, so that it can be derived again.
 *
 * Rows: EFF-6, EFF-7, POL-2, POL-3, POL-4, POL-5, APP-2, BUD-1, BUD-2, EFF-4, SCH-3.
 */
import { NOTHING } from '../budget.js';
import { clip } from '../content.js';
import { draftOn } from '../draft.js';
import type { Fact } from '../events.js';
import { CONTRADICTED, PERMITS_UNUSED } from '../fold-effects.js';
import type { Actor } from '../ids.js';
import { budgetWanted, FAILURES_MAX, PERMITS_UNUSED_MAX, workEndsAt } from '../needs.js';
import { unresolvedOf, type RunState } from '../run.js';
import { tenantRevisions } from '../tenant.js';
import { whoseMove } from '../turn.js';
import { judgeEffects, leftUnused } from './calls.js';
import { judgeGeneration } from './generations.js';
import { denied, FACTS_MAX, full, no, WORDS_MAX, type Bare, type GatePorts, type GateView, type Judging } from './judging.js';
import { atEnd, settle } from './money.js';
import { judgeFindings, judgeMigrations, judgeRaises } from './people.js';
import { recover } from './recover.js';

/** What was done since rested on something that was not so (EFF-9): a person decides how it goes on. */
function pauseContradicted(j: Judging): void {
  const c = j.d.state.contradictions.unasked;
  if (c.length > 0) j.d.add('run.paused', { code: CONTRADICTED, reason: clip(`settled as refused or as not having happened, and now there is evidence that it did: ${c.map((x) => `${x.tool} (${x.effect}), by a ${x.from}`).join('; ')}. It may have been done again since: look, then resume the run`, 2000) });
}

/** Permits that nobody uses are not renewed for ever: a person finds out why, and resumes the run. */
function pauseUnused(j: Judging): void {
  const { effects, generation: g } = j.d.state;
  const e = Object.values(effects).find((x) => x.stage === 'permitted' && leftUnused(j, x, x.permit));
  if (e !== undefined || (g?.stage === 'permitted' && leftUnused(j, g, g.permit))) j.d.add('run.paused', { code: PERMITS_UNUSED, reason: `${PERMITS_UNUSED_MAX} permits in a row for ${e === undefined ? 'the model call' : `${e.tool} (${e.effect})`} ran out before anybody used them: find out why, then resume the run` });
}

function pauseAtWorkEnd(j: Judging): void {
  const end = workEndsAt(j.d.state);
  if (end !== null && end <= j.view.now) j.d.add('run.paused', { code: 'WORK_TIME_EXHAUSTED', reason: `the run was at work for ${j.d.state.clock.limitMs} ms, which is all that it may: raise its time and resume it, or end it` });
}

function end(j: Bare, how: 'completed' | 'by-person' | 'failed', by: Actor, reason: string): void {
  for (const e of Object.values(j.d.state.effects)) if (['intended', 'not-sent', 'awaiting-approval', 'permitted'].includes(e.stage) && !full(j)) j.d.add('effect.withdrawn', { effect: e.effect, reason: 'the run ends' });
  settle(j);
  if (full(j)) return; // more than one append holds: the request stays, and the rest follows
  const g = j.d.state.generation;
  if (g !== null && g.stage !== 'started' && g.reservation !== null && g.reservation in j.d.state.budget.reservations) j.d.add('budget.settled', { reservation: g.reservation, used: NOTHING });
  j.d.add('run.ended', { how, withUnknowns: unresolvedOf(j.d.state).length > 0, by, reason, ...atEnd(j) });
}

function answerRequests(j: Bare): void {
  const s = j.d.state;
  const ending = s.requests.find((r) => r.kind === 'end');
  if (ending !== undefined) return end(j, 'by-person', ending.actor, ending.reason);
  const last = s.requests.at(-1);
  if (last === undefined) return;
  if (last.kind === 'pause') return j.d.add('run.paused', { code: 'ASKED', reason: last.reason });
  j.d.add('run.resumed', { reason: clip(`${last.kind === 'resume' ? 'resume run' : 'continue provider response'}: ${last.reason}`, WORDS_MAX) });
}

function reconsiderBlocked(j: Bare): void {
  const b = j.d.state.blocked;
  if (b === null || b.waitsFor === 'person') return;
  const was = (b.facts as { tenant?: { [k: string]: number } }).tenant ?? {};
  const is = tenantRevisions(j.view.tenant);
  const changed = (['policy', 'registry', 'profiles', 'roles'] as const).filter((k) => was[k] !== is[k]);
  const wanted = budgetWanted(j.d.state);
  const funded = wanted !== null && j.view.balance[wanted.dimension] >= wanted.least;
  if (changed.length > 0 || funded) j.d.add('run.resumed', { reason: funded ? 'the tenant has budget again' : `${changed.join(', ')} changed: judged again` });
}

/** keeps G2; a person's own word about the run needs no policy (HUM-2). */
function withoutPolicy(view: GateView, d: Judging['d']): readonly Fact[] {
  const j: Bare = { d, view };
  const none = no('POLICY_UNAVAILABLE', 'no policy is published: nothing can be permitted');
  for (const f of view.state.findings.filter((x) => x.stage === 'submitted').slice(0, FACTS_MAX / 2)) d.add('finding.refused', { finding: f.finding, effect: f.effect, ...no('POLICY_UNAVAILABLE', 'no policy says who may judge what happened') });
  for (const r of view.state.raises) if (!full(j)) d.add('budget.raise-refused', { raise: r.raise, ...no('POLICY_UNAVAILABLE', 'no policy says who may raise a budget') });
  for (const m of view.state.migrations) if (!full(j)) d.add('effect.migration-refused', { migration: m.migration, effect: m.effect, ...none });
  answerRequests(j);
  if (d.state.status === 'ended' || d.state.requests.length > 0) return d.facts;
  if (d.state.status === 'active') reconsiderBlocked(j); // woken by another document, it is denied anew: what is due is answered
  for (const e of Object.values(view.state.effects)) if (d.state.status === 'active' && !full(j) && (e.stage === 'intended' || e.stage === 'not-sent')) d.add('effect.denied', { effect: e.effect, ...denied(j, none) });
  const g = d.state.generation;
  if (d.state.status === 'active' && g?.stage === 'compiled') d.add('generation.denied', { generation: g.generation, ...denied(j, { ...none, facts: { tenant: { ...tenantRevisions(view.tenant) } } }) });
  return d.facts;
}

/** All that the gate has to say about this run now; empty: nothing. Called again with the same view it says the same, but for ids. */
export function judge(view: GateView, ports: GatePorts): readonly Fact[] {
  const s = view.state;
  if (s.status === 'new' || s.boundary.length > 0) return [];
  const d = draftOn(s, 'policy-gate', view.now);
  const policy = view.tenant.policy?.document;
  if (policy === undefined) return withoutPolicy(view, d);
  const j: Judging = { view, policy, d, ports, n: 0 };
  judgeFindings(j);
  judgeMigrations(j);
  judgeRaises(j);
  answerRequests(j);
  const goesOn = (): boolean => d.state.status === 'active' && !d.state.requests.some((r) => r.kind === 'end');
  if (goesOn()) {
    pauseContradicted(j);
    if (d.state.status === 'active') pauseAtWorkEnd(j);
    if (d.state.status === 'active') reconsiderBlocked(j);
    if (d.state.status === 'active') pauseUnused(j);
  }
  if (goesOn()) {
    judgeEffects(j);
    judgeGeneration(j);
    finish(j);
  }
  recover(j);
  if (s.status === 'ended' || (d.facts.length > 0 && d.state.status !== 'ended')) settle(j);
  return orderPermitsLast(s, d.facts);
}

function finish(j: Judging): void {
  const { d } = j;
  if (d.state.failures.count >= FAILURES_MAX && whoseMove(d.state) === 'compile') d.add('run.paused', { code: 'MODEL_FAILING', reason: clip(`${d.state.failures.count} attempts in a row gave no output; the last one: ${d.state.failures.lastCode ?? 'unknown'}`, WORDS_MAX) });
  if (whoseMove(d.state) !== 'finish') return;
  if (d.state.finished !== 'stop') d.add('run.paused', { code: 'MODEL_FINISHED_ABNORMALLY', reason: `the model ended its output with "${d.state.finished}", which is not success` });
  else if (d.state.task?.whenDone === 'end') end(j, 'completed', { kind: 'service', id: `segment ${d.state.segment}` }, 'the model gave its last output; that says nothing about its correctness');
}

/** A settlement or a look behind a permit changes no authority, but a permit's seen revision must not precede it: permits are renumbered to the append's end. */
function orderPermitsLast(s: RunState, facts: readonly Fact[]): readonly Fact[] {
  const last = s.revision + facts.length;
  return facts.map((f) => (f.type === 'effect.permitted' || f.type === 'generation.permitted' || f.type === 'look.permitted' ? ({ ...f, data: { ...f.data, seenRevision: last } } as Fact) : f));
}
