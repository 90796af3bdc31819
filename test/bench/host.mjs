// All services in one process, as the plan in N17Q_BENCH_PLAN says. Says when it is ready; ends on SIGTERM.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const marks=[];globalThis.__mark=(n)=>marks.push([performance.now(),n]);
const running = [];
for (const { program, settings } of JSON.parse(readFileSync(process.env.N17Q_BENCH_PLAN, 'utf8'))) {
  const { start } = await import(pathToFileURL(program).href);
  running.push(await start(settings));
}
import { writeFileSync as wf } from 'node:fs';
process.once('SIGTERM', () => {wf('/tmp/marks.json',JSON.stringify(marks));void (async () => { for (const r of running.toReversed()) await r.stop(); })().then(() => process.exit(0), () => process.exit(1));});
process.stdout.write('{"event":"ready"}\n');
