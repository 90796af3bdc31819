import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { WorldMode } from './world-emulator.js';

export interface WorldProcess {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  /** SIGKILL, and wait until it is gone. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** The ticket service in a process of its own, from the built files. A second start over the same ledger goes on counting. */
export async function startWorldProcess(options: { ledgerPath: string; token: string; mode?: Partial<WorldMode> }): Promise<WorldProcess> {
  const main = fileURLToPath(new URL('../../dist/world-emulator/main.js', import.meta.url));
  const child = spawn(process.execPath, [main, '--ledger', options.ledgerPath, '--mode', JSON.stringify(options.mode ?? {})], {
    stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: process.env['PATH'], N17Q_WORLD_TOKEN: options.token },
  });
  const gone = once(child, 'exit');
  const line = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), gone.then(() => undefined)]);
  if (!line) throw new Error(`the world emulator ended at start with ${child.exitCode ?? child.signalCode}`);
  const { url, pid } = JSON.parse(line[0] as string) as { url: string; pid: number };
  const end = (signal: NodeJS.Signals) => async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await gone;
  };
  return { url, pid, token: options.token, kill: end('SIGKILL'), stop: end('SIGTERM') };
}
