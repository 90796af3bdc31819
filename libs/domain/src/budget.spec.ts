import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { budgetHolds, givenBack, minus, NOTHING, openBudget, owed, paid, plus, reserved, settled, type Amounts, type Budget } from './budget.js';
import { fact } from './events.js';
import { needsOf } from './needs.js';
import { History, OP } from './spec-kit.js';

const tokens = (n: number): Amounts => ({ usd_micros: 0, tokens: n, calls: 0 });
const used = (h: History): Amounts => h.state.budget.used;
/** Up to a model call that is under way. */
function generating(h = new History()): History { h.carryOn(); h.generate(); h.seal(); return h; }
/** The answer of a provider that counts more than was reserved. */
function answered(h: History, spent: Amounts): void {
  const g = h.state.generation;
  if (g?.attempt == null) throw new Error('no model call is under way');
  h.must('provider-gateway', [fact('generation.accepted', { generation: g.generation, attempt: g.attempt, output: h.content('{"parts":[{"kind":"text","text":"done"}]}', 'model-output'), finish: 'stop', calls: [], continuations: [], recoverable: 'exact', why: '', usage: { native: {} }, spent })]);
}
const ended = (h: History): void => { h.must('api', [fact('run.end-requested', { reason: '' })], OP); h.carryOn(); expect(h.state.status).toBe('ended'); };

describe('what a run used beyond its reservations', () => {
  it('[BUD-5, BUD-3] is charged to the tenant when the run ends', () => {
    const h = generating();
    const before = plus(h.balance, paid(h.state.budget));
    answered(h, tokens(200_000));
    h.carryOn();
    expect(h.state.status).toBe('ended');
    expect(h.state.budget.overrun.tokens).toBeGreaterThan(100_000);
    expect(paid(h.state.budget)).toEqual(used(h));
    expect(h.balance).toEqual(minus(before, used(h)));
    expect(budgetHolds(h.state.budget)).toBe(true);
  });
  it('[BUD-5] is charged as far as the account goes, and never takes it below zero', () => {
    const h = generating(new History({ balance: { usd_micros: 1_000_000, tokens: 60_000, calls: 100 } }));
    answered(h, tokens(200_000));
    h.carryOn();
    expect(h.state.status).toBe('ended');
    expect(h.balance.tokens).toBe(0);
    expect(owed(h.state.budget).tokens).toBe(200_000 - 60_000);
  });
  it('[BUD-5] cannot be charged beyond what is owed, nor while the run goes on', () => {
    const h = generating();
    answered(h, tokens(200_000));
    h.seal();
    const reservation = Object.keys(h.state.budget.reservations)[0] ?? '';
    expect(h.append('policy-gate', [fact('budget.settled', { reservation, used: tokens(200_000), charged: tokens(1) })])).toMatchObject({ code: 'ILLEGAL' });
    h.must('policy-gate', [fact('budget.settled', { reservation, used: tokens(200_000) })]);
    const due = owed(h.state.budget);
    expect(h.append('policy-gate', [fact('run.ended', { how: 'completed', withUnknowns: false, by: OP, reason: '', returned: { ...NOTHING, usd_micros: minus(h.state.budget.drawn, used(h)).usd_micros, calls: minus(h.state.budget.drawn, used(h)).calls }, charged: plus(due, tokens(1)) })])).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('owed') });
  });
  it('[BUD-5] never makes a tenant pay more than was used and still is reserved, in whatever order things are settled', () => {
    const amount = fc.nat(30).map(tokens);
    fc.assert(fc.property(fc.array(fc.record({ held: amount, used: amount }), { minLength: 1, maxLength: 6 }), fc.nat(6), fc.nat(100), (all, endAt, balance) => {
      let b: Budget = openBudget(tokens(1000));
      all.forEach((r, i) => { b = { ...b, drawn: plus(b.drawn, r.held), reservations: { ...b.reservations, [`r${i}`]: r.held } }; });
      let account = balance;
      const collect = (): void => { const c = Math.min(owed(b).tokens, account); b = { ...b, charged: plus(b.charged, tokens(c)) }; account -= c; };
      all.forEach((r, i) => {
        b = settled(b, `r${i}`, r.used);
        if (i < endAt) return;
        const before = paid(b).tokens;
        collect();
        const held = paid(b).tokens;
        b = givenBack(b);
        account += held - paid(b).tokens;
        expect(paid(b).tokens).toBeLessThanOrEqual(Math.max(before, plus(b.used, reserved(b)).tokens));
        expect(paid(b).tokens).toBeLessThanOrEqual(plus(b.used, reserved(b)).tokens);
        expect(budgetHolds(b)).toBe(true);
        expect(b.charged.tokens).toBeGreaterThanOrEqual(0);
      });
    }));
  });
});

