import { it } from '@jest/globals';
import { simulate } from './simulation.js';
import { judgeAll } from './judges/index.js';
it('runs', async () => {
  const from = Number(process.env.N17Q_SEED ?? 1);
  const t = performance.now();
  const seen = new Map<string, { seeds: number[]; first: string }>();
  const n = Number(process.env.N17Q_SEEDS ?? 30);
  let events = 0; let steps = 0;
  for (let seed = from; seed < from + n; seed++) {
    const s = await simulate(seed);
    events += s.store.position; steps += s.steps;
    for (const b of judgeAll(s)) {
      const k = `${b.law} ${b.what.replace(/(eff|call|con)-[0-9a-f-]+/g, '$1').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID').replace(/\d+/g, '#')}`.slice(0, 260);
      const e = seen.get(k) ?? { seeds: [], first: b.what };
      if (!e.seeds.includes(seed)) e.seeds.push(seed);
      seen.set(k, e);
    }
  }
  process.stdout.write(`${n} seeds ${Math.round(performance.now() - t)} ms, ${events} events ${steps} steps\n` + [...seen].sort((a, b) => b[1].seeds.length - a[1].seeds.length).map(([k, v]) => `${v.seeds.length}x [${v.seeds.slice(0, 4)}] ${k}`).join('\n') + '\n');
}, 300_000);
