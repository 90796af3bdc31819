/** Which seeds to run: `N17Q_SEED` one alone, otherwise those that once failed or alone show something, and `N17Q_SEEDS` more (1,000) from 1 on. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const SEEDS_DEFAULT = 1000;
const once = JSON.parse(readFileSync(join(import.meta.dirname, 'seeds.json'), 'utf8')) as number[];
const whole = (name: string, v: string): number => { const n = Number(v); if (!Number.isSafeInteger(n) || n < 0) throw new RangeError(`${name} must be a whole number, not "${v}"`); return n; };

export function seeds(): readonly number[] {
  const { N17Q_SEED: one, N17Q_SEEDS: count } = process.env;
  if (one) return [whole('N17Q_SEED', one)];
  const n = count ? whole('N17Q_SEEDS', count) : SEEDS_DEFAULT;
  return [...new Set([...once, ...Array.from({ length: n }, (_, i) => i + 1)])];
}
