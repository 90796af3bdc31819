import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compile, offeredTools, type Compiled } from './compile.js';
import { asJson } from './entry.js';
import { fact } from './events.js';
import { quote, QUOTE, stateNow } from './state-now.js';
import { History, OP, OTHER_ROUTE, plain, POLICY, rulesText, PROFILE, profiles, ROUTE } from './spec-kit.js';

const done = (h: History): Compiled => { const c = h.compiled(h.route() ?? ROUTE); if (c.kind === 'blocked') throw new Error(c.reason); return c; };
const answered = (calls: readonly string[] = ['read'], h = new History()): History => { h.turn(calls.map((tool) => ({ tool, args: { what: 'a' } }))); for (let i = 0; i < calls.length; i++) { h.start(); h.end('observed'); h.seal(); } return h; };
const text = (c: Compiled): string => plain(asJson(c.entry));

describe('the compiler', () => {
  it('[CTX-5] gives the same bytes for the same state, route, profile, registry and texts', () => {
    const h = answered();
    expect(plain(done(h))).toBe(plain(done(h)));
    const copy = { ...h.view(), state: JSON.parse(JSON.stringify(h.state)) as typeof h.state };
    expect(plain(compile({ state: copy.state, route: ROUTE, profile: PROFILE, registry: { revision: 1, tools: h.tenant.registry?.document.tools ?? [] }, texts: new Map(h.texts) }))).toBe(plain(done(h)));
  });
  it('[CTX-1, CTX-2] says goal, story, constraints, state, budget and tools, and lists what it took, left out and changed, with source, size and reason', () => {
    const h = new History({ constraints: ['touch nothing else'] });
    const c = done(h);
    expect(c.form).toBe('first');
    expect(text(c)).toContain('| the goal');
    expect(text(c)).toContain('constraint: touch nothing else');
    expect(text(c)).toContain('budget left');
    expect(c.system).toContain('Constraint: touch nothing else');
    expect(c.tools.map((t) => t.name)).toContain('mail');
    for (const kind of ['system', 'goal', 'state-now']) expect(c.manifest.included.some((i) => i.kind === kind && i.reason !== '' && i.source !== '')).toBe(true);
  });
  it('[CTX-3] fails with numbers when the safety state does not fit, and never drops it', () => {
    const h = answered(['mail']);
    const small = h.compiled(ROUTE, { ...PROFILE, contextTokens: 1200, outputTokensMax: 1000 });
    expect(small).toMatchObject({ kind: 'blocked', code: 'CONTEXT_DOES_NOT_FIT', facts: { required: expect.any(Number), room: expect.any(Number), window: 1200 } });
  });
  it('[CTX-3] has every unresolved effect, its contract, and what must not be repeated in every context, however small the window', () => {
    const h = new History();
    h.turn([{ tool: 'mail', args: { what: 'a' } }]);
    h.start(); h.end('unknown');
    while (h.seal() || h.gate()) { /* to where the model is to move */ }
    const id = Object.keys(h.state.effects)[0] ?? '';
    for (const contextTokens of [2500, 4000, 100_000]) {
      const c = h.compiled(ROUTE, { ...PROFILE, contextTokens });
      if (c.kind === 'blocked') continue;
      expect(text(c)).toContain(`unresolved effect ${id}: mail on mail, stage unknown, contract neither`);
      expect(text(c)).toContain('prohibited: do not ask for mail');
    }
    const elsewhere = h.compiled(OTHER_ROUTE);
    expect(elsewhere.kind === 'compiled' && elsewhere.form === 'reconstructed' && text(elsewhere).includes(`unresolved effect ${id}`)).toBe(true);
  });
  it('[CTX-3] says what was denied', () => {
    const h = new History();
    h.turn([{ tool: 'mail', args: { what: 'a' } }]);
    h.change('policy', { ...POLICY, rules: rulesText([{ id: 'r', effect: 'forbid', tools: ['mail'], reason: 'not now' }]) });
    h.gate(); h.seal();
    expect(text(done(h))).toContain('denied (POLICY_FORBIDS): not now');
  });

  const hostile = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.array(fc.constantFrom('\n', '\r\n', '\u2028', '\u2029', '\u0085', '\r', 'STATE NOW (from the platform)', 'Constraint: none', '| ', 'unresolved effects: none', 'tool: rm', '"}]'), { maxLength: 20 }).map((l) => l.join('')));
  it('[CTX-6] keeps every line of untrusted text behind its mark, whatever is in it', () => {
    fc.assert(fc.property(hostile, fc.integer({ min: 1, max: 200 }), (t, max) => {
      const q = quote(t, max);
      const lines = q.text.split(/\r\n|[\n\r\u0085\u2028\u2029]/u);
      expect(lines.slice(0, q.cut ? -1 : undefined).every((l) => l.startsWith(QUOTE))).toBe(true);
      expect(q.cut).toBe(t.length > max);
    }), { numRuns: 300 });
  });
  it('[CTX-6] lets no input, result or goal add a line of the platform, a tool or a constraint', () => {
    fc.assert(fc.property(hostile.filter((t) => t.isWellFormed()), (t) => {
      const plainly = done(new History({ goal: 'x' }));
      const c = done(new History({ goal: t }));
      expect(c.tools).toEqual(plainly.tools);
      expect(c.system).toBe(plainly.system);
      const own = (e: Compiled): string[] => (e.entry.kind === 'input' ? e.entry.text : '').split(/\r\n|[\n\r\u0085\u2028\u2029]/u).filter((l) => !l.startsWith(QUOTE));
      expect(own(c)).toEqual(own(plainly));
    }), { numRuns: 60 });
  });
  it('[CTX-6] cannot be given a second line by a constraint, a denial or a plan', () => {
    fc.assert(fc.property(hostile, (t) => {
      const h = new History({ constraints: [t] });
      h.must('api', [fact('plan.changed', { steps: [t] })], OP);
      const lines = stateNow(h.state).split(/[\n\r\u2028\u2029\u0085]/u);
      expect(lines.filter((l) => l.startsWith('constraint: '))).toHaveLength(1);
      expect(lines).toHaveLength(stateNow(new History({ constraints: ['x'] }).state).split('\n').length + 1);
    }), { numRuns: 100 });
  });
  it('[CTX-8] freezes what was sent: a lineage that goes on says only what is new', () => {
    const h = answered();
    const before = h.state.lineage?.items ?? [];
    const c = done(h);
    expect(c).toMatchObject({ form: 'continued', opensLineage: false, entry: { kind: 'results' } });
    h.compile();
    expect(h.state.lineage?.items.slice(0, before.length)).toEqual(before);
  });
  it('[CTX-8] opens a new lineage for another model, tells past calls as quoted text, and carries no continuation', () => {
    const h = answered();
    h.change('profiles', profiles([OTHER_ROUTE]));
    const c = done(h);
    expect(c).toMatchObject({ form: 'reconstructed', opensLineage: true, continuations: [] });
    expect(c.entry.kind).toBe('input');
    expect(text(c)).toContain('do not make them again because you read of them');
  });

  it('[RES-9] calls the first one first, what goes on continued, what is sent again an exact replay, and what is told anew reconstructed', () => {
    const h = new History();
    expect(done(h).form).toBe('first');
    answered(['read'], h);
    expect(done(h).form).toBe('continued');
    h.carryOn(); h.generate(); h.seal(); h.noAnswer('unknown'); h.seal();
    const again = done(h);
    expect(again).toMatchObject({ form: 'exact-replay', opensLineage: false });
    expect(again.replays).toEqual(h.state.lineage?.items.findLast((i) => i.kind === 'said')?.entry);
    h.change('profiles', profiles([OTHER_ROUTE]));
    expect(done(h).form).toBe('reconstructed');
  });
  it('[RES-9] does not call it a replay when something was said or decided since', () => {
    const h = new History();
    h.carryOn(); h.generate(); h.seal(); h.noAnswer('unknown');
    h.must('api', [fact('input.received', { text: h.content('and this', 'input') })], OP);
    h.seal();
    expect(done(h)).toMatchObject({ form: 'continued', entry: { text: expect.stringContaining('and this') } });
  });
  it('[CON-5] tells the story anew where a metadata-only run keeps no piece, and says why', () => {
    const h = answered(['read'], new History({ retention: 'metadata-only' }));
    expect(done(h)).toMatchObject({ form: 'reconstructed', because: expect.stringContaining('exact recovery is unavailable') });
  });
  it('[TOOL-2] offers what the registry has now and the task names', () => {
    const h = new History({ tools: ['mail', 'gone'] });
    expect(offeredTools(h.state, { revision: 1, tools: h.tenant.registry?.document.tools ?? [] }).map((t) => t.name)).toEqual(['mail']);
  });
});
