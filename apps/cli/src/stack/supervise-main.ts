/** The detached supervisor: `supervise-main.js one-process|separate`. The state file says how far it is; SIGTERM ends it in order. */
import { dataDir, placesIn } from './places.js';
import { AlreadySupervised, supervise } from './supervisor.js';

const mode = process.argv[2] === 'separate' ? 'separate' : 'one-process';
const say = (step: string): void => { process.stdout.write(`${new Date().toISOString()} ${step}\n`); };
let asked = false;
let ended: (() => void) | undefined;
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => { asked = true; ended?.(); });

try {
  const awake = setInterval(() => undefined, 60_000); // the processes that it waits for keep no event loop alive
  const stack = await supervise({ places: placesIn(dataDir()), mode, progress: say });
  await new Promise<void>((resolve) => { ended = resolve; if (asked) resolve(); });
  await stack.stop(say);
  clearInterval(awake);
  process.exit(0);
} catch (e) {
  process.stderr.write(`${e instanceof Error ? e.message : String(e)}\n`);
  process.exit(e instanceof AlreadySupervised ? 3 : 1);
}
