import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Fleet } from './fleet.js';
import { SABOTEURS } from './saboteurs.js';

const SEEDS_MAX = 40;

describe('the judges of the simulation', () => {
  let fleet: Fleet;
  let caught: readonly Promise<number | undefined>[];
  /** The first seed under which the judges name the law, or undefined. */
  const firstSeed = async (saboteur: number, law: string): Promise<number | undefined> => {
    for (let seed = 1; seed <= SEEDS_MAX; seed++) if ((await fleet.ask({ kind: 'saboteur', saboteur, seed })).breaches.some((b) => b.law === law)) return seed;
    return undefined;
  };
  beforeAll(() => {
    fleet = new Fleet();
    caught = SABOTEURS.map(({ law }, at) => firstSeed(at, law));
    for (const c of caught) c.catch(() => undefined); // each test hears of its own
  });
  afterAll(() => fleet.stop());

  for (const [at, { law, title }] of SABOTEURS.entries()) {
    it(`[saboteur ${law}] catch ${title}`, async () => {
      const seed = await caught[at];
      process.stdout.write(`saboteur ${law}: ${seed === undefined ? 'not caught' : `caught at seed ${seed}`}\n`);
      expect(seed).toBeDefined();
    }, 300_000);
  }
});
