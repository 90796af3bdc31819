import { describe, expect, it } from '@jest/globals';
import { EFFECT_MOVES, STAGES, UNRESOLVED } from './effect.js';
import { fact, type EventType } from './events.js';
import { allowedRecoveries, prohibited } from './effect.js';
import { History, OP } from './spec-kit.js';
import { needsOf } from './needs.js';
import { expireClaims, recordOutcome } from './reconcile.js';

const inFlight = (tool: string): History => { const h = new History(); h.turn([{ tool, args: { what: 'a' } }]); h.start(); return h; };
const only = (h: History) => { const e = Object.values(h.state.effects)[0]; if (e === undefined) throw new Error('no effect'); return e; };

describe('an effect', () => {
  it('[EFF-3] leaves "in flight" only by an answer, by not having been sent, or into unknown', () => {
    const out = (Object.keys(EFFECT_MOVES) as EventType[]).filter((t) => EFFECT_MOVES[t]?.from.includes('in-flight') && EFFECT_MOVES[t]?.to !== 'same');
    expect(out.sort()).toEqual(['effect.not-sent', 'effect.observed', 'effect.outcome-unknown', 'effect.refused']);
  });
  it('[EFF-3] has its outcome recorded whatever its cause quotes: bounded, and with no half of a character pair', () => {
    const cause = `SANDBOX_FAILED: \ud83d${'😀'.repeat(4000)}`;
    for (const kind of ['not-sent', 'unknown', 'refused'] as const) {
      const h = inFlight('mail');
      const e = only(h);
      const outcome = kind === 'refused' ? { kind, cause, text: h.content('no', 'tool-result') } : { kind, cause };
      const recorded = recordOutcome(h.state, e.effect, e.attempts[0]?.attempt ?? '', outcome, h.now)[0]?.data as { readonly cause: string };
      expect(recorded.cause).toMatch(/^SANDBOX_FAILED/);
      expect([recorded.cause.length <= 4000, recorded.cause.isWellFormed()]).toEqual([true, true]);
    }
  });
  it('[EFF-3, RUN-4] becomes unknown when its claim ran out, however many ran out with it: in appends that the store takes', () => {
    const h = new History();
    h.turn(Array.from({ length: 50 }, (_, i) => ({ tool: 'mail', args: { what: `${i}` } })));
    while (h.start());
    expect(Object.values(h.state.effects).filter((e) => e.stage === 'in-flight')).toHaveLength(50);
    h.now += 5000;
    for (let pass = 0; pass < 4; pass++) {
      const facts = expireClaims(h.state, new Set(), h.now);
      expect(facts.length).toBeLessThanOrEqual(64);
      if (facts.length > 0) h.must('effect-reconciler', facts);
      if (pass === 0) expect(needsOf(h.state).some((n) => n.service === 'effect-reconciler' && n.reason.startsWith('lease:') && n.dueAt <= h.now)).toBe(true); // the rest is due
    }
    expect(Object.values(h.state.effects).filter((e) => e.stage === 'unknown' && e.needsPerson !== null)).toHaveLength(50);
  });
  it('[EFF-5] leaves "unknown" only by evidence, or by another permitted attempt', () => {
    const out = (Object.keys(EFFECT_MOVES) as EventType[]).filter((t) => EFFECT_MOVES[t]?.from.includes('unknown') && EFFECT_MOVES[t]?.to !== 'same');
    expect(out.sort()).toEqual(['effect.attempt-started', 'effect.permitted']);
    expect(EFFECT_MOVES['effect.reconciled']).toEqual({ from: ['unknown', 'did-not-happen', 'refused'], to: 'same' });
    expect([...UNRESOLVED]).toEqual(['in-flight', 'unknown']);
  });
  it('[EFF-4] once settled never starts again', () => {
    for (const stage of STAGES) if (!['permitted', 'unknown'].includes(stage)) expect(EFFECT_MOVES['effect.attempt-started']?.from).not.toContain(stage);
  });
  it('[EFF-1] keeps intent, digest, contract, attempts, receipts, result, what may follow and what must not be repeated', () => {
    const h = inFlight('mail');
    h.end('unknown');
    const e = only(h);
    expect(e).toMatchObject({ tool: 'mail', contract: { kind: 'neither' }, stage: 'unknown', attempts: [{ end: 'unknown', owner: 'o' }], receipts: [] });
    expect(e.subject).toMatch(/^[0-9a-f]{64}$/);
    expect(allowedRecoveries(e, h.now)).toEqual(['wait-for-evidence']);
    expect(prohibited(e)).toContain('do not ask for mail');
  });
  it('[EFF-4] that is idempotent is tried again under its precondition, until the target refuses to compare equal: then it may have happened, and a person is asked', () => {
    const h = inFlight('put');
    h.end('unknown');
    expect(only(h).needsPerson).toBeNull();
    h.carryOn();
    expect(only(h).permit).toMatchObject({ attemptNumber: 2 });
    expect(h.start()).toBe(true);
    h.end('refused');
    expect(only(h)).toMatchObject({ stage: 'unknown', attempts: [{ end: 'unknown' }, { end: 'refused' }], needsPerson: expect.stringContaining('idempotent') });
    expect(allowedRecoveries(only(h), h.now)).toEqual(['wait-for-evidence']);
    expect(prohibited(only(h))).toContain('do not ask for put');
    h.carryOn();
    expect(h.start()).toBe(false);
  });
  it('[EFF-4] that is idempotent and was answered the second time happened once', () => {
    const h = inFlight('put');
    h.end('unknown'); h.carryOn(); h.start(); h.end('observed');
    expect(only(h)).toMatchObject({ stage: 'observed', needsPerson: null });
  });
  it('[EFF-3] is unknown when the answer was cut, never failed', () => {
    const h = inFlight('mail');
    const facts = recordOutcome(h.state, only(h).effect, only(h).attempts[0]?.attempt ?? '', { kind: 'unknown', cause: 'TIMEOUT' }, h.now);
    expect(facts.map((f) => f.type)).toEqual(['effect.outcome-unknown', 'effect.needs-person']);
  });
  it('[EFF-5] that became unknown takes a late reply as evidence, and is never dispatched again', () => {
    const h = inFlight('mail');
    const attempt = only(h).attempts[0]?.attempt ?? '';
    h.end('unknown');
    h.must('effect-reconciler', recordOutcome(h.state, only(h).effect, attempt, { kind: 'observed', ok: true, text: h.content('late', 'tool-result'), receipt: null }, h.now));
    expect(only(h)).toMatchObject({ stage: 'happened', receipts: [{ class: 'tool-result' }] });
  });
  it('[EFF-9] keeps evidence against a finding, and is open to it', () => {
    const h = inFlight('mail');
    const attempt = only(h).attempts[0]?.attempt ?? '';
    h.end('unknown'); h.carryOn();
    h.must('api', [fact('effect.finding-submitted', { finding: 'f', effect: only(h).effect, verdict: 'did-not-happen', evidence: h.content('seen', 'evidence') })], OP);
    h.carryOn();
    h.must('effect-reconciler', [fact('effect.reconciled', { effect: only(h).effect, as: 'did-not-happen', by: 'finding', evidence: h.content('seen', 'evidence'), text: null })]);
    h.must('effect-reconciler', recordOutcome(h.state, only(h).effect, attempt, { kind: 'observed', ok: true, text: h.content('late', 'tool-result'), receipt: null }, h.now));
    expect(only(h)).toMatchObject({ stage: 'happened' });
    expect(only(h).receipts.length).toBeGreaterThanOrEqual(2);
  });
  it('[EFF-10] takes an outcome from its own open attempt alone', () => {
    const h = inFlight('mail');
    const text = h.content('x', 'tool-result');
    expect(h.append('effect-reconciler', [fact('effect.observed', { effect: only(h).effect, attempt: 'another', ok: true, text, receipt: null })])).toMatchObject({ kind: 'refused', code: 'ILLEGAL' });
  });
});
