/**
 * git, apart from whatever is configured on this machine: no user or system configuration, no hooks, no prompts, no monitors, no filters but what git
 * does by itself. Repositories are data; nothing that they bring is executed.
 *
 * Rows: WSP-1, CTX-6.
 */
import { execFile } from 'node:child_process';

const OUTPUT_BYTES_MAX = 256 * 1024 * 1024;
const TIME_MS_MAX = 120_000;
const CONFIG: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'], ['core.fsmonitor', 'false'], ['core.autocrlf', 'false'], ['core.quotePath', 'false'], ['core.attributesFile', '/dev/null'], ['core.excludesFile', '/dev/null'],
  ['protocol.allow', 'never'], ['protocol.file.allow', 'always'], ['safe.directory', '*'], ['init.defaultBranch', 'main'], ['diff.renames', 'false'], ['gc.auto', '0'],
];

function environment(extra: Readonly<Record<string, string>>): Record<string, string> {
  const env: Record<string, string> = {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: '/nonexistent', LC_ALL: 'C', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', GIT_LFS_SKIP_SMUDGE: '1', GIT_CONFIG_COUNT: String(CONFIG.length), ...extra,
  };
  // by environment, not by -c: the programs that git starts (upload-pack) must see it too
  CONFIG.forEach(([key, value], i) => { env[`GIT_CONFIG_KEY_${i}`] = key; env[`GIT_CONFIG_VALUE_${i}`] = value; });
  return env;
}

export class GitTrouble extends Error {
  readonly code = 'GIT_TROUBLE';
  constructor(command: string, readonly exitCode: number | string, detail: string) {
    super(`git ${command} ended with ${exitCode}: ${detail.slice(0, 500)}`);
    this.name = 'GitTrouble';
  }
}

export interface GitOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Exit codes that are answers, besides 0. */
  readonly accept?: readonly number[];
}

/** Standard output as bytes. Rejects with GitTrouble. */
export function git(args: readonly string[], options: GitOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    execFile('git', args, { cwd: options.cwd, env: environment(options.env ?? {}), encoding: 'buffer', maxBuffer: OUTPUT_BYTES_MAX, timeout: TIME_MS_MAX, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      const exit = error?.code ?? (error ? 'a signal' : 0);
      if (exit !== 0 && !(options.accept ?? []).includes(exit as number)) return reject(new GitTrouble(args[0] ?? '', exit, stderr.toString('utf8')));
      resolve(stdout);
    });
  });
}

export const zeroSeparated = (output: Buffer): string[] => output.toString('utf8').split('\0').filter((s) => s !== '');
