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
  it.each([['42', 42], [' Invoice  7', 'invoice 7'], ['ＡＢＣ', 'abc'], ['7.50', 7.5], [{ b: '1', a: 2 }, { a: '2', b: 1 }], [['A', 1], ['a', '1']]] as [Json, Json][])('[EFF-6] %j and %j are one value', (a, b) => {
    expect(overlaps(of({ invoice: a }, ['invoice']), of({ invoice: b }, ['invoice']))).toBe(true);
  });
  it.each([['41', 42], ['invoice 7', 'invoice 8'], [['a'], ['b']], ['12345678901234567890', '12345678901234567891']] as [Json, Json][])('[EFF-6] %j and %j are two', (a, b) => {
    expect(overlaps(of({ invoice: a }, ['invoice']), of({ invoice: b }, ['invoice']))).toBe(false);
  });
  it('[EFF-6] fields of two names take nothing apart', () => {
    expect(overlaps(of({ invoice: 7 }, ['invoice']), of({ customer: 9 }, ['customer']))).toBe(true);
  });
  it('[EFF-6] a value that is missing or blank makes the scope wider', () => {
    for (const v of [null, '', '  ']) expect(overlaps(of({ invoice: v }, ['invoice']), of({ invoice: 7 }, ['invoice']))).toBe(true);
  });
});
