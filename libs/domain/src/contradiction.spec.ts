import { describe, expect, it } from '@jest/globals';
import { sectionsOf } from './checkpoint.js';
import { fact } from './events.js';
import { needsOf } from './needs.js';
import { applyFindings, recordLook, recordOutcome, takeReceipts } from './reconcile.js';
import { stateNow } from './state-now.js';
import { DISPROVED_MAX, FINDINGS_MAX } from './run.js';
import { History, OP } from './spec-kit.js';

const effect = (h: History) => { const e = Object.values(h.state.effects).at(-1); if (e === undefined) throw new Error('no effect'); return e; };
const submit = (h: History, id: string, verdict: 'happened' | 'did-not-happen') => h.append('api', [fact('effect.finding-submitted', { finding: h.id('find'), effect: id, verdict, evidence: h.content('seen', 'evidence') })], OP);
const apply = (h: History): void => { const facts = applyFindings(h.state); if (facts.length > 0) h.must('effect-reconciler', facts); };
const settle = (h: History): void => { while (h.seal() || h.gate()) { apply(h); } };

/** An effect that a person found not to have happened; `left`: the run has gone on, and it is no longer in the state. */
function disproved(left: boolean, tool = 'mail', how: 'found' | 'refused' = 'found'): { h: History; id: string; attempt: string } {
  const h = new History();
  h.turn([{ tool, args: { what: 'a' } }]);
  h.seal(); h.start(); h.end(how === 'found' ? 'unknown' : 'refused');
  const id = effect(h).effect;
  const attempt = effect(h).attempts[0]?.attempt ?? '';
  if (how === 'found') { h.carryOn(); submit(h, id, 'did-not-happen'); h.seal(); h.gate(); h.seal(); apply(h); }
  expect(effect(h).stage).toBe(how === 'found' ? 'did-not-happen' : 'refused');
  if (left) {
    for (let i = 0; i < 8 && h.state.effects[id] !== undefined; i++) { h.carryOn(); h.generate(); h.seal(); h.answer([{ tool: 'read', args: { what: 'b' } }]); }
    expect(h.state.effects[id]).toBeUndefined();
  }
  h.carryOn();
  return { h, id, attempt };
}
const evidence: { readonly [what: string]: (h: History, id: string, attempt: string) => void } = {
  'a receipt': (h, id) => { h.must('api', [fact('receipt.received', { effect: id, receipt: h.content('r', 'receipt'), from: 's' })], { kind: 'tool', id: 's' }); h.must('effect-reconciler', takeReceipts(h.state)); },
  'a late reply': (h, id, attempt) => h.must('effect-reconciler', recordOutcome(h.state, id, attempt, { kind: 'observed', ok: true, text: h.content('done', 'tool-result'), receipt: null }, h.now)),
  'a finding': (h, id) => { expect(submit(h, id, 'happened').kind).toBe('judged'); h.seal(); h.gate(); h.seal(); apply(h); },
};

describe('evidence that contradicts a settlement', () => {
  for (const how of ['found', 'refused'] as const) for (const left of [false, true]) for (const [what, give] of Object.entries(evidence)) {
    it(`[EFF-9] by ${what}, for an effect that was ${how === 'found' ? 'found not to have happened' : 'refused'} and ${left ? 'has left the state' : 'is still there'}, is kept, counted once, sealed, told to the next model, and stops the run for a person`, () => {
      const { h, id, attempt } = disproved(left, 'mail', how);
      give(h, id, attempt);
      expect(h.events.filter((e) => e.type === 'effect.contradicted')).toMatchObject([{ data: { effect: id, evidence: { commitment: expect.any(String) } } }]);
      expect(h.state.contradictions.count).toBe(1);
      expect(stateNow(h.state)).toContain('EFFECT_CONTRADICTED');
      expect(sectionsOf(h.state).world).toMatchObject({ contradictions: { count: 1, unasked: [{ effect: id }] } });
      if (!left) expect(h.state.effects[id]?.stage).toBe('happened');
      settle(h);
      expect(h.state).toMatchObject({ status: 'paused', paused: { code: 'EFFECT_CONTRADICTED', reason: expect.stringContaining(id) } });
      expect(needsOf(h.state).filter((n) => n.dueAt <= h.now)).toEqual([]);
      h.must('api', [fact('run.resume-requested', { reason: 'seen' })], OP);
      h.gate();
      expect(h.state.status).toBe('active');
      evidence['a receipt']?.(h, id, attempt); // the same told again is evidence, not another contradiction
      expect(h.state.contradictions.count).toBe(1);
      settle(h);
      expect(h.state.status).toBe('active');
    });
  }
  it('[EFF-9] lands and is counted after the run\'s end, too', () => {
    const { h, id, attempt } = disproved(true);
    h.must('api', [fact('run.end-requested', { reason: '' })], OP);
    h.carryOn();
    expect(h.state.status).toBe('ended');
    for (const give of Object.values(evidence)) if (h.state.contradictions.count === 0) give(h, id, attempt);
    expect(h.state.contradictions.count).toBe(1);
    expect(h.state.denials.at(-1)).toMatchObject({ of: id, code: 'EFFECT_CONTRADICTED' });
    while (h.seal() || h.gate()) { /* to rest */ }
    expect(needsOf(h.state)).toEqual([]);
  });
  it('[EFF-9] is said of nothing that was not settled so, and by nobody without evidence', () => {
    const { h, id } = disproved(true);
    const say = (effectId: string, from: 'receipt' | 'finding') => h.append('effect-reconciler', [fact('effect.contradicted', { effect: effectId, from, evidence: h.content('x', 'evidence') })]);
    expect(say('another', 'receipt')).toMatchObject({ code: 'ILLEGAL' });
    expect(say(id, 'finding')).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('no accepted finding') });
    expect(submit(h, id, 'did-not-happen')).toMatchObject({ code: 'ILLEGAL' });
    expect(DISPROVED_MAX).toBeGreaterThan(60);
  });
});

