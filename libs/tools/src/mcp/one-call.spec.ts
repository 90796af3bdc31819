import { describe, expect, it } from '@jest/globals';
import { OneCall } from './one-call.js';

describe('the one call of a session', () => {
  it('[EFF-4] is admitted once: a second one is refused, and the last check is not asked again', () => {
    let asked = 0;
    const call = new OneCall(() => { asked++; return true; });
    expect(call.written).toBe(false);
    call.admit();
    expect(call.written).toBe(true);
    expect(() => call.admit()).toThrow('SECOND_CALL');
    expect([asked, call.written]).toEqual([1, true]);
  });

  it('[EFF-2] is not written when the last check says no or breaks, and cannot be tried again', () => {
    for (const check of [() => false, () => { throw new Error('broke'); }]) {
      const call = new OneCall(check);
      expect(() => call.admit()).toThrow();
      expect(() => call.admit()).toThrow('SECOND_CALL');
      expect(call.written).toBe(false);
    }
  });
});
