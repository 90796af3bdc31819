/** What is due and what its service says to it: a need that is answered with nothing holds up everybody behind it. */
import { describe, expect, it } from '@jest/globals';
import { offeredTools } from './compile.js';
import { fact, type Fact, type WorkspaceRef } from './events.js';
import { LETTER_PAUSE_MS, needsOf, PERMITS_UNUSED_MAX, waitCovered } from './needs.js';
import { planCalls, startable } from './reconcile.js';
import { History, OP, POLICY, ROUTE, toolOf } from './spec-kit.js';

const effect = (h: History, at = -1) => { const e = Object.values(h.state.effects).at(at); if (e === undefined) throw new Error('no effect'); return e; };
const due = (h: History): string[] => needsOf(h.state).filter((n) => n.dueAt <= h.now && waitCovered(n.waitsFor, h.balance)).map((n) => `${n.service} ${n.reason.split(':')[0]}`);
const ask = (h: History, type: 'run.resume-requested' | 'run.pause-requested' | 'run.end-requested'): void => h.must('api', [fact(type, { reason: '' })], OP);
/** A look of the gate while something is due for it; says how often it had nothing to say. */
function idleLooks(h: History, ms: number, steps: number): number {
  let idle = 0;
  for (let i = 0; i < steps; i++) {
    while (h.seal()) { /* all boundaries */ }
    if (due(h).some((n) => n.startsWith('policy-gate')) && !h.gate()) idle += 1;
    h.now += ms;
  }
  return idle;
}
const WORKSPACE: WorkspaceRef = { base: 'b'.repeat(40), tree: { commitment: `c1.${'0'.repeat(64)}`, bytes: 2, class: 'workspace', media: 'application/json' } };
const workspaceTool = (name: string) => ({ ...toolOf('box'), name, target: name, connector: { kind: 'workspace' as const, config: {} } });

describe('an effect of unknown outcome whose key ended before its repetition', () => {
  it('[SCH-1, EFF-5] waits for its next look, and not under the permit that nobody may use any more', () => {
    const h = new History();
    const order = { ...toolOf('pay'), name: 'order', target: 'order', contract: { kind: 'keyed' as const, keyLifeMs: 60_000, query: { absenceFinalAfterMs: null } } };
    h.change('registry', { tools: [order] });
    h.turn([{ tool: 'order', args: { what: 'a' } }]);
    h.seal(); h.start(); h.end('unknown');
    const look = (n: number): void => { h.carryOn(); h.must('effect-reconciler', [fact('effect.looked', { effect: effect(h).effect, look: n, answer: 'cannot-tell', cause: 'BUSY' })]); h.seal(); };
    look(1);
    h.carryOn();
    expect(effect(h).permit).not.toBeNull(); // to repeat it with its key
    h.now += 40_000;
    look(2);
    expect(effect(h).permit).toBeNull();
    expect(due(h)).toEqual([]);
    expect(needsOf(h.state)).toMatchObject([{ service: 'policy-gate', dueAt: (effect(h).lastLookAt ?? 0) + 1000 }]);
  });
});

describe('what may be repeated, beside what is to be looked at after a resume', () => {
  it('[RES-1, EFF-4] waits for the look, is not due before it, and goes on after it', () => {
    const h = new History();
    h.turn([{ tool: 'pay', args: { what: 'a' } }, { tool: 'file', args: { what: 'b' } }]);
    h.seal(); h.start(); h.start(); h.end('unknown'); h.end('unknown'); h.seal();
    ask(h, 'run.pause-requested'); h.gate(); h.seal();
    ask(h, 'run.resume-requested');
    expect(h.judgement().map((f) => f.type)).not.toContain('effect.permitted');
    h.carryOn();
    const [pay, file] = Object.values(h.state.effects);
    expect(file?.lookPermit).not.toBeNull();
    expect(h.state.lookFirst).toEqual([file?.effect]);
    expect(needsOf(h.state).map((n) => n.reason)).not.toContainEqual(expect.stringMatching(/^(repeat|attempt)/u));
    expect(startable({ ...h.state, effects: { ...h.state.effects, [pay?.effect ?? '']: { ...pay, permit: file?.lookPermit } as never } }, h.now)).toEqual([]);
    h.must('effect-reconciler', [fact('effect.looked', { effect: file?.effect ?? '', look: 1, answer: 'cannot-tell', cause: 'BUSY' })]);
    h.carryOn();
    expect(startable(h.state, h.now).map((e) => e.tool)).toEqual(['pay']);
  });
});

