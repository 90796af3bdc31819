import type { AppendOperation, HistoryOperation } from './history.js';

export const CHECKS = [
  'REVISIONS', 'POSITIONS', 'OK_APPEND', 'CONFLICT_APPEND', 'UNKNOWN_APPEND', 'REAL_TIME', 'READS', 'PREDECESSOR', 'PHANTOM',
] as const;
export interface Violation { readonly check: (typeof CHECKS)[number]; readonly run: string | undefined; readonly words: string }

/** One row as read from the store when everything is quiet. `position` in decimal digits may exceed a safe number, hence bigint or string too. */
export interface FinalRow {
  readonly run: string;
  readonly revision: number;
  readonly position: number | bigint | string;
  /** Absent where there is one lane only. */
  readonly lane?: number;
  readonly eventId: string;
  readonly appendId: string;
  readonly digest: string;
}

/** All tries of one append id, with the rows that carry it. */
export interface JudgedAppend {
  readonly appendId: string;
  readonly run: string;
  readonly tries: readonly AppendOperation[];
  readonly oks: readonly AppendOperation[];
  readonly firstInvokedUs: number;
  /** When the first ok came back; infinite when none did: it may then take effect at any later time. */
  readonly firstOkUs: number;
  /** By revision. */
  readonly rows: readonly FinalRow[];
}

export function groupAppends(operations: readonly HistoryOperation[], rows: readonly FinalRow[]): Map<string, JudgedAppend> {
  const triesOf = Map.groupBy(operations.filter((operation) => operation.kind === 'append'), (operation) => operation.appendId);
  const rowsOf = Map.groupBy(rows, (row) => row.appendId);
  const groups = new Map<string, JudgedAppend>();
  for (const [appendId, tries] of triesOf) {
    const oks = tries.filter((operation) => operation.outcome === 'ok');
    groups.set(appendId, {
      appendId,
      run: tries[0]?.run ?? '',
      tries,
      oks,
      firstInvokedUs: Math.min(...tries.map((operation) => operation.invokedUs)),
      firstOkUs: Math.min(Infinity, ...oks.map((operation) => operation.endedUs ?? Infinity)),
      rows: (rowsOf.get(appendId) ?? []).toSorted((a, b) => a.revision - b.revision),
    });
  }
  return groups;
}

export function rowsByRun(rows: readonly FinalRow[]): Map<string, FinalRow[]> {
  const byRun = Map.groupBy(rows, (row) => row.run);
  for (const list of byRun.values()) list.sort((a, b) => a.revision - b.revision);
  return byRun;
}
