import { describe, expect, it } from '@jest/globals';
import { LRUCache } from 'lru-cache';
import { RunCache } from './run-cache.js';

describe('what is remembered of runs', () => {
  it('is kept of those at work, and of few of those that rest', () => {
    const c = new RunCache<{ readonly n: number }>(new LRUCache({ max: 1000 }));
    for (let n = 0; n < 600; n++) { c.set(`works ${n}`, { n }, false); c.set(`rests ${n}`, { n }, true); }
    const kept = (kind: string): number => Array.from({ length: 600 }, (_, n) => c.get(`${kind} ${n}`)).filter((x) => x !== undefined).length;
    expect([kept('works'), kept('rests')]).toEqual([600, 256]);
  });
  it('follows a run that goes to rest and comes back, and is never there twice', () => {
    const working = new LRUCache<string, { readonly n: number }>({ max: 10 });
    const c = new RunCache(working);
    c.set('r', { n: 1 }, false);
    c.move('r', true);
    expect([working.has('r'), c.get('r')]).toEqual([false, { n: 1 }]);
    c.set('r', { n: 2 }, false);
    expect([working.has('r'), c.get('r')]).toEqual([true, { n: 2 }]);
    working.delete('r');
    expect(c.get('r')).toBeUndefined();
    c.move('r', true);
    expect(c.get('r')).toBeUndefined();
  });
});