describe('a model call that is under way when its run ends', () => {
  it('[BUD-5, BUD-3] is settled when its answer comes, accepted or not, and what it did not use goes back', () => {
    const h = generating();
    const g = h.state.generation;
    const before = plus(h.balance, paid(h.state.budget));
    ended(h);
    expect(h.state.generation?.stage).toBe('started');
    expect(needsOf(h.state)).toMatchObject([{ service: 'provider-gateway', reason: expect.stringContaining('lease:') }]);
    h.must('provider-gateway', [fact('generation.refused', { generation: g?.generation ?? '', attempt: g?.attempt ?? '', class: 'never-retry-as-is', code: 'RUN_ENDED', reason: 'r', facts: {}, retryAfterMs: null, usage: { native: {} }, spent: tokens(15) })]);
    while (h.seal() || h.gate()) { /* to rest */ }
    expect(h.state.budget).toMatchObject({ reservations: {}, used: tokens(15) });
    expect(h.balance).toEqual(minus(before, tokens(15)));
    expect(needsOf(h.state)).toEqual([]);
  });
  it('[BUD-3, RUN-7] keeps its reservation when nobody knows what it used, and its output is not accepted any more', () => {
    const h = generating();
    const g = h.state.generation;
    ended(h);
    const ids = { generation: g?.generation ?? '', attempt: g?.attempt ?? '' };
    expect(h.append('provider-gateway', [fact('generation.accepted', { ...ids, output: h.content('{}', 'model-output'), finish: 'stop', calls: [], continuations: [], recoverable: 'exact', why: '', usage: { native: {} }, spent: null })])).toMatchObject({ code: 'ILLEGAL' });
    h.now += 10_000;
    h.must('provider-gateway', [fact('generation.outcome-unknown', { ...ids, cause: 'CLAIM_EXPIRED' })]);
    while (h.seal() || h.gate()) { /* to rest */ }
    expect(Object.keys(h.state.budget.reservations)).toHaveLength(1);
    expect(needsOf(h.state)).toEqual([]);
  });
  it('[BUD-3] keeps its reservation when it was refused after it had been executed and nobody says for how much', () => {
    const h = generating();
    const g = h.state.generation;
    h.must('provider-gateway', [fact('generation.refused', { generation: g?.generation ?? '', attempt: g?.attempt ?? '', class: 'retry-later', code: 'CALL_MALFORMED', reason: 'r', facts: {}, retryAfterMs: null, usage: null, spent: null })]);
    expect(h.state.settle).toEqual([]);
    expect(Object.keys(h.state.budget.reservations)).toHaveLength(1);
  });
});

describe('an output that is refused as a whole', () => {
  it('[BUD-1] is tried once more in a changed context that says why, and then a person is asked', () => {
    const h = generating();
    for (let tries = 1; tries <= 2; tries++) {
      const g = h.state.generation;
      h.must('provider-gateway', [fact('generation.refused', { generation: g?.generation ?? '', attempt: g?.attempt ?? '', class: 'repairable-once', code: 'OUTPUT_OUT_OF_BOUNDS', reason: 'the output asks for 70 calls at once', facts: {}, retryAfterMs: null, usage: { native: {} }, spent: tokens(15), output: h.content('[…]', 'model-output') })]);
      h.now += 10_000;
      h.carryOn();
      expect(used(h)).toEqual(tokens(15 * tries));
      if (tries === 1) { expect(h.state.generation?.form).toBe('reconstructed'); expect([...h.texts.values()].some((t) => t.includes('OUTPUT_OUT_OF_BOUNDS') && t.includes('70 calls'))).toBe(true); h.generate(); h.seal(); }
    }
    expect(h.state).toMatchObject({ status: 'paused', paused: { code: 'MODEL_FAILING', reason: expect.stringContaining('OUTPUT_OUT_OF_BOUNDS') } });
  });
});
