// Reads against the final list, against each other, and against appends that were already answered.

import type { ReadOperation } from './history.js';
import { rowsByRun, type FinalRow, type JudgedAppend, type Violation } from './judged.js';

export function judgeReads(reads: readonly ReadOperation[], appends: ReadonlyMap<string, JudgedAppend>, rows: readonly FinalRow[]): Violation[] {
  const done = reads.filter((read) => read.outcome === 'ok');
  const byRun = rowsByRun(rows);
  const acknowledged = Map.groupBy([...appends.values()].filter((append) => append.oks.length > 0), (append) => append.run);
  return [
    ...done.flatMap((read) => judgeStretch(read, byRun.get(read.run) ?? [])),
    ...judgeMonotonic(done),
    ...[...Map.groupBy(done.filter((read) => read.toHead), (read) => read.run)].flatMap(([run, list]) => judgeContains(list, acknowledged.get(run) ?? [])),
  ];
}

function judgeStretch(read: ReadOperation, final: readonly FinalRow[]): Violation[] {
  for (const [index, row] of read.rows.entries()) {
    const revision = read.afterRevision + 1 + index;
    const stored = final[revision - 1];
    if (row.revision === revision && stored?.revision === revision && stored.eventId === row.eventId && stored.digest === row.digest) continue;
    const holds = stored === undefined ? 'nothing' : `event ${stored.eventId}${stored.eventId === row.eventId ? ' with other bytes' : ''}`;
    return [{ check: 'READS', run: read.run, words: `process ${read.process} read event ${row.eventId} at revision ${String(row.revision)} of run ${read.run}, where revision ${String(revision)} holds ${holds} in the end` }];
  }
  return [];
}

/** Reads of one process that overlap in time are not compared: neither came first. */
function judgeMonotonic(reads: readonly ReadOperation[]): Violation[] {
  const found: Violation[] = [];
  const lists = Map.groupBy(reads, (read) => JSON.stringify([read.process, read.run]));
  for (const list of lists.values()) {
    const ended = list.toSorted((a, b) => (a.endedUs ?? Infinity) - (b.endedUs ?? Infinity));
    let next = 0;
    let seen = 0;
    for (const read of list.filter((one) => one.toHead).sort((a, b) => a.invokedUs - b.invokedUs)) {
      for (let before = ended[next]; before !== undefined && (before.endedUs ?? Infinity) < read.invokedUs; before = ended[++next]) {
        if (before.rows.length > 0) seen = Math.max(seen, before.afterRevision + before.rows.length);
      }
      const head = headOf(read);
      if (head < seen) found.push({ check: 'READS', run: read.run, words: `process ${read.process} saw run ${read.run} up to revision ${String(seen)} and later only up to ${String(head)}` });
    }
  }
  return found;
}

function judgeContains(reads: readonly ReadOperation[], acknowledged: readonly JudgedAppend[]): Violation[] {
  const found: Violation[] = [];
  const byAnswer = acknowledged.toSorted((a, b) => a.firstOkUs - b.firstOkUs);
  let next = 0;
  let due: { revision: number; append: JudgedAppend } | undefined;
  for (const read of reads.toSorted((a, b) => a.invokedUs - b.invokedUs)) {
    for (let append = byAnswer[next]; append !== undefined && append.firstOkUs < read.invokedUs; append = byAnswer[++next]) {
      const revision = Math.max(0, ...append.oks.flatMap((operation) => operation.revisions ?? []));
      if (due === undefined || revision > due.revision) due = { revision, append };
    }
    if (due === undefined || headOf(read) >= due.revision) continue;
    found.push({ check: 'READS', run: read.run, words: `process ${read.process} read run ${read.run} up to revision ${String(headOf(read))} after append ${due.append.appendId} had been answered ok at revision ${String(due.revision)}` });
  }
  return found;
}

// A read after revision r that finds nothing saw no more than r, and no less that we could hold against it.
function headOf(read: ReadOperation): number {
  return read.afterRevision + read.rows.length;
}
