/** The command line as a user runs it, in a data folder of its own, which is stopped and removed at the end. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../apps/cli/dist/main.js', import.meta.url));

export interface Ran { readonly code: number | null; readonly out: string; readonly err: string }
export interface CommandLine {
  readonly data: string;
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>;
  /** The same, its standard output read as JSON; throws with what it said when it did not end with 0 (`status` says more with its code: 0, 3 or 4). */
  json<T>(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<T>;
  remove(): Promise<void>;
}

export function commandLine(settings: Readonly<Record<string, string>> = {}): CommandLine {
  const data = mkdtempSync(join(tmpdir(), 'n17q-cli-'));
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([k]) => !k.startsWith('N17Q_') || k === 'N17Q_NATS_SERVER'));
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> => new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...args], { cwd: tmpdir(), env: { ...inherited, N17Q_DATA_DIR: data, N17Q_API_PORT: '0', ...settings, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (t: string) => { out += t; });
    child.stderr.setEncoding('utf8').on('data', (t: string) => { err += t; });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, out, err }));
  });
  return {
    data, run,
    json: async <T>(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<T> => {
      const ran = await run([...args, '--json'], env);
      if (ran.code !== 0 && !(args[0] === 'status' && (ran.code === 3 || ran.code === 4))) throw new Error(`n17q ${args.join(' ')} ended with ${String(ran.code)}: ${ran.err || ran.out}`);
      return JSON.parse(ran.out) as T;
    },
    remove: async () => {
      await run(['down']);
      rmSync(data, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