describe('a run without a policy', () => {
  it('[SCH-2, POL-4] is judged anew when another document of the tenant changes, and denied again, so that nothing stays due', () => {
    const h = new History();
    h.tenant.policy = null;
    h.carryOn();
    expect(h.state.blocked?.code).toBe('POLICY_UNAVAILABLE');
    expect(h.judgement()).toEqual([]);
    h.change('roles', { people: [] }); // this makes its need due: whoever waits for the policy is woken by registry and roles too
    expect(h.judgement().map((f) => f.type)).toEqual(['run.resumed']);
    h.carryOn();
    expect(h.state.blocked).toMatchObject({ code: 'POLICY_UNAVAILABLE', facts: { tenant: { policy: 0, roles: 2 } } });
    expect(h.judgement()).toEqual([]);
  });
});

describe('a run that the tenant\'s budget blocks', () => {
  const poor = (): History => { const h = new History({ balance: { usd_micros: 10_000, tokens: 100, calls: 0 } }); h.carryOn(); return h; };
  it('[RUN-4, BUD-5] is not due before the balance covers it, however often money comes back', () => {
    const h = poor();
    expect(h.state.blocked).toMatchObject({ code: 'BUDGET_EXHAUSTED', waitsFor: 'budget' });
    const row = needsOf(h.state)[0];
    const least = Number(row?.waitsFor?.split(':')[2]);
    expect(row?.waitsFor).toBe(`budget:tokens:${least}`);
    expect(waitCovered(row?.waitsFor ?? null, { ...h.balance, tokens: least - 1 })).toBe(false);
    expect(waitCovered(row?.waitsFor ?? null, { ...h.balance, tokens: least })).toBe(true);
    h.grant({ usd_micros: 0, tokens: least - 101, calls: 0 });
    expect(h.judgement()).toEqual([]);
    h.grant({ usd_micros: 0, tokens: 500, calls: 0 }); // the denial is told to the model too, so the next context is a little longer
    h.gate(); h.carryOn();
    expect(h.state.generation?.stage).toBe('permitted');
  });
  it('[RUN-4] waits again when a person resumes it without money, and is not due', () => {
    const h = poor();
    ask(h, 'run.resume-requested');
    h.carryOn();
    expect(h.state.blocked?.code).toBe('BUDGET_EXHAUSTED');
    expect(due(h)).toEqual([]);
  });
  it('[RUN-4] waits for a person when it is the run\'s own grant that is spent', () => {
    const h = new History({ budget: { usd_micros: 10_000, tokens: 100, calls: 0 } });
    h.carryOn();
    expect(h.state.blocked).toMatchObject({ code: 'BUDGET_EXHAUSTED', waitsFor: 'person' });
    expect(due(h)).toEqual([]);
  });
});

describe('a service that gave up on a run', () => {
  const letter = (h: History): void => h.must('context-compiler', [fact('dead-letter.recorded', { service: 'context-compiler', trigger: null, code: 'E', message: 'm', deliveries: 5 })]);
  it('[RUN-4] is due later each time, others at once, and at once again when it gets further or a person resumes', () => {
    const h = new History();
    h.seal();
    expect(due(h)).toEqual(['context-compiler compile']);
    letter(h);
    expect(due(h)).toEqual([]);
    h.now += LETTER_PAUSE_MS;
    expect(due(h)).toEqual(['context-compiler compile']);
    letter(h);
    h.now += LETTER_PAUSE_MS;
    expect(due(h)).toEqual([]);
    ask(h, 'run.resume-requested');
    expect(due(h)).toEqual(['policy-gate requests']);
    h.gate(); h.seal();
    expect(due(h)).toEqual(['context-compiler compile']);
    letter(h); h.now += LETTER_PAUSE_MS;
    h.compile();
    expect(h.state.deadLetters).toEqual({});
  });
});

