import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { Needles } from './leaks.js';

const value = (bytes: number): string => randomBytes(bytes).toString('base64');
const values = [value(181), value(182), value(183), value(60), value(5000)];
const needles = new Needles(values);

describe('the search for opaque values', () => {
  it.each<readonly [string, (v: string) => string | Buffer]>([
    ['as issued', (v: string) => `{"thoughtSignature":"${v}"}`],
    ['in the URL alphabet', (v: string) => v.replaceAll('+', '-').replaceAll('/', '_')],
    ['with escaped slashes', (v: string) => v.replaceAll('/', '\\/')],
    ['as bytes', (v: string) => Buffer.concat([Buffer.from('x'), Buffer.from(v, 'base64')])],
    ['as hex', (v: string) => Buffer.from(v, 'base64').toString('hex')],
    ['its text in base64, aligned', (v: string) => Buffer.from(v).toString('base64')],
    ['its text in base64, one off', (v: string) => Buffer.from(`"${v}"`).toString('base64')],
    ['its text in base64, two off', (v: string) => Buffer.from(`: "${v}"`).toString('base64').slice(1)],
    ['its bytes in base64, two off', (v: string) => Buffer.concat([Buffer.from('ab'), Buffer.from(v, 'base64'), Buffer.from('c')]).toString('base64')],
  ])('[CON-3] finds a value %s', (_how, form) => {
    for (const v of values) expect(needles.seenIn(['nothing here', form(v)])).toBe(1);
    expect(needles.seenIn(values.map((v) => form(v)))).toBe(values.length);
  });
  it('finds nothing where nothing is', () => {
    expect(needles.seenIn([])).toBe(0);
    expect(needles.seenIn([randomBytes(100_000), randomBytes(100_000).toString('base64'), value(500)])).toBe(0);
  });
});
