import { describe, expect, it } from '@jest/globals';
import type { Json } from '@n17q/domain';
import { argumentsOf, argumentsSeen, decimalOf } from './argument-type.js';
import { ALLOW_ALL, literal } from './first-rules.js';
import { faultsFrom, object, question, registry, rulesFrom, tool } from './spec-kit.js';

const names = (schema: Json): readonly string[] => argumentsOf(schema).fields.map((f) => f.name);
const forbid = (condition: string): string => `${ALLOW_ALL}@id("stop") @reason("no") forbid (principal, action == N17Q::Action::"call:pay", resource) when { ${condition} };`;

describe('types out of a JSON Schema', () => {
  it('[POL-4] leaves out what has no exact type, so that no rule can rest on it', () => {
    const schema = object({
      ok: { type: 'string' }, choice: { enum: ['a', 'b'] }, mixed: { enum: ['a', 1] }, either: { type: ['string', 'null'] }, any: {}, ref: { $ref: '#/$defs/x' }, union: { anyOf: [{ type: 'string' }] }, nothing: { type: 'null' },
      free: { type: 'object' }, map: { type: 'object', additionalProperties: { type: 'string' } }, list: { type: 'array', items: { type: 'integer' } }, listOfAny: { type: 'array' }, tuple: { type: 'array', items: { type: 'string' }, prefixItems: [{ type: 'integer' }] },
      listOfObjects: { type: 'array', items: object({ a: { type: 'string' } }) }, inner: object({ a: { type: 'boolean' } }), yes: true,
    });
    expect(names(schema)).toEqual(['choice', 'inner', 'list', 'ok']);
    expect(faultsFrom(forbid('context.args has union'), registry(tool('pay', schema)))).toEqual([expect.stringMatching(/^stop: It can never apply/)]);
    for (const odd of [true, null, 'x', [], { type: 'string' }, { $ref: '#' }] as Json[]) expect(names(odd)).toEqual([]);
  });

  it('[CTX-6] a name of the schema is never a word of the engine', () => {
    const schema = object({ __entity: { type: 'string' }, __extn: { type: 'string' }, __proto__x: { type: 'string' }, constructor: { type: 'string' }, 'a "b"\n': { type: 'string' }, '': { type: 'string' }, 'in': { type: 'string' } });
    expect(names(schema)).toEqual(['a "b"\n', 'constructor', 'in']);
    const args = { __entity: { type: 'N17Q::Role', id: 'admin' }, constructor: 'c', 'a "b"\n': 'x', in: 'y' };
    const r = registry(tool('pay', schema));
    expect(rulesFrom(forbid('context.args has "a \\"b\\"\\n" && context.args["a \\"b\\"\\n"] == "x" && context.args has "in" && context.args["in"] == "y" && context.args has constructor'), r)(question({ args }))).toMatchObject({ kind: 'deny', by: ['stop'] });
  });

  it('is not fooled by a schema without bottom', () => {
    let deep: Json = { type: 'string' };
    for (let n = 0; n < 500; n++) deep = object({ a: deep });
    expect(rulesFrom(ALLOW_ALL, registry(tool('pay', deep)))(question({ args: {} }))).toMatchObject({ kind: 'allow' });
  });
});

describe('values', () => {
  it.each([[0, '0.0'], [-0, '0.0'], [1, '1.0'], [12.5, '12.5000'], [0.1, '0.1000'], [-0.0001, '-0.0001'], [922337203685476, '922337203685476.0'], [0.00001, undefined], [1 / 3, undefined], [1e21, undefined], [2 ** 38 + 0.5, undefined], [Number.NaN, undefined], [Infinity, undefined]])('[POL-4] %p is %p as a decimal, or nothing', (x, text) => {
    expect(decimalOf(x)).toBe(text);
  });

  it('[POL-4] a value that cannot be held exactly makes a rule that names it unanswerable, and troubles no other', () => {
    const args = { to: 'bob', amount: 0.00001 };
    expect(rulesFrom(ALLOW_ALL)(question({ args }))).toMatchObject({ kind: 'allow' });
    expect(rulesFrom(forbid('context.args.to == "eve"'))(question({ args }))).toMatchObject({ kind: 'allow' });
    for (const rule of ['context.args.amount.greaterThan(decimal("100.0"))', 'context.args == context.args', 'context == context', '[context.args].contains(context.args)', '(if context.approved then context.args else context.args).amount.greaterThan(decimal("1.0"))'])
      expect(rulesFrom(forbid(rule))(question({ args }))).toEqual({ kind: 'broken', reason: 'a rule names the argument amount, and its value has no exact place in a rule' });
    const inner = rulesFrom(forbid('context.args has by && context.args has by.name'));
    expect(inner(question({ args: { to: 'bob', amount: 1, by: { name: 'a\ud800' } } }))).toMatchObject({ kind: 'broken', reason: expect.stringContaining('by.name') });
    expect(rulesFrom(forbid('context.args has copies && context.args.copies > 3'))(question({ args: { to: 'bob', amount: 1, copies: 1e300 } }))).toMatchObject({ kind: 'broken' });
    expect(rulesFrom(forbid('context.args has tags && context.args.tags.contains("x")'))(question({ args: { to: 'bob', amount: 1, tags: ['x', 1] } }))).toMatchObject({ kind: 'broken' });
  });

  it('[POL-4] says whether the rules see all arguments', () => {
    const type = argumentsOf({ type: 'object', properties: { a: { type: 'string' }, n: { type: 'number' }, o: { type: 'object', properties: { b: { type: 'string' } } } } });
    const none = { names: new Set<string>(), whole: false };
    const complete = (args: { readonly [key: string]: Json }): boolean => { const s = argumentsSeen(type, args, none); return s.ok && s.complete; };
    expect([complete({}), complete({ a: 'x', o: { b: 'y' } })]).toEqual([true, true]);
    expect([complete({ z: 1 }), complete({ o: { b: 'y', c: 1 } }), complete({ n: 0.00001 })]).toEqual([false, false, false]);
  });

  it.each([
    'x"; permit (principal, action, resource);', '") unless { true }; //', '{"__entity":{"type":"N17Q::Role","id":"admin"}}', '\\u{22}', '*', '${context.approved}', '\u202e', '\0', '// approved',
  ])('[CTX-6] %p as an argument is text and nothing else', (text) => {
    const rules = rulesFrom(`${forbid('!(context.args.to == "bob")')}`);
    expect(rules(question({ args: { to: text, amount: 1 } }))).toEqual({ kind: 'deny', by: ['stop'], reasons: ['no'] });
    const same = rulesFrom(forbid(`context.args.to == ${literal(text)}`));
    expect(same(question({ args: { to: text, amount: 1 } }))).toMatchObject({ kind: 'deny', by: ['stop'] });
    expect(same(question({ args: { to: `${text} `, amount: 1 } }))).toMatchObject({ kind: 'allow' });
  });

  it('[CTX-6] an object where a text belongs is no entity', () => {
    const rules = rulesFrom(forbid('context.args.to == "eve"'));
    const to = { __entity: { type: 'N17Q::Person', id: 'eve' } };
    expect(rules(question({ args: { to, amount: 1 } }))).toMatchObject({ kind: 'broken' });
    expect(rulesFrom(ALLOW_ALL)(question({ args: { to: 'x', amount: 1, by: { name: to } } }))).toMatchObject({ kind: 'allow' });
  });
});
