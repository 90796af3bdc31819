/**
 * One command in one folder, bounded in time and output, contained as far as the machine allows, and surely over when this resolves.
 *
 * R1. At the time limit, at the output limit, on abort, and after the command's own end, every process that it started is killed: with namespaces without
 *     exception, without them those that stayed in its process group.
 * R2. It sees no variable of this process's environment.
 * R3. Output is drained without end and kept in bounded memory.
 *
 * Rows: EFF-3, SEC-4, RET-4.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HeadAndTail } from '../bounded-text.js';
import { SYSTEM_PATH, unshareArgs, type Isolation } from './isolation.js';
import { SANDBOX_SCRIPT } from './sandbox-script.js';

export interface ReadOnlyMount { readonly from: string; readonly at: string }

export interface ContainedRun {
  readonly command: readonly string[];
  /** Read and written by the command; seen as /workspace with namespaces. */
  readonly workspace: string;
  /** A path that does not exist, for the sandbox's root. */
  readonly root: string;
  readonly isolation: Isolation;
  /** From the command's start. */
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
  readonly mounts?: readonly ReadOnlyMount[];
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly beforeFirstByte: () => boolean;
}

export type ContainedEnd =
  /** The command did not start. */
  | { readonly kind: 'not-started'; readonly cause: string }
  | { readonly kind: 'ended'; readonly exitCode: number | null; readonly stoppedBy: null | 'TIME_LIMIT' | 'OUTPUT_LIMIT' | 'ABORTED'; readonly text: string; readonly outputBytes: number; readonly durationMs: number };

const TMP_MIB = 256;
/** Beyond what is kept, output this large is taken for a flood. */
const OUTPUT_BYTES_FLOOD = 32 * 1024 * 1024;
/** Room for the line that says how it ended and the one that says what was left out. */
const NOTICE_BYTES = 160;
/** For building the sandbox, on a machine that is busy. */
const SETUP_MS_MAX = 20_000;
const CLOSE_MS_MAX = 2_000;

export async function runContained(run: ContainedRun): Promise<ContainedEnd> {
  const [program, ...rest] = run.command;
  if (program === undefined) return { kind: 'not-started', cause: 'NO_COMMAND' };
  await mkdir(run.root, { recursive: true, mode: 0o700 });
  if (run.signal?.aborted) return { kind: 'not-started', cause: 'ABORTED' };
  if (!run.beforeFirstByte()) return { kind: 'not-started', cause: 'STOPPED_BEFORE_FIRST_BYTE' }; // nothing awaits between this and spawn
  const contained = run.isolation.isolation === 'namespaces' ? run.isolation : undefined;
  const env = { LANG: 'C.UTF-8', CI: 'true', NO_COLOR: '1', ...run.env };
  const child = contained
    ? spawn('unshare', [...unshareArgs(contained.as), 'sh', '-c', SANDBOX_SCRIPT, 'sandbox', run.root, run.workspace, process.execPath, contained.as, String(TMP_MIB),
        ...(run.mounts ?? []).flatMap((m) => [m.from, m.at]), '--', ...run.command],
      { cwd: '/', detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe'], env: { ...env, PATH: `/n17q/bin:${SYSTEM_PATH}`, HOME: '/tmp', TMPDIR: '/tmp' } })
    : spawn(program, rest, { cwd: run.workspace, detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe'], env: { ...env, PATH: `${dirname(process.execPath)}:${SYSTEM_PATH}`, HOME: run.root, TMPDIR: run.root } });
  return watched(child, run, contained !== undefined);
}

function watched(child: ChildProcess, run: ContainedRun, saysReady: boolean): Promise<ContainedEnd> {
  return new Promise((resolve) => {
    const output = new HeadAndTail(Math.max(0, run.outputBytesMax - NOTICE_BYTES));
    let startedMs = performance.now();
    let ready = !saysReady;
    let stoppedBy: 'TIME_LIMIT' | 'OUTPUT_LIMIT' | 'ABORTED' | null = null;
    let closing: NodeJS.Timeout | undefined;
    let done = false;

    const stop = (why: typeof stoppedBy): void => {
      stoppedBy ??= why;
      killGroup(child);
    };
    const onAbort = (): void => stop('ABORTED');
    let timer = setTimeout(() => stop('TIME_LIMIT'), ready ? run.timeoutMs : SETUP_MS_MAX);
    run.signal?.addEventListener('abort', onAbort, { once: true });
    const finish = (end: ContainedEnd): void => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      clearTimeout(closing);
      run.signal?.removeEventListener('abort', onAbort);
      for (const s of child.stdio) s?.destroy();
      resolve(end);
    };
    const onOutput = (chunk: Buffer): void => {
      output.add(chunk); // keeps R3
      if (output.bytes > OUTPUT_BYTES_FLOOD) stop('OUTPUT_LIMIT');
    };
    child.stdout?.on('data', onOutput);
    child.stderr?.on('data', onOutput);
    child.stdio[3]?.on('data', () => {
      ready = true;
      startedMs = performance.now();
      clearTimeout(timer);
      timer = setTimeout(() => stop('TIME_LIMIT'), run.timeoutMs); // the command's time, without the sandbox's
    });
    child.once('error', (e) => finish({ kind: 'not-started', cause: (e as NodeJS.ErrnoException).code ?? e.message }));
    const end = (exitCode: number | null): void => {
      if (!ready) return finish({ kind: 'not-started', cause: `SANDBOX_FAILED: ${stoppedBy ?? output.text().trim().slice(0, 300)}` });
      finish({ kind: 'ended', exitCode: stoppedBy ? null : exitCode, stoppedBy, text: output.text(), outputBytes: output.bytes, durationMs: Math.round(performance.now() - startedMs) });
    };
    child.once('exit', (code) => {
      killGroup(child); // keeps R1 for what the command left behind
      closing = setTimeout(() => end(code), CLOSE_MS_MAX); // a stray holds the pipe: do not wait for it
    });
    child.once('close', (code) => end(code));
  });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'ESRCH') throw e; // ESRCH: all gone already
  }
}
