// A program of ours as its own process, for tests that kill, pause and restart it.

import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { spawnServer, type Exit } from '@n17q/platform';

export interface SpawnServiceOptions {
  /** The JavaScript file to run. */
  readonly entry: string;
  readonly args?: readonly string[];
  /** The whole environment but for PATH, HOME and TMPDIR: nothing else of the test's own leaks in. */
  readonly env: Readonly<Record<string, string>>;
  readonly name: string;
  /** Where `<name>.out` and `<name>.err` go; appended to, so that a restarted service keeps its history. */
  readonly dir: string;
  readonly nodeArgs?: readonly string[];
}

export interface ServiceHandle {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  readonly stdoutFile: string;
  readonly stderrFile: string;
  /** What this process wrote so far, without what an earlier one wrote to the same files. */
  stdout(): string;
  stderr(): string;
  /** Last lines of both, for error messages. */
  tail(lines?: number): string;
  /** Resolves with the first match in either output, now or later; throws with the tail after `withinMs` or as soon as the process has ended without it. */
  waitForLine(pattern: RegExp, withinMs: number): Promise<RegExpExecArray>;
  /** SIGKILL to it and its children; a repeat does nothing. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** SIGTERM; after `withinMs` (10 s) kills and throws. */
  stop(withinMs?: number): Promise<void>;
}

export async function spawnService(options: SpawnServiceOptions): Promise<ServiceHandle> {
  mkdirSync(options.dir, { recursive: true });
  const stdoutFile = join(options.dir, `${options.name}.out`);
  const stderrFile = join(options.dir, `${options.name}.err`);
  const outOffset = sizeOf(stdoutFile);
  const errOffset = sizeOf(stderrFile);
  const server = await spawnServer({
    name: options.name,
    command: process.execPath,
    args: [...(options.nodeArgs ?? []), options.entry, ...(options.args ?? [])],
    logFile: stdoutFile,
    errorFile: stderrFile,
    env: { ...inherited(), ...options.env },
    cwd: options.dir,
    outlives: false,
  });
  const stdout = (): string => readFrom(stdoutFile, outOffset);
  const stderr = (): string => readFrom(stderrFile, errOffset);
  const tail = (lines = 20): string => [...lastLines('out', stdout(), lines), ...lastLines('err', stderr(), lines)].join('\n');
  return {
    name: options.name,
    pid: server.pid,
    exited: server.exited,
    stdoutFile,
    stderrFile,
    stdout,
    stderr,
    tail,
    waitForLine: async (pattern, withinMs) => {
      const deadlineMs = performance.now() + withinMs;
      for (;;) {
        const ended = server.exit(); // asked before the read: what it wrote before it ended is then all there
        const match = firstLine(pattern, stdout()) ?? firstLine(pattern, stderr());
        if (match) return match;
        if (ended !== undefined) throw new Error(`${options.name} ended (${ended.signal ?? `code ${String(ended.code)}`}) without a line that matches ${String(pattern)}\n${tail()}`);
        if (performance.now() > deadlineMs) throw new Error(`${options.name} wrote no line that matches ${String(pattern)} within ${String(withinMs)} ms\n${tail()}`);
        await delay(10);
      }
    },
    kill: () => server.kill(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    stop: (withinMs = 10_000) => server.stop('SIGTERM', withinMs),
  };
}

function inherited(): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of ['PATH', 'HOME', 'TMPDIR']) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

function firstLine(pattern: RegExp, text: string): RegExpExecArray | undefined {
  const once = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''));
  for (const line of text.split('\n')) {
    const match = once.exec(line);
    if (match) return match;
  }
  return undefined;
}

function sizeOf(file: string): number {
  return Buffer.byteLength(readFrom(file, 0));
}

function readFrom(file: string, offset: number): string {
  try {
    return readFileSync(file).subarray(offset).toString('utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

function lastLines(label: string, text: string, count: number): string[] {
  return text.split('\n').filter((line) => line !== '').slice(-count).map((line) => `  ${label} | ${line}`);
}
