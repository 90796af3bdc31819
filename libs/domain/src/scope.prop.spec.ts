import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import type { Json } from './json.js';
import { overlaps, scopeOf, type Scope } from './scope.js';

const keyed = (text: string): string => createHash('sha256').update(text).digest('hex');
const of = (args: Json, scopeFields: readonly string[], target = 'bank'): Scope => scopeOf({ target, scopeFields }, args, keyed);
const args = fc.dictionary(fc.constantFrom('invoice', 'customer', 'note'), fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)));
const fields = fc.subarray(['invoice', 'customer', 'note']);

describe('scopes', () => {
  it('[EFF-6] a whole target meets every scope of it, and none of another target', () => {
    fc.assert(fc.property(args, fields, (a, f) => {
      expect(overlaps(of(a, []), of(a, f))).toBe(true);
      expect(overlaps(of(a, f), of({}, []))).toBe(true);
      expect(overlaps(of(a, f), of(a, f, 'shop'))).toBe(false);
    }));
  });
  it('[EFF-6] meet themselves and one another alike', () => {
    fc.assert(fc.property(args, args, fields, fields, (a, b, f, g) => {
      expect(overlaps(of(a, f), of(a, f))).toBe(true);
      expect(overlaps(of(a, f), of(b, g))).toBe(overlaps(of(b, g), of(a, f)));
    }));
  });
  it('[EFF-6] get wider, never apart, when a field is left out', () => {
    fc.assert(fc.property(args, args, fields, fields, (a, b, f, g) => {
      if (overlaps(of(a, f), of(b, g))) expect(overlaps(of(a, f.slice(1)), of(b, g))).toBe(true);
    }));
  });
  it.each([['42', 42], [' Invoice  7', 'invoice 7'], ['ＡＢＣ', 'abc'], ['7.50', 7.5], [{ b: '1', a: 2 }, { a: '2', b: 1 }], [['A', 1], ['a', '1']],
    [1e21, '1000000000000000000000'], [2 ** 64, '18446744073709551616'], [1e-7, '0.0000001'], ['7.5000000', 7.5], ['.5', 0.5], ['1e3', 1000], ['0000000000000000042', '42'], ['-0', 0],
    ['Straße', 'STRASSE'], ['ΟΔΟΣ', 'οδοσ'], ['invoice\u200b7', 'invoice7'], ['in\u00advoice', 'invoice'],
    [{ id: 1 }, { id: 1, note: null }], [{ id: 1 }, { id: 1, note: ' ', tags: [] }]] as [Json, Json][])('[EFF-6] %j and %j are one value', (a, b) => {
    expect(overlaps(of({ invoice: a }, ['invoice']), of({ invoice: b }, ['invoice']))).toBe(true);
  });
  it.each([['41', 42], ['invoice 7', 'invoice 8'], [['a'], ['b']], ['12345678901234567890', '12345678901234567891'], ['1e3', '1e4'], ['-1', 1], [{ id: 1 }, { id: 2 }], ['7.5000000001', 7.5]] as [Json, Json][])('[EFF-6] %j and %j are two', (a, b) => {
    expect(overlaps(of({ invoice: a }, ['invoice']), of({ invoice: b }, ['invoice']))).toBe(false);
  });
  it.each([[{ id: 1 }, { id: 1, note: 'urgent' }], [{ id: 1 }, { note: 'urgent' }], [{ id: { a: 1 } }, { id: { a: 1, b: 2 } }], [{ id: 1 }, 7], [['a', 'b'], ['b', 'a']], [['a'], ['a', 'b']], [['a', 'b'], ['b', 'c']], ['a', ['A']], [['a', 'b'], 'b'], [[{ id: 1 }, { id: 2 }], { id: 2 }],
    [{ to: ['a', 'b'] }, { to: ['b'] }], [[[1, 2]], [[2, 1]]], [['a', 2 ** 60], 'b'], [[{ id: 2 ** 60 }, { id: 1 }], { id: 2 }]] as [Json, Json][])('[EFF-6] %j and %j cannot be shown to be apart: the same thing may be asked for in either form', (a, b) => {
    expect(overlaps(of({ invoice: a }, ['invoice']), of({ invoice: b }, ['invoice']))).toBe(true);
    expect(overlaps(of({ invoice: b }, ['invoice']), of({ invoice: a }, ['invoice']))).toBe(true);
  });
  it.each([[{ id: 1, note: 'x' }, { id: 2, note: 'x' }], [{ id: 1 }, { id: 2, note: 'x' }], [[{ id: 1 }], { id: 2 }], [{ id: { a: 1 } }, { id: { a: 2, b: 2 } }]] as [Json, Json][])('[EFF-6] %j and %j are apart by a member that both have', (a, b) => {
    expect(overlaps(of({ invoice: a }, ['invoice']), of({ invoice: b }, ['invoice']))).toBe(false);
  });
  it('[EFF-6] of huge and deep values stay small, and get wider by that', () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, n]));
    expect(Object.keys(of({ invoice: many }, ['invoice']).fields).length).toBeLessThanOrEqual(32);
    let [deep, nested]: [Json, Json] = [1, 1];
    for (let i = 0; i < 50_000; i++) [deep, nested] = [{ d: deep }, [nested]];
    for (const v of [deep, nested, { ['k'.repeat(5000)]: 1 }]) expect(of({ invoice: v }, ['invoice']).fields).toEqual({});
  });
  it('[EFF-6] fields of two names take nothing apart', () => {
    expect(overlaps(of({ invoice: 7 }, ['invoice']), of({ customer: 9 }, ['customer']))).toBe(true);
  });
  it('[EFF-6] a value that is missing or blank makes the scope wider', () => {
    for (const v of [null, '', '  ', '\u200b', {}, [], { note: null }] as Json[]) expect(overlaps(of({ invoice: v }, ['invoice']), of({ invoice: 7 }, ['invoice']))).toBe(true);
  });
  it('[EFF-6] of names that objects have anyway, of no letters, and of long values are as others are', () => {
    for (const name of ['__proto__', 'constructor', 'toString', '', ' ', 'é\u0301']) {
      const one = of(JSON.parse(`{${JSON.stringify(name)}:1}`) as Json, [name]);
      const two = of(JSON.parse(`{${JSON.stringify(name)}:2}`) as Json, [name]);
      expect([overlaps(one, one), overlaps(one, two), overlaps(two, one), overlaps(of({}, [name]), two), overlaps(two, of({}, [name]))]).toEqual([true, false, false, true, true]);
    }
    const long = `1${'0'.repeat(60_000)}1`;
    expect(overlaps(of({ invoice: long }, ['invoice']), of({ invoice: `${long}1` }, ['invoice']))).toBe(false);
  });
});
