import { describe, expect, it } from '@jest/globals';
import { openBudget } from './budget.js';
import { fact } from './events.js';
import { judge } from './gate/judge.js';
import { needsOf, workEndsAt } from './needs.js';
import { schedulesOf } from './schedule.js';
import { History, OP, plainRules, POLICY, rulesText } from './spec-kit.js';
import { stateNow } from './state-now.js';

const IVAN = { kind: 'person', id: 'ivan' } as const;
const MORE = { usd_micros: 10_000, tokens: 1_000_000, calls: 5 };
const raise = (h: History, amounts = MORE, wallMs = 0, by: { readonly kind: 'person'; readonly id: string } | typeof OP = OP): void => h.must('api', [fact('budget.raise-requested', { raise: `r-${h.state.revision}`, amounts, wallMs, reason: 'needed' })], by);

describe('a raise of the budget', () => {
  it('[BUD-1] by a person who may wakes the run that its own budget blocked', () => {
    const h = new History({ budget: { usd_micros: 10, tokens: 10, calls: 1 } });
    h.carryOn();
    expect(h.state.blocked).toMatchObject({ code: 'BUDGET_EXHAUSTED', waitsFor: 'person' });
    raise(h);
    h.carryOn();
    expect(h.state.blocked).toBeNull();
    expect(h.state.budget.granted).toEqual({ usd_micros: 10_010, tokens: 1_000_010, calls: 6 });
    expect(h.state.generation?.stage).toBe('permitted');
  });
  it('[BUD-1] by anybody else is refused and said', () => {
    const h = new History({ budget: { usd_micros: 10, tokens: 10, calls: 1 } });
    h.carryOn(); raise(h, MORE, 0, IVAN); h.carryOn();
    expect(h.events.at(-2)?.type === 'budget.raise-refused' || h.events.some((e) => e.type === 'budget.raise-refused')).toBe(true);
    expect(h.state.budget.granted).toEqual({ usd_micros: 10, tokens: 10, calls: 1 });
    expect(h.state.raises).toEqual([]);
  });
  it('[BUD-1] is whole numbers and more than nothing, and cannot be given by anybody but the gate as another than was asked', () => {
    const h = new History();
    for (const amounts of [{ usd_micros: -1, tokens: 0, calls: 0 }, { usd_micros: 0.5, tokens: 0, calls: 0 }, openBudget(MORE).used]) expect(h.append('api', [fact('budget.raise-requested', { raise: 'r', amounts, wallMs: 0, reason: '' })], OP)).toMatchObject({ code: 'ILLEGAL' });
    raise(h);
    const asked = h.state.raises[0]?.raise ?? '';
    expect(h.append('policy-gate', [fact('budget.raised', { raise: asked, amounts: { ...MORE, calls: 6 }, wallMs: 0, by: OP })])).toMatchObject({ code: 'ILLEGAL' });
    expect(h.append('api', [fact('budget.raised', { raise: asked, amounts: MORE, wallMs: 0, by: OP })])).toMatchObject({ code: 'WRONG_OWNER' });
  });
  it('[BUD-4] takes a warning back, so that the next one is told', () => {
    const h = new History({ budget: { usd_micros: 1_000_000, tokens: 1_000_000, calls: 5 } });
    h.turn(Array.from({ length: 4 }, (_, i) => ({ tool: 'read', args: { what: `${i}` } })));
    expect(h.events.filter((e) => e.type === 'budget.warned').map((e) => e.data)).toEqual([{ dimensions: ['calls'] }]);
    expect(stateNow(h.state)).toContain('(nearly used up)');
    raise(h, { usd_micros: 0, tokens: 0, calls: 100 });
    h.carryOn();
    expect(h.state.budget.warned).toBe(false);
  });
});

