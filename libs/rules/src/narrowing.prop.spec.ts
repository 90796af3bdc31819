import { describe, expect, it } from '@jest/globals';
import type { Json, RuleQuestion } from '@n17q/domain';
import { compileRules } from './compile.js';
import { ALLOW_ALL, literal } from './first-rules.js';
import { MODEL, question, rulesFrom, SHOP } from './spec-kit.js';

const SEED = Number(process.env['N17Q_TEST_SEED'] ?? Date.now() % 1_000_000);

/** A small generator of its own, so that a seed says everything. */
function dice(seed: number): { readonly below: (n: number) => number; readonly of: <T>(list: readonly T[]) => T } {
  let s = seed >>> 0 || 1;
  const next = (): number => { s ^= s << 13; s ^= s >>> 17; s ^= s << 5; s >>>= 0; return s / 2 ** 32; };
  const below = (n: number): number => Math.floor(next() * n);
  return { below, of: (list) => list[below(list.length)] as (typeof list)[number] };
}
type Dice = ReturnType<typeof dice>;

const CONDITIONS = [
  'context.approved', 'context.attempts > 1', 'context.dataClassRank >= 2', 'context.ownRequest', 'principal in N17Q::Role::"buyer"', 'context.cost.usd_micros * 9223372036854775807 > 5', 'context.budgetLeft.calls < 5',
  'context.observed.contains("stock")', 'context has delegate && context.delegate == "eve"', 'principal == N17Q::Person::"ada"', 'context.attempts + 9223372036854775807 > 0',
];
const ON_CALLS = ['context.args.to == "bob"', 'context.args.amount.greaterThan(decimal("10.0"))', 'context.args has copies && context.args.copies > 2', 'context.argsComplete', 'context.args has tags && context.args.tags.contains("x")'];

function rule(d: Dice, id: string, effect: 'permit' | 'forbid'): string {
  const onCall = d.below(3) === 0;
  const scope = onCall ? 'action == N17Q::Action::"call:pay"' : d.of(['action', 'action in N17Q::Action::"call"', 'action in [N17Q::Action::"look", N17Q::Action::"generate", N17Q::Action::"call"]']);
  const conditions = Array.from({ length: d.below(3) }, () => `${d.of(['when', 'unless'])} { ${d.of(onCall ? [...CONDITIONS, ...ON_CALLS] : CONDITIONS)} }`);
  return `@id("${id}") @reason("${id} says so") ${effect} (principal, ${scope}, resource) ${conditions.join(' ')};\n`;
}

function anyQuestion(d: Dice): RuleQuestion {
  const args: Json = { to: d.of(['bob', 'eve']), amount: d.of([1, 12.5, 0.00001]), ...(d.below(2) ? { copies: d.of([1, 5]) } : {}), ...(d.below(3) ? {} : { tags: ['x'] }) };
  const facts = { approved: d.below(2) === 0, attempts: d.below(4), ownRequest: d.below(2) === 0, dataClass: d.of(['public', 'confidential'] as const), observed: d.of([[], ['stock']]), delegate: d.of([null, 'eve']) };
  const who = { principal: { kind: d.of(['person', 'service'] as const), id: d.of(['ada', 'bo']), roles: d.of([[], ['buyer']]) }, cost: { usd_micros: d.below(4), tokens: 0, calls: 1 } };
  return question(d.of([{ ...facts, ...who, args }, { ...facts, ...who, args }, { ...facts, ...who, args: null, action: 'look' as const }, { ...facts, ...who, args: null, action: 'generate' as const, resource: MODEL }]));
}

describe('narrowing', () => {
  it(`[POL-2] [POL-4] a further rule that forbids never turns a refusal into a permission, and a set without one is no wider than all (seed ${SEED})`, () => {
    const d = dice(SEED);
    let [admitted, differing] = [0, 0];
    for (let n = 0; n < 60; n++) {
      const set = Array.from({ length: d.below(5) }, (_, i) => rule(d, `r${i}`, d.of(['permit', 'forbid']))).join('') + (d.below(2) ? ALLOW_ALL : '');
      const wide = compileRules(set, SHOP);
      const narrow = compileRules(set + rule(d, 'more', 'forbid'), SHOP);
      if (!wide.ok || !narrow.ok) continue; // a set that could never apply is refused
      admitted += 1;
      for (let k = 0; k < 20; k++) {
        const q = anyQuestion(d);
        const [w, x] = [wide.rules(q), narrow.rules(q)];
        if (w.kind !== x.kind) differing += 1;
        expect([set, q, w.kind, x.kind === 'allow' && w.kind !== 'allow']).toEqual([set, q, w.kind, false]);
        expect(wide.rules(q)).toEqual(w);
      }
    }
    expect(admitted).toBeGreaterThan(30);
    expect(differing).toBeGreaterThan(20);
  });

  it(`[POL-4] a rule that forbids and errs denies every question that it is asked about (seed ${SEED})`, () => {
    const d = dice(SEED + 1);
    for (const condition of ['context.cost.usd_micros * 9223372036854775807 > 5', '-9223372036854775807 - context.cost.usd_micros < 0', 'decimal(context.dataClass).greaterThan(decimal("1.0"))', 'ip(context.dataClass).isLoopback()']) {
      const compiled = compileRules(`${ALLOW_ALL}@id("errs") @reason("r") forbid (principal, action, resource) when { ${condition} };`, SHOP);
      if (!compiled.ok) continue; // the engine already sees that this cannot be evaluated
      for (let k = 0; k < 40; k++) expect(compiled.rules({ ...anyQuestion(d), args: { to: literal('bob'), amount: 1 }, cost: { usd_micros: 5, tokens: 0, calls: 1 } })).toMatchObject({ kind: 'broken' });
    }
    expect(rulesFrom(ALLOW_ALL)(question())).toMatchObject({ kind: 'allow' });
  });
});
