// If A was answered before B was asked, everybody must see A before B.

import type { JudgedAppend, Violation } from './judged.js';

export function judgeRealTime(appends: ReadonlyMap<string, JudgedAppend>): Violation[] {
  const stored = [...appends.values()].filter((append) => append.rows.length > 0);
  const found: Violation[] = [];
  for (const [run, list] of Map.groupBy(stored, (append) => append.run)) {
    found.push(...inversions(list, (append) => BigInt(append.rows[0]?.revision ?? 0), run, `run ${run}`));
  }
  for (const [lane, list] of Map.groupBy(stored, (append) => append.rows[0]?.lane ?? 0)) {
    found.push(...inversions(list, (append) => BigInt(append.rows[0]?.position ?? 0), undefined, `lane ${String(lane)}`));
  }
  return found;
}

/** From the last place to the first, the earliest answer among the later ones is enough to find an inversion in one pass. */
function inversions(list: readonly JudgedAppend[], placeOf: (append: JudgedAppend) => bigint, run: string | undefined, where: string): Violation[] {
  const found: Violation[] = [];
  const ordered = list.map((append) => ({ append, place: placeOf(append) })).sort((a, b) => (a.place < b.place ? -1 : a.place > b.place ? 1 : 0));
  let earliest: { append: JudgedAppend; place: bigint } | undefined;
  for (const entry of ordered.reverse()) {
    if (earliest !== undefined && earliest.append.firstOkUs < entry.append.firstInvokedUs) {
      found.push({
        check: 'REAL_TIME', run,
        words: `${where}: append ${earliest.append.appendId} was answered before ${entry.append.appendId} was asked, but stands at ${String(earliest.place)}, behind it at ${String(entry.place)}`,
      });
    }
    if (earliest === undefined || entry.append.firstOkUs < earliest.append.firstOkUs) earliest = entry;
  }
  return found;
}
