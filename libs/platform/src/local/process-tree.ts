// Signals to a process and everything below it.
//
// Process groups are not enough: each Postgres backend opens a session of its own, so a signal to the group of the
// postmaster would leave the backends running. We walk parent links instead.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

interface ProcessRow { readonly pid: number; readonly parentPid: number; readonly state: string; readonly zombie: boolean }

const hasProc = existsSync('/proc/self/stat');

/** True while `pid` runs or is stopped; a zombie counts as gone, since under some init processes nobody reaps it. */
export function isAlive(pid: number): boolean {
  if (hasProc) {
    const row = readProcStat(pid);
    return row !== undefined && !row.zombie;
  }
  return listProcesses().some((row) => row.pid === pid && !row.zombie);
}

/** All living descendants of `pid`, parents before children; `pid` itself is not among them. */
export function descendantsOf(pid: number): number[] {
  const childrenOf = new Map<number, number[]>();
  for (const row of listProcesses()) {
    if (row.zombie) continue;
    const siblings = childrenOf.get(row.parentPid);
    if (siblings) siblings.push(row.pid);
    else childrenOf.set(row.parentPid, [row.pid]);
  }
  const found: number[] = [];
  const queue = [pid];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const child of childrenOf.get(next) ?? []) {
      found.push(child);
      queue.push(child);
    }
  }
  return found;
}

/**
 * Stops the root first, so that it forks no more, then whatever is below it. Returns once every thread of every one of
 * them has stopped: the signal alone leaves a busy process running, and answering, until it is next scheduled.
 */
export function pauseTree(pid: number): void {
  const told = tellTreeToStop(pid);
  const deadlineMs = performance.now() + 5_000;
  while (!told.every(hasStopped)) {
    if (performance.now() > deadlineMs) throw new Error(`process ${String(pid)} or a child of it did not stop within 5000 ms of SIGSTOP`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); // blocks on purpose: a caller that forgot to await would race
  }
}

function tellTreeToStop(pid: number): number[] {
  const told = [pid];
  signal(pid, 'SIGSTOP');
  for (;;) {
    const fresh = descendantsOf(pid).filter((child) => !told.includes(child));
    if (fresh.length === 0) return told;
    for (const child of fresh) signal(child, 'SIGSTOP');
    told.push(...fresh);
  }
}

function hasStopped(pid: number): boolean {
  if (!hasProc) return listProcesses().every((row) => row.pid !== pid || row.state.startsWith('T') || row.zombie);
  let threads: string[];
  try {
    threads = readdirSync(`/proc/${String(pid)}/task`);
  } catch {
    return true; // it has ended, which is as still as it gets
  }
  return threads.every((thread) => {
    const row = readProcStat(pid, thread);
    return row === undefined || row.zombie || row.state.toUpperCase() === 'T';
  });
}

/** Continues the leaves first: a parent that wakes earlier would take its stopped children for hung ones. */
export function resumeTree(pid: number): void {
  for (const child of descendantsOf(pid).reverse()) signal(child, 'SIGCONT');
  signal(pid, 'SIGCONT');
}

/** SIGKILL to root and descendants, as a power cut would; resolves when none is left, throws after `withinMs`. */
export async function killTree(pid: number, withinMs = 10_000): Promise<void> {
  // A process with a pending stop cannot fork, so after this nothing new appears while we kill.
  const all = tellTreeToStop(pid);
  for (const victim of all) signal(victim, 'SIGKILL');
  const deadlineMs = performance.now() + withinMs;
  while (all.some(isAlive)) {
    if (performance.now() > deadlineMs) throw new Error(`process ${String(pid)} or a child of it outlived SIGKILL`);
    await delay(5);
  }
}

/** Sends a signal; false when the process is already gone. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

function listProcesses(): ProcessRow[] {
  if (!hasProc) {
    return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,state='], { encoding: 'utf8' })
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((parts) => parts.length >= 3)
      .map(([pid, parentPid, state = '']) => ({ pid: Number(pid), parentPid: Number(parentPid), state, zombie: state.startsWith('Z') }));
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcStat(Number(name)))
    .filter((row) => row !== undefined);
}

function readProcStat(pid: number, thread?: string): ProcessRow | undefined {
  let stat: string;
  try {
    stat = readFileSync(thread === undefined ? `/proc/${String(pid)}/stat` : `/proc/${String(pid)}/task/${thread}/stat`, 'utf8');
  } catch {
    return undefined; // it ended between the listing and the read
  }
  // The command name in parentheses may itself hold spaces and parentheses: fields count from the last one.
  const [state = '', parentPid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { pid, parentPid: Number(parentPid), state, zombie: state === 'Z' || state === 'X' };
}
