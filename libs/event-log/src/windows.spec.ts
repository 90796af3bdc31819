import { describe, expect, it } from '@jest/globals';
import type { Amounts } from '@n17q/domain';
import { countDraws, drawable, replaceLimits, standing, type HeldWindows } from './windows.js';

const HOUR = 3_600_000;
const at = (h: number): number => 500_000 * HOUR + Math.floor(h * HOUR);
const of = (usd_micros: number, calls = 0): Amounts => ({ usd_micros, tokens: 0, calls });
const RICH = { usd_micros: 1000, tokens: 1000, calls: 1000 };
const limited = (most: number, everyMs = HOUR): HeldWindows => { const w: HeldWindows = { rows: [], draws: new Map() }; replaceLimits(w, [{ everyMs, amounts: { ...RICH, usd_micros: most } }]); return w; };
const free = (w: HeldWindows, now: number): number => drawable(RICH, w.rows, now).usd_micros;

describe('limits per window', () => {
  it('[BUD-5] counts in windows from 1970, and opens the next one exactly at its time', () => {
    const w = limited(10);
    countDraws(w, 'run/a', of(7), at(0.2));
    expect([free(w, at(0.2)), free(w, at(1) - 1), free(w, at(1))]).toEqual([3, 3, 10]);
    expect(standing(RICH, w.rows, at(0.5))).toMatchObject({ held: RICH, windowEndsAt: at(1), limits: [{ everyMs: HOUR, left: { usd_micros: 3 }, endsAt: at(1) }] });
    countDraws(w, 'run/a', of(4), at(1.5));
    expect([free(w, at(1.5)), standing(RICH, w.rows, at(5)).windowEndsAt]).toEqual([6, at(6)]);
  });
  it('[BUD-5] opens no window a second time when the clock steps back', () => {
    const w = limited(10);
    countDraws(w, 'run/a', of(9), at(1.1));
    expect(free(w, at(0.9))).toBe(1);
    countDraws(w, 'run/b', of(1), at(0.9));
    expect([free(w, at(1.2)), free(w, at(2))]).toEqual([0, 10]);
  });
  it('[BUD-5] lets back in only what the same run drew in this window', () => {
    const w = limited(10);
    countDraws(w, 'run/a', of(8), at(0.1));
    countDraws(w, 'run/a', of(6), at(1.1));
    countDraws(w, 'run/b', of(4), at(1.2));
    countDraws(w, 'run/c', of(-5), at(1.2));
    expect(free(w, at(1.3))).toBe(0);
    countDraws(w, 'run/a', of(-14), at(1.4));
    expect(free(w, at(1.4))).toBe(6);
    countDraws(w, 'run/b', of(-4), at(2.1)); // the window has turned
    expect(free(w, at(2.1))).toBe(10);
  });
  it('[BUD-5] keeps what was drawn under a limit of the same length, and forgets one that is gone', () => {
    const w = limited(10);
    countDraws(w, 'run/a', of(8), at(0.1));
    replaceLimits(w, [{ everyMs: HOUR, amounts: { ...RICH, usd_micros: 5 } }, { everyMs: 24 * HOUR, amounts: { ...RICH, usd_micros: 100, calls: 2 } }]);
    expect(drawable(RICH, w.rows, at(0.2))).toEqual({ usd_micros: 0, tokens: 1000, calls: 2 });
    replaceLimits(w, []);
    expect([free(w, at(0.3)), w.rows.length, w.draws.size]).toEqual([1000, 0, 0]);
  });
});
