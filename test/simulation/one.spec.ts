import { it } from '@jest/globals';
import { simulate } from './simulation.js';
import { judgeAll } from './judges/index.js';
it('one', async () => {
  const s = await simulate(Number(process.env.N17Q_SEED ?? 28));
  const out = judgeAll(s).map((b) => `${b.law}: ${b.what}`);
  const grep = process.env.GREP ?? '';
  for (const h of s.store.held.lane) { const line = `${h.event.stream} ${h.event.revision} ${h.event.recordedAt - 1_800_000_000_000} ${h.event.type} ${JSON.stringify(h.event.data).slice(0, 400)}`; if (line.includes(grep)) out.push(line); }
  for (const x of s.world.ledger.sends) { const l = `SEND ${JSON.stringify(x)}`; if (l.includes(grep)) out.push(l); }
  for (const x of s.world.ledger.happenings) { const l = `HAP ${JSON.stringify(x)}`; if (l.includes(grep)) out.push(l); }
  if (process.env.TRACE) out.push(...s.trace.slice(-Number(process.env.TRACE)));
  process.stdout.write(out.join('\n') + '\n');
}, 60_000);
