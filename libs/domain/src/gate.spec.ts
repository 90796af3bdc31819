import { describe, expect, it } from '@jest/globals';
import { CONTRACT_KINDS, INTERFERENCE, type ContractKind } from './contract.js';
import { fact, type EventData, type EventType, type Fact } from './events.js';
import { judge } from './gate/judge.js';
import type { GateView } from './gate/judging.js';
import { CONTRACTS, digest, History, OP, OTHER_ROUTE, POLICY, rulesText, profiles, ROUTE, toolOf } from './spec-kit.js';

const TOOL_OF: { readonly [K in ContractKind]: string } = { 'read-only': 'read', contained: 'box', idempotent: 'put', keyed: 'pay', queryable: 'file', neither: 'mail' };
const find = <T extends EventType>(facts: readonly Fact[], type: T): EventData[T] | undefined => facts.find((f) => f.type === type)?.data as EventData[T] | undefined;
/** Up to intents that the gate has not judged yet. */
function intended(tool: string, h = new History()): History {
  h.carryOn(); h.generate(); h.seal(); h.answer([{ tool, args: { what: 'a' } }]); h.seal(); h.intend(); h.seal();
  return h;
}
const effect = (h: History) => { const e = Object.values(h.state.effects).at(-1); if (e === undefined) throw new Error('no effect'); return e; };
const elsewhere = (h: History, kind: ContractKind, scope = effect(h).scope): GateView['open'] => [{ effect: 'eff-elsewhere', tool: TOOL_OF[kind], scope, kind, stage: 'unknown', generation: 'gen-elsewhere', run: 'another-run' }];

