// The final rows by themselves: revisions of each run, positions of each lane.

import { rowsByRun, type FinalRow, type Violation } from './judged.js';

export function judgeRevisions(rows: readonly FinalRow[]): Violation[] {
  const found: Violation[] = [];
  for (const [run, list] of rowsByRun(rows)) {
    let previous = 0;
    for (const { revision } of list) {
      if (revision === previous) found.push({ check: 'REVISIONS', run, words: `run ${run} has revision ${String(revision)} more than once` });
      else if (revision !== previous + 1) found.push({ check: 'REVISIONS', run, words: `run ${run} jumps from revision ${String(previous)} to ${String(revision)}` });
      previous = revision;
    }
  }
  for (const [eventId, list] of Map.groupBy(rows, (row) => row.eventId)) {
    if (list.length === 1) continue;
    const places = list.map((row) => `${row.run}@${String(row.revision)}`).join(', ');
    found.push({ check: 'REVISIONS', run: list[0]?.run, words: `event ${eventId} is stored ${String(list.length)} times: ${places}` });
  }
  return found;
}

export function judgePositions(rows: readonly FinalRow[], firstPosition: bigint): Violation[] {
  const found: Violation[] = [];
  for (const [lane, list] of Map.groupBy(rows, (row) => row.lane ?? 0)) {
    const positions = list.map((row) => BigInt(row.position)).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    let previous = firstPosition - 1n;
    for (const position of positions) {
      if (position === previous) found.push({ check: 'POSITIONS', run: undefined, words: `lane ${String(lane)} has position ${String(position)} more than once` });
      else if (position !== previous + 1n) found.push({ check: 'POSITIONS', run: undefined, words: `lane ${String(lane)} jumps from position ${String(previous)} to ${String(position)}` });
      previous = position;
    }
  }
  for (const [run, list] of rowsByRun(rows)) {
    for (const [index, row] of list.entries()) {
      const before = list[index - 1];
      if (before === undefined) continue;
      if ((before.lane ?? 0) !== (row.lane ?? 0)) {
        found.push({ check: 'POSITIONS', run, words: `run ${run} changes from lane ${String(before.lane ?? 0)} to ${String(row.lane ?? 0)} at revision ${String(row.revision)}` });
      } else if (BigInt(row.position) <= BigInt(before.position)) {
        found.push({ check: 'POSITIONS', run, words: `run ${run}: position falls from ${String(before.position)} to ${String(row.position)} between revisions ${String(before.revision)} and ${String(row.revision)}` });
      }
    }
  }
  return found;
}