describe('calls without a registry', () => {
  it('[POL-4, RUN-4] are refused, each by name, and the context waits for the registry', () => {
    const h = new History();
    h.carryOn(); h.generate(); h.seal(); h.answer([{ tool: 'mail', args: { what: 'a' } }]); h.seal();
    expect(planCalls(h.state, null, () => ({}), () => ({ ok: true, value: {} }))).toMatchObject([{ kind: 'refused', code: 'REGISTRY_UNAVAILABLE' }]);
    const blocked = new History();
    blocked.seal();
    blocked.must('context-compiler', [fact('context.blocked', { route: ROUTE, code: 'REGISTRY_UNAVAILABLE', reason: 'none', facts: { tenant: { policy: 1, registry: 0, profiles: 1, roles: 1 } } })]);
    blocked.seal();
    expect(needsOf(blocked.state)).toMatchObject([{ reason: 'blocked:REGISTRY_UNAVAILABLE', waitsFor: 'policy' }]);
    blocked.gate();
    expect(blocked.state.blocked).toBeNull();
  });
});

describe('tools that hold the workspace', () => {
  function two(workspace: WorkspaceRef | null = WORKSPACE): History {
    const h = new History({ workspace });
    h.change('registry', { tools: [workspaceTool('one'), workspaceTool('two'), toolOf('read')] });
    h.turn([{ tool: 'one', args: { what: 'a' } }, { tool: 'two', args: { what: 'b' } }, { tool: 'read', args: { what: 'c' } }]);
    return h;
  }
  it('[TOOL-1] are not offered to a run that has none, and a call of one is refused at once', () => {
    const h = two(null);
    expect(offeredTools(h.state, { revision: 1, tools: [workspaceTool('one'), toolOf('read')] }).map((t) => t.name)).toEqual(['read']);
    expect(h.events.filter((e) => e.type === 'call.refused').map((e) => (e.data as { code: string }).code)).toEqual(['TOOL_NOT_OFFERED', 'TOOL_NOT_OFFERED']);
    expect(Object.values(h.state.effects).map((e) => e.tool)).toEqual(['read']);
  });
  it('[RUN-4] go one after the other: who waits is neither startable nor due, and its permit is renewed once its turn has come', () => {
    const h = two();
    expect(startable(h.state, h.now).map((e) => e.tool)).toEqual(['one', 'read']);
    h.start(); h.start(); h.end('observed');
    h.seal();
    // `one` was observed; `two` may go now, beside `read`
    expect(startable(h.state, h.now).map((e) => e.tool)).toEqual(['two']);
    const waiting = two();
    waiting.start();
    waiting.now += POLICY.permitLifeMs * 5;
    const second = effect(waiting, 1);
    expect(second.tool).toBe('two');
    expect(needsOf(waiting.state).filter((n) => n.reason.includes(second.permit?.permit ?? '-'))).toEqual([]);
    expect(waiting.judgement().filter((f) => f.type === 'effect.permitted' && f.data.effect === second.effect)).toEqual([]);
    waiting.end('observed'); waiting.carryOn();
    expect(startable(waiting.state, waiting.now).map((e) => e.tool)).toContain('two');
  });
  it('[EFF-10] are refused by the guard while another one is in flight', () => {
    const h = two();
    h.start();
    const e = effect(h, 1);
    const start: Fact = fact('effect.attempt-started', { effect: e.effect, attempt: 'x', attemptNumber: 1, owner: 'o', permit: e.permit?.permit ?? '', leaseMs: 1000, dispatchBy: 0 });
    expect(h.append('effect-reconciler', [start])).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('holds the workspace') });
  });
});

