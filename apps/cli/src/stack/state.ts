/**
 * What is running, as a file that outlives whoever wrote it. Every process in it is named with its start time, so that a stale file (a reboot,
 * kill -9) is recognised and a stranger under an old id is never touched.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isRecordedAlive, type ProcessRecord } from '@n17q/platform';

export interface Part {
  readonly name: string;
  readonly kind: 'server' | 'service';
  /** The supervisor's own when the service runs in it. */
  readonly process: ProcessRecord;
  readonly state: 'ready' | 'restarting' | 'stopping';
  readonly since: string;
  readonly version: string;
  readonly address?: string;
  readonly restarts: number;
  readonly log: string;
  readonly problem?: string;
}
export interface StackState {
  readonly supervisor: ProcessRecord;
  readonly mode: 'one-process' | 'separate';
  readonly phase: 'starting' | 'ready' | 'stopping' | 'failed';
  readonly step: string;
  readonly startedAt: string;
  readonly version: string;
  readonly apiUrl: string | null;
  /** What runs the tests of a workspace, as it was given; null: the model gets no tool for that. */
  readonly testCommand: string | null;
  readonly parts: readonly Part[];
  readonly notes: readonly string[];
  /** Why it did not start: one sentence. */
  readonly failure?: string;
}

/** No such file, or no such folder. */
export const isAbsent = (e: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((e as NodeJS.ErrnoException).code ?? '');

/** Undefined when there is none, or when it is not readable as one (cut by a full disk): then nothing is known to run. */
export function readState(file: string): StackState | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as StackState;
  } catch (e) {
    if (isAbsent(e) || e instanceof SyntaxError) return undefined;
    throw e;
  }
}
export function writeState(file: string, s: StackState): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(s, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
export const removeState = (file: string): void => rmSync(file, { force: true });

export type SupervisedState = StackState & { readonly phase: Exclude<StackState['phase'], 'failed'> };
export const isSupervised = (s: StackState | undefined): s is SupervisedState => s !== undefined && s.phase !== 'failed' && isRecordedAlive(s.supervisor);
/** What an ended supervisor left running. */
export const leftovers = (s: StackState): readonly Part[] => s.parts.filter((p) => p.process.pid !== s.supervisor.pid && isRecordedAlive(p.process));
