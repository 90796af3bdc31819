/** Laws over whole histories: random moves of model, world, people and tenant, carried on by the real deciders through the real guard. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { budgetHolds, covers, DIMENSIONS, NOTHING, owed, paid, plus, reserved } from './budget.js';
import { fact, type EventEnvelope } from './events.js';
import { fold } from './fold.js';
import { illegal } from './legal.js';
import { needsOf } from './needs.js';
import { applyFindings, expireClaims, recordLook, takeReceipts } from './reconcile.js';
import { emptyRun, type RunState } from './run.js';
import { CONTRACTS, History, OP, OTHER_ROUTE, POLICY, rulesText, profiles, toolOf } from './spec-kit.js';
import { whoseMove } from './turn.js';

const TOOL_NAMES = Object.keys(CONTRACTS);
const call = fc.record({ tool: fc.constantFrom(...TOOL_NAMES, 'nothing'), what: fc.constantFrom('a', 'b') });
const move = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant('go' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('answer' as const), calls: fc.array(call, { maxLength: 3 }), tokens: fc.constantFrom(15, 15, 15, 150_000) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('end' as const), how: fc.constantFrom('observed' as const, 'failed' as const, 'refused' as const, 'not-sent' as const, 'unknown' as const, 'unknown' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('no-answer' as const), how: fc.constantFrom('unknown' as const, 'not-sent' as const, 'refused' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('look' as const), finds: fc.constantFrom('happened' as const, 'not-found' as const, 'cannot-tell' as const) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('finding' as const, 'denying' as const, 'late receipt' as const, 'receipt' as const, 'pause' as const, 'resume' as const, 'input' as const, 'approve' as const, 'expire' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('finish' as const, 'policy' as const, 'registry' as const, 'profiles' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(500, 2000, 20_000, 70_000) }) },
);
type Move = typeof move extends fc.Arbitrary<infer M> ? M : never;

const freeze = <T>(v: T): T => { if (v !== null && typeof v === 'object' && !Object.isFrozen(v)) { Object.freeze(v); Object.values(v).forEach(freeze); } return v; };

function people(h: History, what: string): void {
  const unknown = Object.values(h.state.effects).find((e) => e.stage === 'unknown');
  const asked = Object.values(h.state.approvals).find((a) => a.stage === 'requested');
  const content = h.content('said', 'evidence');
  switch (what) {
    case 'finding': if (unknown) h.append('api', [fact('effect.finding-submitted', { finding: h.id('find'), effect: unknown.effect, verdict: 'happened', evidence: content })], OP); return;
    case 'denying': if (unknown) h.append('api', [fact('effect.finding-submitted', { finding: h.id('find'), effect: unknown.effect, verdict: 'did-not-happen', evidence: content })], OP); return;
    case 'late receipt': { // of whatever was settled first
      const settled = h.events.find((e) => e.type === 'effect.reconciled' && e.data.as === 'did-not-happen');
      if (settled?.type === 'effect.reconciled') h.append('api', [fact('receipt.received', { effect: settled.data.effect, receipt: content, from: 's' })], { kind: 'tool', id: 's' });
      return;
    }
    case 'receipt': if (unknown) h.append('api', [fact('receipt.received', { effect: unknown.effect, receipt: content, from: 's' })], { kind: 'tool', id: 's' }); return;
    case 'pause': h.append('api', [fact('run.pause-requested', { reason: '' })], OP); return;
    case 'resume': h.append('api', [fact('run.resume-requested', { reason: '' })], OP); return;
    case 'finish': h.append('api', [fact('run.end-requested', { reason: '' })], OP); return;
    case 'input': h.append('api', [fact('input.received', { text: content })], OP); return;
    case 'approve': if (asked) h.append('api', [fact('approval.decided', { approval: asked.approval, subject: asked.subject, decision: 'approved', note: '' })], OP); return;
    case 'policy': h.change('policy', { ...POLICY, rules: rulesText([{ id: 'r', effect: 'ask', tools: ['mail'], reason: 'ask' }]) }); return;
    case 'registry': h.change('registry', { tools: TOOL_NAMES.filter((t) => t !== 'pay').map(toolOf) }); return;
    case 'profiles': h.change('profiles', profiles([OTHER_ROUTE])); return;
    default: throw new Error(what);
  }
}

function play(h: History, m: Move): void {
  switch (m.do) {
    case 'go': h.carryOn(); if (!h.generate()) h.start(); return;
    case 'answer': h.answer(m.calls.map((c) => ({ tool: c.tool, args: { what: c.what } })), 'stop', { usd_micros: 1, tokens: m.tokens, calls: 0 }); return;
    case 'end': h.end(m.how); return;
    case 'no-answer': h.noAnswer(m.how); return;
    case 'wait': h.now += m.ms; return;
    case 'expire': { const facts = expireClaims(h.state, new Set(), h.now); if (facts.length > 0) h.must('effect-reconciler', facts); return; }
    case 'look': {
      const e = Object.values(h.state.effects).find((x) => x.lookPermit !== null);
      if (e === undefined) return;
      const evidence = h.content('found', 'evidence');
      const facts = recordLook(h.state, e.effect, m.finds === 'happened' ? { kind: 'happened', evidence, text: null, count: 2 } : m.finds === 'not-found' ? { kind: 'not-found', evidence } : { kind: 'cannot-tell', cause: '503' }, h.now);
      if (facts.length > 0) h.must('effect-reconciler', facts);
      return;
    }
    default: people(h, m.do);
  }
  const evidence = takeReceipts(h.state);
  if (evidence.length > 0) h.must('effect-reconciler', evidence);
  const findings = h.state.boundary.length > 0 ? [] : applyFindings(h.state);
  if (findings.length > 0) h.must('effect-reconciler', findings);
}

const history = fc.record({
  moves: fc.array(move, { minLength: 10, maxLength: 50 }),
  tight: fc.boolean(), whenDone: fc.constantFrom('end' as const, 'await-input' as const), changePolicy: fc.constantFrom('allow' as const, 'review' as const, 'forbid' as const), retention: fc.constantFrom('standard' as const, 'metadata-only' as const),
});
function played(o: { moves: readonly Move[]; tight: boolean; whenDone: 'end' | 'await-input'; changePolicy: 'allow' | 'review' | 'forbid'; retention: 'standard' | 'metadata-only' }, each: (before: RunState, h: History) => void = () => undefined): History {
  const h = new History({ ...o, ...(o.tight ? { budget: { usd_micros: 300, tokens: 9000, calls: 2 } } : {}) });
  for (const m of o.moves) { const before = freeze(h.state); play(h, m); each(before, h); }
  return h;
}
const RUNS = { numRuns: 25 };
const unresolved = (s: RunState): readonly string[] => Object.values(s.effects).filter((e) => e.stage === 'in-flight' || e.stage === 'unknown').map((e) => e.effect);

describe('histories', () => {
  it('[RUN-4] fold in halves as in one piece, through JSON', () => {
    fc.assert(fc.property(history, fc.nat(), (o, cut) => {
      const { events } = played(o);
      const at = cut % events.length;
      const first = JSON.parse(JSON.stringify(fold(emptyRun('t', 'r'), events.slice(0, at)))) as RunState;
      expect(fold(first, events.slice(at))).toEqual(fold(emptyRun('t', 'r'), events));
    }), RUNS);
  });

  it('[EFF-5] lose no unresolved effect without an answer, a receipt, a query or an accepted finding', () => {
    fc.assert(fc.property(history, (o) => {
      played(o, (before, h) => {
        const since = h.events.slice(before.revision);
        for (const id of unresolved(before)) {
          if (unresolved(h.state).includes(id)) continue;
          expect(since.some((e) => ['effect.observed', 'effect.refused', 'effect.not-sent', 'effect.reconciled'].includes(e.type) && (e.data as { effect: string }).effect === id)).toBe(true);
        }
      });
    }), RUNS);
  });

  it('[EFF-9] count every effect that is shown to have happened after it was settled as not having happened, once', () => {
    const begun: readonly Move[] = [{ do: 'go' }, { do: 'answer', calls: [{ tool: 'mail', what: 'a' }], tokens: 15 }, { do: 'go' }, { do: 'end', how: 'unknown' }, { do: 'go' }, { do: 'denying' }, { do: 'go' }];
    let met = 0;
    fc.assert(fc.property(history, (o) => {
      const { events, state } = played({ ...o, moves: [...begun, ...o.moves, { do: 'late receipt' }, { do: 'late receipt' }] });
      const disproved = new Set<string>();
      const shown = new Set<string>();
      for (const e of events) {
        if (e.type === 'effect.reconciled' && e.data.as === 'did-not-happen') disproved.add(e.data.effect);
        if (e.type === 'effect.receipt-recorded' && disproved.has(e.data.effect)) shown.add(e.data.effect);
      }
      expect(events.flatMap((e) => (e.type === 'effect.contradicted' ? [e.data.effect] : [])).sort()).toEqual([...shown].sort());
      expect(state.contradictions.count).toBe(shown.size);
      met += shown.size;
    }), RUNS);
    expect(met).toBeGreaterThan(0);
  });

  it('[BUD-1, BUD-2] overspend neither the grant nor the tenant', () => {
    fc.assert(fc.property(history, (o) => {
      const h = played(o, (_before, x) => { expect(budgetHolds(x.state.budget)).toBe(true); expect(covers(x.balance, NOTHING)).toBe(true); });
      while (h.seal() || h.gate()) { /* to rest */ }
      const b = h.state.budget;
      if (h.state.status !== 'ended') return;
      // an ended run has paid for what it used and still holds, or has left nothing in the account
      expect(covers(plus(b.used, reserved(b)), paid(b))).toBe(true);
      for (const d of DIMENSIONS) expect(owed(b)[d] === 0 || h.balance[d] === 0).toBe(true);
    }), RUNS);
  });

  it('[RUN-1] change nothing by a refused append, and the guard refuses whatever is illegal', () => {
    fc.assert(fc.property(history, history, (a, b) => {
      const h = played(a);
      const foreign = played(b).events;
      for (const e of foreign.slice(0, 40)) {
        const text = JSON.stringify(h.state);
        const proposed = { ...e, revision: h.state.revision + 1, recordedAt: h.now } as EventEnvelope;
        if (illegal(h.state, proposed) === null) continue;
        expect(h.append(e.writer, [{ type: e.type, data: e.data } as never]).kind).toBe('refused');
        expect(JSON.stringify(h.state)).toBe(text);
      }
    }), { numRuns: 10 });
  });

  it('[SCH-2] leave no run without somebody whose move it is, or a named wait', () => {
    fc.assert(fc.property(history, (o) => {
      played(o, (_before, { state: s }) => {
        if (s.status === 'ended' || s.status === 'paused' || s.blocked !== null) return;
        const waitsForInput = whoseMove(s) === 'nobody' || (whoseMove(s) === 'finish' && s.task?.whenDone === 'await-input');
        const waitsForPerson = Object.values(s.effects).some((e) => e.needsPerson !== null);
        expect(needsOf(s).length > 0 || waitsForInput || waitsForPerson).toBe(true);
      });
    }), RUNS);
  });

  it('[SCH-2] keep somebody on every unresolved effect: a lease, a look, a repetition, a person', () => {
    fc.assert(fc.property(history, (o) => {
      played(o, (_before, { state: s }) => {
        if (s.boundary.length > 0) return;
        for (const id of unresolved(s)) {
          const e = s.effects[id];
          const held = needsOf(s).some((n) => n.reason.includes(id) || n.reason === 'findings' || e?.attempts.some((a) => n.reason.includes(a.attempt)) || (e?.permit && n.reason.includes(e.permit.permit)) || (e?.lookPermit && n.reason.includes(e.lookPermit.permit)));
          expect(held || e?.needsPerson !== null || s.status === 'paused').toBe(true);
        }
      });
    }), RUNS);
  });

  it('meet unknown effects, denials, paused and ended runs', () => {
    const seen = new Set<string>();
    fc.assert(fc.property(history, (o) => { for (const e of played(o).events) seen.add(e.type); }), { numRuns: 100, seed: 7 });
    for (const t of ['effect.outcome-unknown', 'effect.reconciled', 'effect.denied', 'run.paused', 'run.ended', 'segment.started', 'look.permitted', 'budget.exhausted', 'call.refused']) expect([...seen]).toContain(t);
  });
});
