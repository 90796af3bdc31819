import { describe, expect, it } from '@jest/globals';
import { judgeAll } from './judges/index.js';
import { SABOTEURS } from './saboteurs.js';
import { simulate } from './simulation.js';

const SEEDS_MAX = 12;

describe('the judges of the simulation', () => {
  for (const { law, title, saboteur } of SABOTEURS) {
    it(`[saboteur ${law}] catch ${title}`, async () => {
      let caught: number | undefined;
      for (let seed = 1; seed <= SEEDS_MAX && caught === undefined; seed++) if (judgeAll(await simulate(seed, saboteur)).some((b) => b.law === law)) caught = seed;
      process.stdout.write(`saboteur ${law}: ${caught === undefined ? 'not caught' : `caught at seed ${caught}`}\n`);
      expect(caught).toBeDefined();
    }, 120_000);
  }
});
