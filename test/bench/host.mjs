// All services in one process, as the plan in N17Q_BENCH_PLAN says. Says when it is ready; ends on SIGTERM.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const running = [];
for (const { program, settings } of JSON.parse(readFileSync(process.env.N17Q_BENCH_PLAN, 'utf8'))) {
  const { start } = await import(pathToFileURL(program).href);
  running.push(await start(settings));
}
process.once('SIGTERM', () => void (async () => { for (const r of running.toReversed()) await r.stop(); })().then(() => process.exit(0), () => process.exit(1)));
process.stdout.write('{"event":"ready"}\n');
