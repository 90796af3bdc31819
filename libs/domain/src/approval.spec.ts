import { describe, expect, it } from '@jest/globals';
import { fact } from './events.js';
import type { ToolMapping } from './tool.js';
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
  it('[APP-3, SCH-1] is asked for anew when a policy asks again after one that did not, and the earlier question is withdrawn', () => {
    const h = asked('mail');
    const first = approval(h).approval;
    const asking = h.tenant.policy?.document;
    h.change('policy', POLICY);
    h.carryOn();
    expect(effect(h)).toMatchObject({ stage: 'permitted', permit: { approval: null } });
    h.change('policy', asking);
    h.carryOn();
    expect(effect(h)).toMatchObject({ stage: 'awaiting-approval', permit: null });
    expect(Object.values(h.state.approvals)).toMatchObject([{ stage: 'requested', effect: effect(h).effect }]);
    expect(approval(h).approval).not.toBe(first);
    expect(h.append('api', [fact('approval.decided', { approval: first, subject: effect(h).subject, decision: 'approved', note: '' })], OP)).toMatchObject({ code: 'ILLEGAL' });
    expect(h.judgement()).toEqual([]);
    decide(h);
    expect(h.start()).toBe(true);
  });
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
  it.each<[string, (h: History) => void, string]>([
    ['ran out', (h) => { h.now += 60_000; }, 'ran out'],
    ['lost its giver\'s role', (h) => h.change('roles', { people: [], delegations: [] }), 'holds none of the roles that may approve: op'],
    ['is its giver\'s own', (h) => h.change('policy', { ...h.tenant.policy?.document, fourEyes: true }), 'asked for it'],
    ['was revoked', (h) => h.must('api', [fact('approval.revoked', { approval: approval(h).approval, reason: 'no' })], OP), 'is revoked'],
  ])('[APP-2] [APP-3] [POL-3] that %s is told with exactly that reason', (_what, change, reason) => {
    const h = asked('mail');
    decide(h);
    change(h);
    if (h.tenant.policy !== null && h.state.boundary.length === 0) h.change('policy', h.tenant.policy.document); // what it rests on moved, so it is judged again
    h.carryOn();
    expect(effect(h).stage).toBe('denied');
    expect(h.state.denials.at(-1)).toMatchObject({ code: 'NOT_APPROVED', reason: expect.stringContaining(reason) });
    expect(h.state.denials.at(-1)?.reason.split(/ran out|holds none|asked for it|is revoked/u)).toHaveLength(2); // one reason, not a list of all that it might be
  });
  it.each<[string, (t: ToolMapping) => ToolMapping]>([
    ['server', (t) => ({ ...t, server: 'x' })], ['schema', (t) => ({ ...t, schemaDigest: 'x' })], ['mapping revision', (t) => ({ ...t, mappingRevision: 9 })], ['target', (t) => ({ ...t, target: 'x' })], ['contract', (t) => ({ ...t, contract: { kind: 'keyed', keyLifeMs: 9 } })],
  ])('[APP-2] [TOOL-4] does not carry over to another %s, which the denial names', (part, change) => {
    const h = asked('mail');
    decide(h);
    h.change('registry', { tools: (h.tenant.registry?.document.tools ?? []).map((t) => (t.name === 'mail' ? change(t) : t)) });
    h.carryOn();
    expect(h.state.denials.at(-1)).toMatchObject({ code: 'TOOL_NOT_MAPPED', reason: expect.stringContaining(`another ${part}`) });
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
  it('[APP-2] that ran out, or is for another intent, allows nothing', () => {
    const h = asked('mail');
    expect(h.append('api', [fact('approval.decided', { approval: approval(h).approval, subject: 'another', decision: 'approved', note: '' })], OP)).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('another intent') });
    h.must('api', [fact('approval.decided', { approval: approval(h).approval, subject: approval(h).subject, decision: 'approved', note: '' })], OP);
    h.now = approval(h).expiresAt;
    h.carryOn();
    expect(effect(h).stage).toBe('denied');
    expect(h.events.some((e) => e.type === 'effect.permitted')).toBe(false);
  });
  it.each([['another role', { people: [{ person: 'olga', roles: ['reader'] }], delegations: [] }], ['no entry at all', { people: [], delegations: [] }]])('[APP-2] does not stand when its giver has %s by now', (_what, roles) => {
    const h = asked('mail');
    h.must('api', [fact('approval.decided', { approval: approval(h).approval, subject: approval(h).subject, decision: 'approved', note: '' })], OP);
    h.change('roles', roles);
    h.carryOn();
    expect(effect(h).stage).toBe('denied');
    expect(h.events.find((e) => e.type === 'effect.denied')?.data).toMatchObject({ code: 'NOT_APPROVED' });
  });
});
