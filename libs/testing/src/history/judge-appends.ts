// Each append against the rows that carry its id.

import type { AppendOperation } from './history.js';
import type { FinalRow, JudgedAppend, Violation } from './judged.js';

export function judgeAppends(appends: ReadonlyMap<string, JudgedAppend>, rows: readonly FinalRow[], othersWrite: boolean): Violation[] {
  const found: Violation[] = [];
  for (const append of appends.values()) {
    found.push(...judgeSameRequest(append));
    if (append.oks.length > 0) found.push(...judgeOk(append));
    if (append.tries.some(refusedForGood)) found.push(...judgeConflict(append));
    if (append.oks.length === 0 && append.rows.length > 0) found.push(...wrongContent(append, 'UNKNOWN_APPEND'));
  }
  if (othersWrite) return found;
  for (const row of rows) {
    if (!appends.has(row.appendId)) found.push({ check: 'PHANTOM', run: row.run, words: `run ${row.run} revision ${String(row.revision)} holds event ${row.eventId} of append ${row.appendId}, which nobody made` });
  }
  return found;
}

/**
 * A conflict says "not stored and never will be" when the head was at or beyond what the append would have written. A caller that was ahead
 * of the head (it expected a revision that does not exist yet) may still succeed with another try of the same append.
 */
function refusedForGood(operation: AppendOperation): boolean {
  if (operation.outcome !== 'conflict') return false;
  if (operation.actualRevision === undefined || operation.expectedRevision === null) return true;
  return operation.actualRevision > operation.expectedRevision;
}

function judgeSameRequest(append: JudgedAppend): Violation[] {
  const shape = (operation: AppendOperation): string => JSON.stringify([operation.run, operation.events.map((event) => [event.eventId, event.digest])]);
  const first = append.tries[0];
  if (first === undefined || append.tries.every((operation) => shape(operation) === shape(first))) return [];
  // A different request under a used id must be refused; if both were taken, one caller was told a lie.
  const accepted = append.oks.filter((operation, index) => append.oks.findIndex((other) => shape(other) === shape(operation)) === index);
  return accepted.length < 2 ? [] : [{ check: 'OK_APPEND', run: append.run, words: `append ${append.appendId} was answered ok for different contents` }];
}

function judgeOk(append: JudgedAppend): Violation[] {
  if (append.rows.length === 0) {
    return [{ check: 'OK_APPEND', run: append.run, words: `append ${append.appendId} on run ${append.run} was answered ok and is lost` }];
  }
  const found = wrongContent(append, 'OK_APPEND');
  const stored = append.rows.map((row) => row.revision).join(',');
  for (const operation of append.oks) {
    const told = (operation.revisions ?? []).join(',');
    if (told !== stored) found.push({ check: 'OK_APPEND', run: append.run, words: `append ${append.appendId} was told revisions [${told}] and is stored at [${stored}]` });
  }
  return found;
}

function judgeConflict(append: JudgedAppend): Violation[] {
  if (append.oks.length > 0) return [{ check: 'CONFLICT_APPEND', run: append.run, words: `append ${append.appendId} was answered ok and conflict` }];
  if (append.rows.length === 0) return [];
  return [{ check: 'CONFLICT_APPEND', run: append.run, words: `append ${append.appendId} was answered conflict and is stored at [${append.rows.map((row) => row.revision).join(',')}]` }];
}

/** Whole, once, in order, in its own run, with its own bytes. */
function wrongContent(append: JudgedAppend, check: 'OK_APPEND' | 'UNKNOWN_APPEND'): Violation[] {
  const sent = (append.oks[0] ?? append.tries[0])?.events ?? [];
  const at = `append ${append.appendId} on run ${append.run}`;
  const say = (words: string): Violation => ({ check, run: append.run, words: `${at} ${words}` });
  const found: Violation[] = [];
  const stray = append.rows.find((row) => row.run !== append.run);
  if (stray !== undefined) found.push(say(`is stored on run ${stray.run}`));
  const copies = new Map<string, number>();
  for (const row of append.rows) copies.set(row.eventId, (copies.get(row.eventId) ?? 0) + 1);
  const missing = sent.filter((event) => !copies.has(event.eventId));
  if (missing.length > 0) found.push(say(`is stored in part: ${String(missing.length)} of ${String(sent.length)} events are missing (${missing.map((event) => event.eventId).join(', ')})`));
  const repeated = [...copies].filter(([, count]) => count > 1).map(([eventId]) => eventId);
  if (repeated.length > 0) found.push(say(`is stored more than once (${repeated.join(', ')})`));
  const foreign = append.rows.filter((row) => !sent.some((event) => event.eventId === row.eventId));
  if (foreign.length > 0) found.push(say(`carries events that it did not send (${foreign.map((row) => row.eventId).join(', ')})`));
  const altered = append.rows.filter((row) => sent.some((event) => event.eventId === row.eventId && event.digest !== row.digest));
  if (altered.length > 0) found.push(say(`is stored with other bytes (${altered.map((row) => row.eventId).join(', ')})`));
  if (found.length === 0) {
    const first = append.rows[0]?.revision ?? 0;
    const inOrder = append.rows.every((row, index) => row.eventId === sent[index]?.eventId && row.revision === first + index);
    if (!inOrder) found.push(say(`is not stored in one piece and in order: ${append.rows.map((row) => `${row.eventId}@${String(row.revision)}`).join(', ')}`));
  }
  return found;
}

/**
 * No lost update: an append lands right behind the head that its caller had seen. One that is stored without an answer counts
 * too, since it was checked against what its caller expected all the same; with several tries, one of them must fit.
 */
export function judgePredecessors(appends: ReadonlyMap<string, JudgedAppend>, rows: readonly FinalRow[]): Violation[] {
  const eventAt = new Map(rows.map((row) => [JSON.stringify([row.run, row.revision]), row.eventId]));
  const found: Violation[] = [];
  for (const append of appends.values()) {
    const first = append.rows[0];
    if (first === undefined) continue;
    const seenHead = first.revision - 1;
    const fits = append.tries.filter((operation) => operation.expectedRevision === null || operation.expectedRevision === seenHead);
    const predecessor = eventAt.get(JSON.stringify([append.run, seenHead]));
    if (fits.length === 0) {
      const expected = append.tries.map((operation) => String(operation.expectedRevision)).join(' or ');
      found.push({ check: 'PREDECESSOR', run: append.run, words: `append ${append.appendId} expected revision ${expected} and was stored at ${String(first.revision)}` });
    } else if (fits.every((operation) => operation.headEventId !== undefined && operation.headEventId !== predecessor)) {
      found.push({ check: 'PREDECESSOR', run: append.run, words: `append ${append.appendId} was decided on head ${String(fits[0]?.headEventId)} and follows ${predecessor ?? 'nothing'}` });
    }
  }
  return found;
}