describe('permits that nobody uses', () => {
  it('[RUN-4] are renewed later each time and at most so often; then the run waits for a person, whose resume begins anew', () => {
    for (const what of ['effect', 'model call'] as const) {
      const h = new History();
      if (what === 'effect') h.turn([{ tool: 'mail', args: { what: 'a' } }]); else h.carryOn();
      expect(idleLooks(h, 5_000, 4000)).toBe(0);
      const type = what === 'effect' ? 'effect.permitted' : 'generation.permitted';
      const given = h.events.filter((e) => e.type === type);
      expect(h.state).toMatchObject({ status: 'paused', paused: { code: 'PERMITS_UNUSED', reason: expect.stringContaining(what === 'effect' ? 'mail' : 'model call') } });
      const last = given.slice(-PERMITS_UNUSED_MAX);
      expect(given.length).toBeLessThanOrEqual(PERMITS_UNUSED_MAX + 1);
      expect((last.at(-1)?.recordedAt ?? 0) - (last[0]?.recordedAt ?? 0)).toBeGreaterThan(20 * 60_000);
      expect(due(h)).toEqual([]);
      ask(h, 'run.resume-requested');
      h.carryOn();
      expect(h.state.status).toBe('active');
      expect(what === 'effect' ? h.start() : h.generate()).toBe(true);
    }
  });
  it('[RUN-4, EFF-5] for a look are not renewed for ever either: then a person is asked, and a resume lets it be asked again', () => {
    const h = new History();
    h.turn([{ tool: 'file', args: { what: 'a' } }]);
    h.start(); h.end('unknown');
    expect(idleLooks(h, 5_000, 4000)).toBe(0);
    expect(h.events.filter((e) => e.type === 'look.permitted').length).toBeLessThanOrEqual(PERMITS_UNUSED_MAX);
    expect(effect(h)).toMatchObject({ stage: 'unknown', lookPermit: null, needsPerson: expect.stringContaining('PERMITS_UNUSED') });
    ask(h, 'run.resume-requested');
    h.gate(); h.seal();
    expect(effect(h).needsPerson).toBeNull();
    h.gate();
    expect(effect(h).lookPermit).not.toBeNull();
  });
  it('[POL-1, EFF-5] for looks are as many as the policy says', () => {
    for (const looksMax of [0, 2]) {
      const h = new History();
      h.tenant.policy = { revision: 2, document: { ...POLICY, looksMax }, digest: 'p' };
      h.turn([{ tool: 'file', args: { what: 'a' } }]);
      h.start(); h.end('unknown');
      for (let i = 0; i < 30; i++) {
        while (h.seal()) { /* all boundaries */ }
        h.gate(); h.seal();
        const e = effect(h);
        if (e.lookPermit !== null) h.must('effect-reconciler', [fact('effect.looked', { effect: e.effect, look: e.lookPermit.look, answer: 'cannot-tell', cause: '503' })]);
        h.now += 40_000;
      }
      expect(h.events.filter((e) => e.type === 'effect.looked')).toHaveLength(looksMax);
      expect(effect(h).needsPerson).toContain(looksMax === 0 ? 'NO_RECOVERY_LEFT' : '2 looks');
    }
  });
  it('[RUN-4] do not stand beside a repetition that was permitted instead', () => {
    const h = new History();
    const keyed = { ...toolOf('pay'), contract: { kind: 'keyed' as const, keyLifeMs: 600_000, query: { absenceFinalAfterMs: null } } };
    h.change('registry', { tools: [keyed] });
    h.turn([{ tool: 'pay', args: { what: 'a' } }]);
    h.start(); h.end('unknown'); h.carryOn();
    h.must('effect-reconciler', [fact('effect.looked', { effect: effect(h).effect, look: 1, answer: 'cannot-tell', cause: '503' })]);
    h.seal();
    ask(h, 'run.pause-requested');
    h.gate(); h.seal(); h.now += 1000; h.gate(); h.seal();
    expect(effect(h).lookPermit?.look).toBe(2); // a paused run repeats nothing, but asks
    h.now += POLICY.permitLifeMs;
    ask(h, 'run.resume-requested');
    h.carryOn();
    expect(effect(h).permit).not.toBeNull();
    expect(due(h)).toEqual(['effect-reconciler attempt']);
    h.start(); h.end('unknown'); h.seal();
    expect(effect(h).lookPermit).toBeNull();
  });
});
