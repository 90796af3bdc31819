// Services in one process, as the plan in N17Q_BENCH_PLAN says. Says when it is ready; on SIGUSR2 collects garbage and says how much memory it holds; ends on SIGTERM.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const running = [];
for (const { program, settings } of JSON.parse(readFileSync(process.env.N17Q_BENCH_PLAN, 'utf8'))) {
  const { start } = await import(pathToFileURL(program).href);
  running.push(await start(settings));
}
let asked = 0;
process.on('SIGUSR2', () => {
  for (let n = 0; n < 3; n++) globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ event: 'memory', asked: ++asked, rss, heapUsed, external, arrayBuffers })}\n`);
});
process.once('SIGTERM', () => { void (async () => { for (const r of running.toReversed()) await r.stop(); })().then(() => process.exit(0), () => process.exit(1)); });
process.stdout.write('{"event":"ready"}\n');
