import { describe, expect, it } from '@jest/globals';
import type { EventEnvelope } from './events.js';
import { fact } from './events.js';
import { derivedAgain, revisionsOf, type Decided } from './gate/derive.js';
import { fold } from './fold.js';
import type { Json } from './json.js';
import { emptyRun, type RunState } from './run.js';
import { digest, History, OP, plain, plainRules, POLICY, rulesText } from './spec-kit.js';

/** Every append of the gate in a history, with the run as it stood before. */
function decisions(h: History): readonly Decided[] {
  const found: { before: RunState; events: EventEnvelope[] }[] = [];
  let state = emptyRun('t', 'r');
  for (const e of h.events) {
    const last = found.at(-1);
    if (e.writer === 'policy-gate') { if (last !== undefined && last.events[0]?.appendId === e.appendId) last.events.push(e); else found.push({ before: state, events: [e] }); }
    state = fold(state, [e]);
  }
  return found.filter((d) => revisionsOf(d) !== null);
}
const args = (h: History, d: Decided): ReadonlyMap<string, Json> => new Map(Object.values(d.before.effects).map((e) => [e.args.commitment, JSON.parse(h.texts.get(e.args.commitment) ?? 'null') as Json]));
const again = (h: History, d: Decided, tenant = h.tenant): readonly string[] => derivedAgain(d, tenant, args(h, d), { digest, canonical: plain, rules: plainRules(tenant.policy?.document.rules ?? '[]') });

/** A run in which much is decided: permits, an approval, a denial, a look, a repetition. */
function eventful(): History {
  const h = new History({ budget: { usd_micros: 1_000_000, tokens: 1_000_000, calls: 7 } });
  h.change('policy', { ...POLICY, rules: rulesText([{ id: 'ask-mail', effect: 'ask', tools: ['mail'], reason: 'a person looks' }, { id: 'no-put', effect: 'forbid', tools: ['put'], reason: 'not today' }]) });
  h.turn([{ tool: 'read', args: { what: 'a' } }, { tool: 'mail', args: { what: 'b' } }, { tool: 'put', args: { what: 'c' } }, { tool: 'file', args: { what: 'd' } }, { tool: 'pay', args: { what: 'e' } }]);
  const a = Object.values(h.state.approvals)[0];
  h.must('api', [fact('approval.decided', { approval: a?.approval ?? '', subject: a?.subject ?? '', decision: 'approved', note: '' })], OP);
  h.carryOn();
  while (h.start()) { h.end('unknown'); h.carryOn(); }
  return h;
}

describe('a decision', () => {
  it('[POL-3] says the revisions, the time, the rules and what it met, and is derived again from them', () => {
    const h = eventful();
    const all = decisions(h);
    expect(all.length).toBeGreaterThan(5);
    const types = new Set(all.flatMap((d) => d.events.map((e) => e.type)));
    for (const t of ['generation.permitted', 'effect.permitted', 'effect.denied', 'approval.requested', 'look.permitted'] as const) expect(types).toContain(t);
    for (const d of all) expect(again(h, d)).toEqual([]);
    const denied = h.events.find((e) => e.type === 'effect.denied');
    expect(denied?.data).toMatchObject({ code: 'POLICY_FORBIDS', tenant: { policy: 2 }, grounds: { by: ['no-put'], met: [] }, reason: expect.stringContaining('not today') });
  });
  it('[POL-3] that does not follow is named: another code, a permit too many, other revisions', () => {
    const h = eventful();
    const d = decisions(h).find((x) => x.events.some((e) => e.type === 'effect.denied'));
    if (d === undefined) throw new Error('nothing was denied');
    const forged = (change: (e: EventEnvelope) => EventEnvelope): Decided => ({ ...d, events: d.events.map(change) });
    expect(again(h, forged((e) => (e.type === 'effect.denied' ? { ...e, data: { ...e.data, code: 'OTHER' } } : e)))).toHaveLength(1);
    expect(again(h, { ...d, events: d.events.filter((e) => e.type !== 'effect.denied') }).length).toBeGreaterThan(0);
    expect(again(h, d, { ...h.tenant, policy: { revision: 2, document: POLICY, digest: 'p' } }).length).toBeGreaterThan(0);
  });
  it('[POL-3] about what another run left unresolved names it, and follows from that alone', () => {
    const first = new History();
    first.turn([{ tool: 'mail', args: { what: 'x' } }]);
    first.start(); first.end('unknown');
    const h = new History();
    h.carryOn(); h.generate(); h.seal(); h.answer([{ tool: 'mail', args: { what: 'x' } }]); h.seal(); h.intend();
    h.gate(first.open().map((o) => ({ ...o, effect: 'eff-of-another', run: 'elsewhere' })));
    const d = decisions(h).at(-1);
    expect(d?.events[0]?.data).toMatchObject({ code: 'EFFECT_UNRESOLVED', grounds: { met: [{ effect: 'eff-of-another', run: 'elsewhere', kind: 'neither', stage: 'unknown' }] } });
    if (d !== undefined) expect(again(h, d)).toEqual([]);
  });
  it('[POL-3, BUD-2] for want of the tenant\'s budget follows too', () => {
    const h = new History({ balance: { usd_micros: 5, tokens: 5, calls: 0 } });
    h.carryOn();
    const d = decisions(h).at(-1);
    expect(d?.events.map((e) => e.type)).toEqual(['budget.exhausted', 'generation.denied']);
    if (d !== undefined) expect(again(h, d)).toEqual([]);
  });
});