describe('time at work', () => {
  it('[BUD-1] runs while the run works, and stands while it waits for people', () => {
    const h = new History({ wallMs: 60_000 });
    h.change('policy', { ...POLICY, rules: rulesText([{ id: 'r', effect: 'ask', tools: ['mail'], reason: 'ask' }]) });
    h.turn([{ tool: 'mail', args: { what: 'x' } }]);
    const spent = h.state.clock.spentMs;
    expect(spent).toBeGreaterThan(0);
    expect(h.state.clock.since).toBeNull(); // an approval is waited for
    h.now += 1_000_000;
    const a = Object.values(h.state.approvals)[0];
    h.must('api', [fact('approval.decided', { approval: a?.approval ?? '', subject: a?.subject ?? '', decision: 'approved', note: '' })], OP);
    expect(h.state.clock.spentMs).toBe(spent);
  });
  it('[BUD-1, SCH-1] that is used up pauses the run at its time, and a raise and a resume let it go on', () => {
    const h = new History({ wallMs: 5000 });
    h.turn([{ tool: 'read', args: { what: 'x' } }]);
    const end = workEndsAt(h.state);
    expect(end).not.toBeNull();
    expect(needsOf(h.state)).toContainEqual({ service: 'policy-gate', reason: `wall:${end}`, dueAt: end, waitsFor: null });
    expect(schedulesOf(h.state).map((s) => s.intent)).toContain('stop when the time for work is used up');
    h.now = end ?? 0;
    h.gate();
    expect(h.state.paused).toMatchObject({ code: 'WORK_TIME_EXHAUSTED' });
    h.carryOn();
    raise(h, { usd_micros: 0, tokens: 0, calls: 0 }, 10_000);
    h.carryOn();
    h.must('api', [fact('run.resume-requested', { reason: 'go on' })], OP);
    h.carryOn();
    expect(h.state.status).toBe('active');
    expect(workEndsAt(h.state)).toBeGreaterThan(h.now);
  });
});

describe('a run on behalf of somebody', () => {
  const granted = (until: number | null, tools: readonly string[] = ['*']) => ({ people: [{ person: 'ada', roles: ['buyer'] }, { person: 'olga', roles: ['op'] }], delegations: [{ delegation: 'd1', from: 'ada', to: OP.id, tools, until }] });
  const forAda = (roles: unknown): History => { const h = new History({ onBehalfOf: 'ada' }); h.change('roles', roles); h.turn([{ tool: 'mail', args: { what: 'x' } }]); return h; };

  it('[POL-1] acts as that person while the delegation stands, and its permits end with it', () => {
    const h = new History({ onBehalfOf: 'ada' });
    const until = h.now + 4000;
    h.change('roles', granted(until));
    h.turn([{ tool: 'mail', args: { what: 'x' } }]);
    const permit = Object.values(h.state.effects)[0]?.permit;
    expect(permit?.expiresAt).toBe(until);
    const seen: unknown[] = [];
    h.now += 1; h.change('policy', POLICY);
    judge(h.view(), { ...h.ports(), rules: (q) => { seen.push([q.principal, q.delegate]); return plainRules('[]')(q); } });
    expect(seen[0]).toEqual([{ kind: 'person', id: 'ada', roles: ['buyer'] }, OP.id]);
  });
  it.each([['was revoked', { ...granted(null), delegations: [] }], ['ran out', granted(1)], ['is for other tools', granted(null, ['read'])], ['is somebody else\'s', { ...granted(null), delegations: [{ delegation: 'd', from: 'eve', to: OP.id, tools: ['*'], until: null }] }]])('[POL-1] does nothing under a delegation that %s', (_why, roles) => {
    const h = forAda(granted(null));
    expect(Object.values(h.state.effects)[0]?.stage).toBe('permitted');
    h.change('roles', roles);
    h.now += 20_000; // the permit runs out; a change of roles makes it unusable at once in the store
    h.gate();
    expect(h.state.effects[Object.keys(h.state.effects)[0] ?? '']).toMatchObject({ stage: 'denied' });
    expect(h.events.find((e) => e.type === 'effect.denied')?.data).toMatchObject({ code: 'DELEGATION_ENDED' });
  });
  it('[POL-1] sends nothing to a model either', () => {
    const h = new History({ onBehalfOf: 'ada' });
    h.carryOn();
    expect(h.state.blocked).toMatchObject({ code: 'DELEGATION_ENDED' });
    h.change('roles', granted(null));
    h.carryOn();
    expect(h.state.generation?.stage).toBe('permitted');
  });
});