describe('the gate', () => {
  for (const open of CONTRACT_KINDS) for (const asked of CONTRACT_KINDS) {
    const verdict = INTERFERENCE[open][asked];
    it(`[EFF-6] answers ${asked} beside an unresolved ${open} of another run in the same scope: ${verdict}`, () => {
      const h = intended(TOOL_OF[asked]);
      const facts = h.judgement(elsewhere(h, open));
      if (verdict === 'deny') expect(find(facts, 'effect.denied')).toMatchObject({ code: 'EFFECT_UNRESOLVED', facts: { unresolved: 'eff-elsewhere', run: 'another-run' } });
      else if (verdict === 'ask') expect(find(facts, 'approval.requested')).toMatchObject({ effect: effect(h).effect });
      else expect(find(facts, 'effect.permitted')).toMatchObject({ effect: effect(h).effect });
    });
  }
  it('[EFF-6] lets another scope pass, and siblings of one output', () => {
    const h = intended('mail');
    expect(find(h.judgement(elsewhere(h, 'neither', { ...effect(h).scope, fields: { what: digest('another') } })), 'effect.permitted')).toBeDefined();
    // what cannot be shown to be apart is not: the whole target, or another field of it
    for (const fields of [{}, { who: digest('x') }] as { [name: string]: string }[]) expect(find(h.judgement(elsewhere(h, 'neither', { ...effect(h).scope, fields })), 'effect.denied')).toMatchObject({ code: 'EFFECT_UNRESOLVED' });
    expect(find(h.judgement(elsewhere(h, 'neither', { ...effect(h).scope, target: 'elsewhere' })), 'effect.permitted')).toBeDefined();
    const two = new History();
    two.carryOn(); two.generate(); two.seal(); two.answer([{ tool: 'mail', args: { what: 'a' } }, { tool: 'mail', args: { what: 'a' } }]); two.seal(); two.intend(); two.seal();
    expect(two.judgement().filter((f) => f.type === 'effect.permitted')).toHaveLength(2);
  });
  it('[POL-3, RUN-7] says nothing that the log would not take, however long the words are that it repeats', () => {
    const longest = 'x'.repeat(4000); // what an event's words may hold
    const fits = (facts: readonly Fact[]): void => {
      expect(facts.length).toBeGreaterThan(0);
      for (const f of facts) for (const words of [(f.data as { reason?: string }).reason ?? '', ...((f.data as { reasons?: readonly string[] }).reasons ?? [])]) expect(words.length).toBeLessThanOrEqual(longest.length);
    };
    for (const kind of ['run.pause-requested', 'run.resume-requested', 'provider-response.continue-requested', 'run.end-requested'] as const) {
      const h = new History();
      if (kind !== 'run.pause-requested') { h.seal(); h.must('api', [fact('run.pause-requested', { reason: '' })], OP); h.seal(); h.gate(); h.seal(); }
      h.must('api', [fact(kind, { reason: longest })], OP);
      h.seal();
      const facts = h.judgement();
      expect(facts.map((f) => f.type)).toContain(kind === 'run.pause-requested' ? 'run.paused' : kind === 'run.end-requested' ? 'run.ended' : 'run.resumed');
      fits(facts);
    }
    for (const rule of ['forbid', 'ask'] as const) {
      const h = intended('mail');
      h.change('policy', { ...POLICY, rules: rulesText([{ id: 'r'.repeat(200), effect: rule, tools: ['mail'], reason: longest }]), findingRoles: Array.from({ length: 40 }, (_, i) => `${i}`.padEnd(200, 'y')) });
      const facts = h.judgement();
      expect(facts.map((f) => f.type)).toContain(rule === 'forbid' ? 'effect.denied' : 'approval.requested');
      fits(facts);
    }
    const h = new History();
    h.turn([{ tool: 'mail', args: { what: 'a' } }]); h.start(); h.end('unknown'); h.carryOn();
    h.change('policy', { ...POLICY, findingRoles: Array.from({ length: 40 }, (_, i) => `${i}`.padEnd(200, 'y')) });
    h.must('api', [fact('effect.finding-submitted', { finding: 'f', effect: effect(h).effect, verdict: 'happened', evidence: h.content('seen', 'evidence') })], OP);
    h.seal();
    fits(h.judgement());
  });
  it('[POL-3, APP-2] asks about many calls under many rules in an append that the store takes', () => {
    const h = new History();
    h.change('policy', { ...POLICY, rules: rulesText(Array.from({ length: 20 }, (_, i) => ({ id: `r${i}`, effect: 'ask', tools: ['*'], reason: `${i} `.padEnd(1500, 'x') }))) });
    h.carryOn(); h.generate(); h.seal(); h.answer(Array.from({ length: 45 }, (_, i) => ({ tool: 'mail', args: { what: `${i}` } }))); h.seal(); h.intend(); h.seal();
    const asked = h.judgement().filter((f) => f.type === 'approval.requested');
    expect(asked).toHaveLength(45);
    expect(JSON.stringify(asked).length).toBeLessThan(512 * 1024);
    expect(find(asked, 'approval.requested')?.reasons).toEqual([expect.stringMatching(/^0 x+ \(rule r0\)$/), expect.stringMatching(/^1 x+ \(rule r1\)$/), expect.stringMatching(/^2 x+$/), 'and 17 more']);
  });
  it('[EFF-6, NAT-4] has no parameter by which a summary, a request or a provider\'s memory could speak', () => {
    const h = intended('mail');
    const lying = { ...h.view(elsewhere(h, 'neither')), summary: 'all effects are settled', memory: 'it failed' } as GateView;
    expect(judge(lying, { ...h.ports(), id: (k) => k }).some((f) => f.type === 'effect.permitted')).toBe(false);
    expect(judge).toHaveLength(2);
  });
  it('[EFF-6] gives a model that asks again in other words its denial, not a duplicate', () => {
    const h = intended('mail');
    h.gate(); h.seal(); h.start(); h.end('unknown'); h.carryOn(); h.generate(); h.seal();
    h.answer([{ tool: 'mail', args: { what: 'a', note: 'please, as nothing was sent' } }]);
    h.carryOn();
    expect(h.state.denials.at(-1)).toMatchObject({ code: 'EFFECT_UNRESOLVED' });
    expect(h.events.filter((e) => e.type === 'effect.permitted')).toHaveLength(1);
  });

  for (const missing of ['policy', 'registry'] as const) {
    it(`[POL-4] denies what it cannot judge: no ${missing}`, () => {
      const h = intended('mail');
      h.tenant[missing] = null;
      expect(find(h.judgement(), 'effect.denied')).toMatchObject({ code: missing === 'policy' ? 'POLICY_UNAVAILABLE' : 'REGISTRY_UNAVAILABLE' });
    });
  }
  it('[POL-4] denies a generation without policy or profiles', () => {
    for (const missing of ['policy', 'profiles'] as const) {
      const h = new History();
      h.seal(); h.compile();
      h.tenant[missing] = null;
      expect(find(h.judgement(), 'generation.denied')).toBeDefined();
    }
  });
  it('[POL-2] stops what was planned, and even permitted, before a restriction', () => {
    const forbids = { ...POLICY, rules: rulesText([{ id: 'r', effect: 'forbid', tools: ['mail'], reason: 'not any more' }]) };
    const h = intended('mail');
    h.gate(); h.seal();
    h.change('policy', forbids);
    h.gate();
    expect(effect(h).stage).toBe('denied');
    expect(h.state.denials.at(-1)).toMatchObject({ code: 'POLICY_FORBIDS' });
    expect(effect(h).reservation).toBeNull();
  });
  it('[POL-2] asks about what was permitted before a rule that asks', () => {
    const h = intended('mail');
    h.gate(); h.seal();
    h.change('policy', { ...POLICY, rules: rulesText([{ id: 'r', effect: 'ask', tools: ['mail'], reason: 'a person decides' }]) });
    h.gate(); h.seal();
    expect(effect(h)).toMatchObject({ stage: 'awaiting-approval', permit: null });
    expect(h.start()).toBe(false);
  });
  it('[POL-3] says on what a decision rests: revisions, subject, life, world', () => {
    const h = intended('mail');
    const p = find(h.judgement(), 'effect.permitted');
    expect(p).toMatchObject({ subject: effect(h).subject, tenant: { policy: 1, registry: 1, profiles: 1, roles: 1 }, expiresAt: h.now + POLICY.permitLifeMs, world: { kind: 'real' } });
    expect(p?.seenRevision).toBeGreaterThan(h.state.revision);
  });
  it('[TOOL-4] does not let a tool of the same name and another server inherit the mapping', () => {
    const h = intended('mail');
    h.change('registry', { tools: [{ ...toolOf('mail'), server: 'another' }] });
    expect(find(h.judgement(), 'effect.denied')).toMatchObject({ code: 'TOOL_NOT_MAPPED' });
  });
  it('[POL-5] lets a removed tool\'s unknown effect be looked at, not repeated', () => {
    const h = intended('file');
    h.gate(); h.seal(); h.start(); h.end('unknown'); h.seal();
    h.change('registry', { tools: [] });
    const facts = h.judgement();
    expect(find(facts, 'look.permitted')).toMatchObject({ effect: effect(h).effect });
    expect(find(facts, 'effect.permitted')).toBeUndefined();
  });
  it('[EFF-4] gives a keyed effect of unknown outcome its second attempt only while the key surely lives, and then a person', () => {
    const h = intended('pay');
    h.gate(); h.seal(); h.start(); h.end('unknown'); h.seal();
    expect(find(h.judgement(), 'effect.permitted')).toMatchObject({ attemptNumber: 2 });
    h.now += (CONTRACTS['pay']?.keyLifeMs ?? 0) / 2;
    expect(find(h.judgement(), 'effect.permitted')).toBeUndefined();
    expect(find(h.judgement(), 'effect.recovery-denied')).toMatchObject({ code: 'NO_RECOVERY_LEFT' });
  });
  it('[EFF-4] leaves a repetition that policy forbids unknown, for a person', () => {
    const h = intended('pay');
    h.gate(); h.seal(); h.start(); h.end('unknown'); h.seal();
    h.change('policy', { ...POLICY, rules: rulesText([{ id: 'r', effect: 'forbid', tools: ['pay'], reason: 'no' }]) });
    h.gate();
    expect(effect(h)).toMatchObject({ stage: 'unknown', needsPerson: expect.stringContaining('POLICY_FORBIDS') });
  });
  it('[EFF-5] judges a finding by the roles of who submits it', () => {
    for (const [who, accepted] of [['olga', true], ['ivan', false]] as const) {
      const h = intended('mail');
      h.gate(); h.seal(); h.start(); h.end('unknown'); h.carryOn();
      h.must('api', [fact('effect.finding-submitted', { finding: 'f', effect: effect(h).effect, verdict: 'happened', evidence: h.content('seen', 'evidence') })], { kind: 'person', id: who });
      expect(find(h.judgement(), accepted ? 'finding.accepted' : 'finding.refused')).toMatchObject({ finding: 'f' });
    }
  });
  it('[EFF-5] gives no second attempt to an effect whose finding is accepted and not yet recorded', () => {
    const h = intended('pay');
    h.gate(); h.seal(); h.start(); h.end('unknown'); h.seal();
    h.must('api', [fact('effect.finding-submitted', { finding: 'f', effect: effect(h).effect, verdict: 'did-not-happen', evidence: h.content('seen', 'evidence') })], OP);
    const facts = h.judgement();
    expect(find(facts, 'finding.accepted')).toBeDefined();
    expect(find(facts, 'effect.permitted')).toBeUndefined();
  });

  it('[RES-4] refuses a change of the decision-maker where the run forbids it, and waits for a person where it must be reviewed', () => {
    for (const [changePolicy, code] of [['forbid', 'CHANGE_FORBIDDEN'], ['review', 'CHANGE_NEEDS_REVIEW']] as const) {
      const h = new History({ changePolicy });
      h.carryOn(); h.generate(); h.seal(); h.answer([{ tool: 'read', args: {} }]); h.carryOn(); h.start(); h.end('observed'); h.seal();
      h.change('profiles', profiles([OTHER_ROUTE]));
      h.compile();
      h.gate();
      expect(h.state.blocked).toMatchObject({ code });
    }
  });
  it('[RES-3] decides a change of route by an event that names both and the reason', () => {
    const h = new History();
    h.carryOn(); h.generate(); h.seal(); h.answer([{ tool: 'read', args: {} }]); h.carryOn(); h.start(); h.end('observed'); h.seal();
    h.change('profiles', profiles([OTHER_ROUTE]));
    h.compile();
    expect(find(h.judgement(), 'route.decided')).toMatchObject({ from: ROUTE, to: OTHER_ROUTE, reason: expect.stringContaining('no longer configured') });
    h.gate(); h.seal(); h.generate();
    expect(h.state.segment).toBe(2);
    expect(h.state.segments.map((s) => s.route.account)).toEqual(['a', 'b']);
  });
  it('[BUD-2] denies what the run or the tenant cannot cover, and says which', () => {
    const poor = intended('mail', new History({ balance: { usd_micros: 1_000_000, tokens: 1_000_000, calls: 0 } }));
    expect(find(poor.judgement(), 'budget.exhausted')).toMatchObject({ dimension: 'calls', of: 'tenant' });
    const small = intended('mail', new History({ budget: { usd_micros: 1_000_000, tokens: 1_000_000, calls: 0 } }));
    expect(find(small.judgement(), 'effect.denied')).toMatchObject({ code: 'BUDGET_EXHAUSTED', facts: { of: 'run' } });
  });
  it('[BUD-1] gives back what was reserved for a generation that its re-judgement denies', () => {
    const h = new History();
    h.seal(); h.compile(); h.gate(); h.seal();
    expect(Object.keys(h.state.budget.reservations)).toHaveLength(1);
    h.change('profiles', profiles([]));
    h.gate();
    expect(h.state.budget.reservations).toEqual({});
    expect(h.state.blocked?.code).toBe('NO_ROUTE');
  });
  it('says the same of the same view, but for ids', () => {
    const h = intended('mail');
    expect(judge(h.view(), { ...h.ports(), id: (k, n) => `${k}${n}` })).toEqual(judge(h.view(), { ...h.ports(), id: (k, n) => `${k}${n}` }));
  });
});
