import { describe, expect, it } from '@jest/globals';
import { until } from './until.js';

describe('until', () => {
  it('returns the first value that is there', async () => {
    let asked = 0;
    expect(await until(() => (++asked === 3 ? 'third' : undefined), { withinMs: 1_000, what: 'the third call' })).toBe('third');
  });

  it('takes zero and the empty string for values', async () => {
    expect(await until(() => 0, { withinMs: 0, what: 'zero' })).toBe(0);
    expect(await until(() => '', { withinMs: 0, what: 'nothing written' })).toBe('');
  });

  it('names what it waited for and the last value', async () => {
    await expect(until(() => null, { withinMs: 20, what: 'the moon' })).rejects.toThrow('waited 20 ms for the moon in vain; last value: null');
  });

  it('names the last error of a condition that throws', async () => {
    await expect(until(() => { throw new Error('refused'); }, { withinMs: 20, what: 'a connection' })).rejects.toThrow('for a connection in vain; last error: refused');
  });

  it('keeps its bound when the condition hangs', async () => {
    await expect(until(() => new Promise<boolean>(() => undefined), { withinMs: 30, what: 'an answer' })).rejects.toThrow('the condition itself did not answer');
  });
});
