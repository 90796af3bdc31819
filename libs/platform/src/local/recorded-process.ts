// Processes that outlive the command that started them: what to write down, and how a later command finds and ends them.
//
// 1. A process id alone is never trusted: the system may have given it to a stranger. The record holds the start time too.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, killTree, resumeTree, signal } from './process-tree.js';

/** Plain data, for a state file. */
export interface ProcessRecord { readonly pid: number; readonly startedAt: string; readonly stopSignal: 'SIGINT' | 'SIGTERM' }

/** SIGINT is Postgres's fast shutdown; everything else of ours stops on SIGTERM. Throws when `pid` is not running. */
export function recordProcess(pid: number, stopSignal: ProcessRecord['stopSignal']): ProcessRecord {
  const startedAt = startTimeOf(pid);
  if (startedAt === undefined) throw new Error(`process ${String(pid)} is not running`);
  return { pid, startedAt, stopSignal };
}

/** True while that very process runs, or is paused. */
export function isRecordedAlive(record: ProcessRecord): boolean {
  return isAlive(record.pid) && startTimeOf(record.pid) === record.startedAt;
}

/** Asks it to stop and waits; "killed" when it had to be, after `withinMs`. A repeat, or a stranger under that id, is "gone" and left alone. */
export async function stopRecorded(record: ProcessRecord, withinMs: number): Promise<'stopped' | 'killed' | 'gone'> {
  if (!isRecordedAlive(record)) return 'gone';
  resumeTree(record.pid);
  signal(record.pid, record.stopSignal);
  const deadlineMs = performance.now() + withinMs;
  while (isRecordedAlive(record)) {
    if (performance.now() > deadlineMs) {
      await killTree(record.pid);
      return 'killed';
    }
    await delay(10);
  }
  return 'stopped';
}

/** Opaque; equal for the same process and different for a later one with the same id. */
function startTimeOf(pid: number): string | undefined {
  try {
    if (existsSync('/proc/self/stat')) {
      const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
      // Field 22 of the line, counted behind the command name, which may hold spaces. Ticks since boot, hence the boot id with it.
      const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
      return `${ticks ?? ''}@${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`;
    }
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined; // no such process
  }
}
