// Signals to a process and everything below it.
//
// Process groups are not enough: each Postgres backend opens a session of its own, so a signal to the group of the
// postmaster would leave the backends running. We walk parent links instead.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

interface ProcessRow { readonly pid: number; readonly parentPid: number; readonly zombie: boolean }

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

/** Stops the root first, so that it forks no more, then whatever is below it. Returns once every one of them was told. */
export function pauseTree(pid: number): void {
  signal(pid, 'SIGSTOP');
  const told = new Set<number>();
  for (;;) {
    const fresh = descendantsOf(pid).filter((child) => !told.has(child));
    if (fresh.length === 0) return;
    for (const child of fresh) {
      signal(child, 'SIGSTOP');
      told.add(child);
    }
  }
}

/** Continues the leaves first: a parent that wakes earlier would take its stopped children for hung ones. */
export function resumeTree(pid: number): void {
  for (const child of descendantsOf(pid).reverse()) signal(child, 'SIGCONT');
  signal(pid, 'SIGCONT');
}

/** SIGKILL to root and descendants, as a power cut would; resolves when none is left, throws after `withinMs`. */
export async function killTree(pid: number, withinMs = 10_000): Promise<void> {
  pauseTree(pid);
  const all = [...descendantsOf(pid), pid];
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
      .map(([pid, parentPid, state]) => ({ pid: Number(pid), parentPid: Number(parentPid), zombie: state?.startsWith('Z') ?? false }));
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcStat(Number(name)))
    .filter((row) => row !== undefined);
}

function readProcStat(pid: number): ProcessRow | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  } catch {
    return undefined; // it ended between the listing and the read
  }
  // The command name in parentheses may itself hold spaces and parentheses: fields count from the last one.
  const [state, parentPid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { pid, parentPid: Number(parentPid), zombie: state === 'Z' || state === 'X' };
}
