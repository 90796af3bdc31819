// Judges a history of the event store against the rows that it holds in the end.
//
// Not: looking into the store, or asking anything while it works. It is given plain data and says in words what is wrong.
// 1. REVISIONS    a run's revisions are 1..n; each event id occurs once.
// 2. POSITIONS    a lane's positions have no hole and no repeat, and rise with the revisions of every run.
// 3. OK_APPEND    an append that was answered ok is there once, at the revisions told, with its own ids and bytes.
// 4. CONFLICT_APPEND  one that was answered conflict is nowhere.
// 5. UNKNOWN_APPEND   one without an answer is there whole and once, or not at all.
// 6. REAL_TIME    if A was answered ok before B was first asked, A comes before B, in the run and in the lane.
// 7. READS        a read is a stretch of the final list, never behind an earlier read of the same process or an append already answered ok.
// 8. PREDECESSOR  what an ok append follows is exactly the head that its caller saw.
// 9. PHANTOM      every row belongs to an append of the history.
// Rows: RUN-1

import type { HistoryOperation } from './history.js';
import { judgeAppends, judgePredecessors } from './judge-appends.js';
import { judgeReads } from './judge-reads.js';
import { judgePositions, judgeRevisions } from './judge-rows.js';
import { judgeRealTime } from './judge-real-time.js';
import { groupAppends, type FinalRow, type Violation } from './judged.js';

export interface JudgeOptions {
  /** Where a lane starts; 1 by default. */
  readonly firstPosition?: number | bigint;
  /** True when rows of others are expected in the store: no PHANTOM then. */
  readonly othersWrite?: boolean;
}

export interface Judgement {
  /** Empty when the history is one that a correct store could have given. */
  readonly violations: readonly Violation[];
  /** How much there was to judge: an empty history has no violations either, so a test states what it needs. */
  readonly judged: { readonly ok: number; readonly conflict: number; readonly unknown: number; readonly reads: number; readonly rows: number };
}

export function judgeHistory(operations: readonly HistoryOperation[], rows: readonly FinalRow[], options: JudgeOptions = {}): Judgement {
  const appends = groupAppends(operations, rows);
  const reads = operations.filter((operation) => operation.kind === 'read');
  const violations = [
    ...judgeRevisions(rows),
    ...judgePositions(rows, BigInt(options.firstPosition ?? 1)),
    ...judgeAppends(appends, rows, options.othersWrite ?? false),
    ...judgeRealTime(appends),
    ...judgeReads(reads, appends, rows),
    ...judgePredecessors(appends, rows),
  ];
  const count = (outcome: string): number => operations.filter((operation) => operation.kind === 'append' && operation.outcome === outcome).length;
  return {
    violations,
    judged: { ok: count('ok'), conflict: count('conflict'), unknown: count('unknown'), reads: reads.filter((read) => read.outcome === 'ok').length, rows: rows.length },
  };
}
