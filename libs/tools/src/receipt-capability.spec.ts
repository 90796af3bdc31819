import { describe, expect, it } from '@jest/globals';
import { receiptFor, receiptHeader, receiptKey, receiptToken } from './receipt-capability.js';

const KEY = 'k'.repeat(32);
const THIS = { tenant: 'acme', run: 'r-1', effect: 'eff-1' };

describe('the capability for a receipt', () => {
  it('[SEC-1] [EFF-5] is for exactly one effect of one run of one tenant', () => {
    const token = receiptToken(KEY, THIS);
    expect(receiptFor(KEY, token)).toEqual(THIS);
    const others = [{ ...THIS, tenant: 'globex' }, { ...THIS, run: 'r-2' }, { ...THIS, effect: 'eff-2' }].map((f) => receiptToken(KEY, f));
    expect(new Set([token, ...others]).size).toBe(4);
    expect(receiptHeader({ url: 'http://127.0.0.1:1/v1/receipts', token })).toBe(`<http://127.0.0.1:1/v1/receipts>; token="${token}"`);
  });

  it('[SEC-1] is worth nothing when anything of it was altered, or under another secret', () => {
    const token = receiptToken(KEY, THIS);
    const [, claim = '', mac = ''] = token.split('.');
    const claimOf = (...parts: readonly unknown[]): string => Buffer.from(JSON.stringify(parts)).toString('base64url');
    for (let at = 0; at < token.length; at++) expect(receiptFor(KEY, `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`)).toBeUndefined();
    for (const wrong of ['', token.slice(0, -1), `${token}A`, `n17qr1.${claimOf('acme', 'r-1', 'eff-2')}.${mac}`, `n17qr1.${claim}.`, `n17qr1..${mac}`, claim, `${token} `]) expect(receiptFor(KEY, wrong)).toBeUndefined();
    expect(receiptFor('j'.repeat(32), token)).toBeUndefined();
    expect(() => receiptKey('short')).toThrow('at least 24');
  });
});