describe('what rules say about people and looks', () => {
  it.each(['approve', 'find', 'raise', 'look', 'generate'] as const)('[POL-1, POL-5] %s can be forbidden', (action) => {
    const h = new History({ budget: { usd_micros: 100_000, tokens: 100_000, calls: 50 } });
    const against = { ...h.ports(), rules: (q: Parameters<ReturnType<typeof plainRules>>[0]) => (q.action === action ? { kind: 'deny' as const, by: ['no'], reasons: ['not this'] } : plainRules(h.tenant.policy?.document.rules ?? '[]')(q)) };
    const gate = (): void => { const facts = judge(h.view(), against); if (facts.length > 0) h.must('policy-gate', facts); };
    const go = (): void => { for (let i = 0; i < 20; i++) { if (!h.seal() && !h.compile() && !h.intend()) { const n = h.state.revision; gate(); if (h.state.revision === n) return; } } };
    if (action === 'generate') { go(); expect(h.state.blocked).toMatchObject({ code: 'POLICY_FORBIDS' }); return; }
    if (action === 'approve') h.change('policy', { ...POLICY, rules: rulesText([{ id: 'r', effect: 'ask', tools: ['file'], reason: 'ask' }]) });
    go(); h.generate(); h.seal(); h.answer([{ tool: 'file', args: { what: 'x' } }]); go();
    const id = Object.keys(h.state.effects)[0] ?? '';
    if (action === 'approve') {
      const a = Object.values(h.state.approvals)[0];
      h.must('api', [fact('approval.decided', { approval: a?.approval ?? '', subject: a?.subject ?? '', decision: 'approved', note: '' })], OP);
      go();
      expect(h.state.effects[id]?.stage).toBe('denied');
      return;
    }
    if (action === 'raise') { raise(h); go(); expect(h.events.find((e) => e.type === 'budget.raise-refused')?.data).toMatchObject({ code: 'POLICY_FORBIDS' }); return; }
    h.start(); h.end('unknown'); go();
    if (action === 'look') { expect(h.state.effects[id]).toMatchObject({ lookPermit: null, needsPerson: expect.stringContaining('POLICY_FORBIDS') }); return; }
    h.must('api', [fact('effect.finding-submitted', { finding: 'f', effect: id, verdict: 'did-not-happen', evidence: h.content('I looked', 'evidence') })], OP); go();
    expect(h.events.find((e) => e.type === 'finding.refused')?.data).toMatchObject({ code: 'POLICY_FORBIDS' });
  });
  it('[POL-4] that cannot be evaluated permit nothing', () => {
    const h = new History();
    h.change('policy', { ...POLICY, rules: 'broken' });
    h.carryOn();
    expect(h.state.blocked).toMatchObject({ code: 'RULES_BROKEN' });
  });
  it('[POL-2] the tenant\'s hook refuses or has a person asked, and allows nothing that rules forbid', () => {
    const h = new History();
    h.turn([{ tool: 'mail', args: { what: 'x' } }]);
    const id = Object.keys(h.state.effects)[0] ?? '';
    const said = (answer: 'allow' | 'ask' | 'deny', rules = '[]') => { h.now += 20_000; return judge({ ...h.view(), hooked: new Map([[id, { answer, reason: 'because' }]]) }, { ...h.ports(), rules: plainRules(rules) }).map((f) => f.type); };
    expect(said('deny')).toContain('effect.denied');
    expect(said('ask')).toContain('approval.requested');
    expect(said('allow')).toContain('effect.permitted');
    expect(said('allow', rulesText([{ id: 'r', effect: 'forbid', tools: ['mail'], reason: 'no' }]))).toContain('effect.denied');
  });
});
