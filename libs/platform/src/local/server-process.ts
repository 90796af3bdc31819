// One server process: spawn into its own group, log to a file, signals to the whole tree, a bounded stop.

import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { LocalServerFault, type LocalServerFaultCode } from './local-server-fault.js';
import { isAlive, killTree, pauseTree, resumeTree, signal } from './process-tree.js';
import { unwatchProcess, watchProcess } from './watchdog.js';

export interface Exit { readonly code: number | null; readonly signal: NodeJS.Signals | null }

export interface ServerProcess {
  readonly pid: number;
  /** Resolves when the process has ended, however it ended. */
  readonly exited: Promise<Exit>;
  /** What `exited` resolved to; undefined while it runs. */
  exit(): Exit | undefined;
  /** Asks with `how`, waits up to `withinMs`, then kills the tree and throws STOP_TIMED_OUT. A repeat does nothing. */
  stop(how: NodeJS.Signals, withinMs: number): Promise<void>;
  /** SIGKILL to the whole tree; resolves when nothing of it is left. A repeat does nothing. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
}

export interface ServerProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** Separate file for standard error; by default it goes to `logFile` as well. */
  readonly errorFile?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly account?: { readonly uid: number; readonly gid: number } | undefined;
  /** True: it may outlive this process. False: the watchdog ends it when this process dies. */
  readonly outlives: boolean;
}

export async function spawnServer(options: ServerProcessOptions): Promise<ServerProcess> {
  const out = openSync(options.logFile, 'a', 0o600);
  const err = options.errorFile === undefined ? out : openSync(options.errorFile, 'a', 0o600);
  let child;
  try {
    child = spawn(options.command, options.args, {
      stdio: ['ignore', out, err],
      env: options.env,
      cwd: options.cwd ?? '/',
      detached: true,
      ...options.account,
    });
  } finally {
    closeSync(out);
    if (err !== out) closeSync(err);
  }
  let exit: Exit | undefined;
  const exited = new Promise<Exit>((resolve) => child.once('exit', (code, by) => resolve((exit = { code, signal: by }))));
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) => reject(new LocalServerFault('START_FAILED', `${options.name} could not be started: ${cause.message}.`)));
  });
  const pid = child.pid;
  if (pid === undefined) throw new LocalServerFault('START_FAILED', `${options.name} could not be started.`);
  child.unref();
  if (!options.outlives) {
    watchProcess(pid);
    void exited.then(() => unwatchProcess(pid));
  }
  // The child does not hold our event loop open, so every wait below polls with a timer that does.
  const gone = async (withinMs: number): Promise<boolean> => {
    const deadlineMs = performance.now() + withinMs;
    while (exit === undefined && isAlive(pid)) {
      if (performance.now() > deadlineMs) return false;
      await delay(5);
    }
    return true;
  };
  const settled = async (): Promise<void> => {
    while (exit === undefined) await delay(1); // the process is gone; its exit event is on its way
  };
  return {
    pid,
    exited,
    exit: () => exit,
    stop: async (how, withinMs) => {
      if (exit !== undefined) return;
      resumeTree(pid); // a stopped process would never see the request
      signal(pid, how);
      if (!(await gone(withinMs))) {
        await killTree(pid);
        await settled();
        throw new LocalServerFault('STOP_TIMED_OUT', `${options.name} did not stop within ${String(withinMs)} ms and was killed.`, tailOf(options.logFile));
      }
      await settled();
    },
    kill: async () => {
      if (exit !== undefined) return;
      await killTree(pid);
      await settled();
    },
    pause: () => { if (exit === undefined) pauseTree(pid); },
    resume: () => { if (exit === undefined) resumeTree(pid); },
  };
}

/** Polls until `ready` gives a value. A server that ends meanwhile, or takes longer than `withinMs`, becomes a fault with its last lines. */
export async function untilReady<T>(
  server: ServerProcess,
  ready: () => Promise<T | undefined> | T | undefined,
  about: { readonly name: string; readonly logFile: string; readonly logOffset: number; readonly port: number; readonly withinMs: number },
): Promise<T> {
  const deadlineMs = performance.now() + about.withinMs;
  for (;;) {
    const value = await ready();
    if (value !== undefined) return value;
    if (server.exit() !== undefined) throw startFault(about, logText(about.logFile, about.logOffset));
    if (performance.now() > deadlineMs) {
      await server.kill();
      throw new LocalServerFault('START_TIMED_OUT', `${about.name} was not ready within ${String(about.withinMs)} ms.`, tailOf(about.logFile, about.logOffset));
    }
    await delay(10);
  }
}

function startFault(about: { readonly name: string; readonly port: number }, log: string): LocalServerFault {
  const [code, sentence] = classify(about, log);
  return new LocalServerFault(code, sentence, lastLines(log));
}

function classify(about: { readonly name: string; readonly port: number }, log: string): [LocalServerFaultCode, string] {
  if (/address already in use/i.test(log)) {
    return ['PORT_IN_USE', `${about.name} cannot listen on port ${String(about.port)} because another program uses it: end that program or choose another port.`];
  }
  if (/no space left on device|not enough (disk|storage)|insufficient storage/i.test(log)) {
    return ['NO_DISK_SPACE', `${about.name} found no space left on the disk: free some and start again.`];
  }
  return ['START_FAILED', `${about.name} ended while starting; its last lines say why.`];
}

export function logText(file: string, offset = 0): string {
  return existsSync(file) ? readFileSync(file).subarray(offset).toString('utf8') : '';
}

export function tailOf(file: string, offset = 0): string[] {
  return lastLines(logText(file, offset));
}

function lastLines(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '').slice(-12);
}
