import { describe, expect, it } from '@jest/globals';
import { fact } from './events.js';
import { APPROVALS_OVER_MAX } from './run.js';
import { History, OP, POLICY, rulesText } from './spec-kit.js';

const effect = (h: History) => { const e = Object.values(h.state.effects).at(-1); if (e === undefined) throw new Error('no effect'); return e; };
const approval = (h: History) => { const a = Object.values(h.state.approvals).at(-1); if (a === undefined) throw new Error('no approval was asked for'); return a; };
const decide = (h: History, decision: 'approved' | 'rejected' = 'approved'): void => { h.must('api', [fact('approval.decided', { approval: approval(h).approval, subject: approval(h).subject, decision, note: '' })], OP); h.carryOn(); };
function asked(tool: string): History {
  const h = new History();
  h.tenant.policy = { revision: 2, document: { ...POLICY, rules: rulesText([{ id: 'r', effect: 'ask', tools: [tool], reason: 'look first' }]) }, digest: 'p' };
  h.turn([{ tool, args: { what: 'a' } }]);
  return h;
}

describe('an approval', () => {
  it('[APP-3] is not spent by an attempt that never left, and serves the next one', () => {
    const h = asked('mail');
    decide(h);
    h.start();
    expect(approval(h).stage).toBe('spent');
    h.end('not-sent');
    expect(approval(h).stage).toBe('approved');
    h.carryOn();
    expect(h.events.filter((e) => e.type === 'approval.requested')).toHaveLength(1);
    expect(effect(h).permit?.approval).toBe(approval(h).approval);
    expect(h.start()).toBe(true);
    h.end('observed');
    expect(approval(h).stage).toBe('spent');
  });
  it('[APP-3] stays spent by what may have left, whatever became of a repetition, and that may cite it while it lives', () => {
    const h = asked('pay');
    decide(h);
    h.start(); h.end('unknown'); h.carryOn();
    expect(effect(h).permit?.approval).toBe(approval(h).approval);
    expect(h.start()).toBe(true);
    h.end('not-sent');
    expect(approval(h).stage).toBe('spent');
    const old = asked('pay');
    decide(old);
    old.start(); old.end('unknown'); old.seal();
    old.tenant.policy = { revision: 3, document: { ...POLICY, permitLifeMs: 1_000_000, rules: rulesText([{ id: 'r', effect: 'ask', tools: ['pay'], reason: 'look first' }]) }, digest: 'p' };
    (old.state.approvals as { [k: string]: unknown })[approval(old).approval] = { ...approval(old), expiresAt: old.now };
    old.gate();
    expect(effect(old).needsPerson).toContain('REPETITION_NEEDS_PERSON');
  });
  it('[APP-3] that was revoked while its attempt was under way stays revoked when that never left', () => {
    const h = asked('mail');
    decide(h);
    h.start();
    h.must('api', [fact('approval.revoked', { approval: approval(h).approval, reason: 'no longer' })], OP);
    h.end('not-sent');
    expect(approval(h).stage).toBe('revoked');
    h.carryOn();
    expect(effect(h).stage).toBe('denied');
  });
  it('[APP-1, RUN-4] leaves the state with its effect; what came to nothing is told for a while', () => {
    const h = asked('mail');
    let ever = 0;
    for (let i = 0; i < 2 * APPROVALS_OVER_MAX + 4; i++) {
      if (i > 0) h.turn([{ tool: 'mail', args: { what: `${i}` } }]);
      decide(h, i % 2 === 0 ? 'rejected' : 'approved');
      if (i % 2 === 1) { h.start(); h.end('observed'); }
      ever += 1;
      expect(Object.keys(h.state.approvals).length).toBeLessThanOrEqual(APPROVALS_OVER_MAX + 1);
    }
    expect(ever).toBe(2 * APPROVALS_OVER_MAX + 4);
    expect(Object.values(h.state.approvals).filter((a) => a.stage === 'rejected').length).toBeGreaterThan(5);
  });
});
