/**
 * A tenant's limits per window, as both stores count them. A window of a length is the stretch of that length, counted from 1970 by the store's clock, that holds
 * now. It knows nothing of the account beside it, and moves no row: a window that nobody drew on since it opened still has the row of an earlier one.
 *
 * W1. In a window the runs of the tenant draw at most its amounts, whatever they give back from earlier windows: what comes back counts only as far as the
 *     same run drew it in this window.
 * W2. A clock that steps back opens no window again: a row from a later window than the clock's is the current one.
 * W3. Grants are not draws.
 *
 * Rows: BUD-2, BUD-5.
 */
import { DIMENSIONS, NOTHING, type Amounts, type Dimension, type StreamId, type WindowLimit } from '@n17q/domain';

/** One dimension of one limit: `used` belongs to the window that began at `windowStart`. */
export interface WindowRow { readonly everyMs: number; readonly dimension: Dimension; readonly most: number; readonly windowStart: number; readonly used: number }
/** A limit as it stands now: what may still be drawn before `endsAt`. */
export interface StandingLimit extends WindowLimit { readonly left: Amounts; /** ms since 1970 */ readonly endsAt: number }

const startNow = (w: WindowRow, now: number): number => Math.max(w.windowStart, now - (now % w.everyMs)); // keeps W2
const usedNow = (w: WindowRow, now: number): number => (w.windowStart === startNow(w, now) ? w.used : 0);
const endOf = (w: WindowRow, now: number): number => startNow(w, now) + w.everyMs;

/** What runs may draw: of what the account holds, as much as every window still lets through. */
export function drawable(held: Amounts, rows: readonly WindowRow[], now: number): Amounts {
  const left = { ...held };
  for (const w of rows) left[w.dimension] = Math.max(0, Math.min(left[w.dimension], w.most - usedNow(w, now)));
  return left;
}

/** By length, shortest first. */
export function standingLimits(rows: readonly WindowRow[], now: number): readonly StandingLimit[] {
  const lengths = [...new Set(rows.map((w) => w.everyMs))].sort((a, b) => a - b);
  return lengths.map((everyMs) => {
    const own = rows.filter((w) => w.everyMs === everyMs);
    const amounts = { ...NOTHING, ...Object.fromEntries(own.map((w) => [w.dimension, w.most])) };
    const left = { ...NOTHING, ...Object.fromEntries(own.map((w) => [w.dimension, Math.max(0, w.most - usedNow(w, now))])) };
    return { everyMs, amounts, left, endsAt: Math.min(...own.map((w) => endOf(w, now))) };
  });
}

/** When the first of the current windows ends; null: there is no limit. */
export const windowEndsAt = (rows: readonly WindowRow[], now: number): number | null => (rows.length === 0 ? null : Math.min(...rows.map((w) => endOf(w, now))));

/** What a decision view says of the tenant's money. */
export const standing = (held: Amounts, rows: readonly WindowRow[], now: number): { readonly account: Amounts; readonly held: Amounts; readonly limits: readonly StandingLimit[]; readonly windowEndsAt: number | null } =>
  ({ account: drawable(held, rows, now), held, limits: standingLimits(rows, now), windowEndsAt: windowEndsAt(rows, now) });

/** The limits of a tenant in memory. */
export interface HeldWindows { rows: readonly WindowRow[]; /** What each stream drew in the row's own window, by stream, length and dimension. */ readonly draws: Map<string, number> }
const drawKey = (stream: StreamId, w: WindowRow): string => `${stream}\u0000${String(w.everyMs)}\u0000${w.dimension}`;
const ofRow = (key: string, w: WindowRow): boolean => key.endsWith(`\u0000${String(w.everyMs)}\u0000${w.dimension}`);

/** Counts what an append of a run takes (positive) and gives back (negative). */
export function countDraws(held: HeldWindows, stream: StreamId, debit: Amounts, now: number): void {
  held.rows = held.rows.map((w) => {
    const n = debit[w.dimension];
    const opened = startNow(w, now);
    if (n === 0 || (n < 0 && opened !== w.windowStart)) return w;
    if (opened !== w.windowStart) for (const k of held.draws.keys()) if (ofRow(k, w)) held.draws.delete(k);
    const key = drawKey(stream, w);
    const drawn = held.draws.get(key) ?? 0;
    const counted = n > 0 ? n : -Math.min(-n, drawn); // keeps W1
    held.draws.set(key, drawn + counted);
    return { ...w, windowStart: opened, used: usedNow(w, now) + counted };
  });
}

/** Other limits from now on. One of the same length keeps what was drawn in its window. */
export function replaceLimits(held: HeldWindows, limits: readonly WindowLimit[]): void {
  const before = held.rows;
  held.rows = limits.flatMap((l) => DIMENSIONS.map((dimension): WindowRow => ({ everyMs: l.everyMs, dimension, windowStart: 0, used: 0, ...before.find((w) => w.everyMs === l.everyMs && w.dimension === dimension), most: l.amounts[dimension] })));
  for (const k of held.draws.keys()) if (!held.rows.some((w) => ofRow(k, w))) held.draws.delete(k);
}