describe('a receipt that came while the attempt was in flight', () => {
  const received = (tool: string): { h: History; id: string } => {
    const h = new History();
    h.turn([{ tool, args: { what: 'a' } }]);
    h.seal(); h.start();
    const id = effect(h).effect;
    h.must('api', [fact('receipt.received', { effect: id, receipt: h.content('r', 'receipt'), from: 's' })], { kind: 'tool', id: 's' });
    h.must('effect-reconciler', takeReceipts(h.state));
    expect(effect(h).stage).toBe('in-flight');
    return { h, id };
  };
  it('[EFF-9] contradicts the refusal that follows it as one that comes later does', () => {
    const { h, id } = received('mail');
    h.end('refused');
    expect(h.events.filter((e) => e.type === 'effect.contradicted')).toMatchObject([{ data: { effect: id, from: 'receipt' } }]);
    expect([effect(h).stage, h.state.contradictions.count]).toEqual(['happened', 1]);
    settle(h);
    expect(h.state).toMatchObject({ status: 'paused', paused: { code: 'EFFECT_CONTRADICTED' } });
  });
  it.each(['mail', 'pay', 'file'])('[EFF-4, EFF-5] of %s outweighs the word that nothing was sent: it happened, and is not sent again', (tool) => {
    const { h, id } = received(tool);
    h.end('not-sent');
    settle(h);
    expect(h.events.filter((e) => e.type === 'effect.reconciled')).toMatchObject([{ data: { effect: id, as: 'happened', by: 'receipt' } }]);
    expect(h.start()).toBe(false);
  });
});

describe('findings that wait', () => {
  it('[EFF-5] are never dropped for another: one too many is refused and says so', () => {
    const h = new History();
    h.turn([{ tool: 'mail', args: { what: 'a' } }]);
    h.seal(); h.start(); h.end('unknown'); h.carryOn();
    const id = effect(h).effect;
    for (let i = 0; i < FINDINGS_MAX; i++) expect(submit(h, id, 'happened').kind).toBe('judged');
    const first = h.state.findings[0]?.finding;
    expect(submit(h, id, 'happened')).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('FINDINGS_FULL') });
    expect(h.state.findings).toHaveLength(FINDINGS_MAX);
    settle(h);
    expect(h.events.some((e) => e.type === 'finding.accepted' && e.data.finding === first)).toBe(true);
    expect(h.state.findings.every((f) => f.applied)).toBe(true);
  });
});

/** An effect of unknown outcome that is being looked at; nothing has answered yet. */
function lookedAt(): { h: History; id: string } {
  const h = new History();
  h.turn([{ tool: 'file', args: { what: 'a' } }]);
  h.seal(); h.start(); h.end('unknown'); h.carryOn();
  expect(effect(h).lookPermit).not.toBeNull();
  return { h, id: effect(h).effect };
}
const saw = (h: History, id: string, count: number) => recordLook(h.state, id, { kind: 'happened', evidence: h.content('seen there', 'evidence'), text: null, count }, h.now);

describe('a look that is answered after somebody else settled the effect', () => {
  for (const left of [false, true]) {
    it(`[EFF-9] contradicts a finding that it did not happen${left ? ', when the effect has left the state' : ''}`, () => {
      const { h, id } = lookedAt();
      submit(h, id, 'did-not-happen'); h.seal(); h.gate(); h.seal(); apply(h);
      expect(h.state.effects[id]?.stage).toBe('did-not-happen');
      if (left) for (let i = 0; i < 8 && h.state.effects[id] !== undefined; i++) { h.carryOn(); h.generate(); h.seal(); h.answer([{ tool: 'read', args: { what: 'b' } }]); }
      h.must('effect-reconciler', saw(h, id, 1));
      expect(h.state.contradictions).toMatchObject({ count: 1, unasked: [{ effect: id, from: 'late-reply' }] });
      settle(h);
      expect(h.state.paused?.code).toBe('EFFECT_CONTRADICTED');
    });
  }
  it('[EFF-9] names and counts, once, that it happened twice, although a receipt said already that it happened', () => {
    const { h, id } = lookedAt();
    evidence['a receipt']?.(h, id, '');
    expect(h.state.effects[id]?.stage).toBe('happened');
    h.must('effect-reconciler', saw(h, id, 2));
    expect([h.state.effects[id]?.duplicated, h.state.duplicates]).toEqual([2, 1]);
    expect(saw(h, id, 2)).toEqual([]);
    expect(saw(h, id, 1)).toEqual([]);
  });
  it('[EFF-5, EFF-9] settles one that waits for a person meanwhile', () => {
    const { h, id } = lookedAt();
    h.must('policy-gate', [fact('effect.recovery-denied', { effect: id, code: 'NO_RECOVERY_LEFT', reason: 'r', facts: {}, tenant: { policy: 1, registry: 1, profiles: 1, roles: 1 }, grounds: { revision: 1, at: 1, by: [], met: [] } })]);
    h.must('effect-reconciler', saw(h, id, 1));
    expect(h.state.effects[id]).toMatchObject({ stage: 'happened', needsPerson: null });
  });
});
