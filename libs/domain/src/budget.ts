/**
 * What a run may still spend. Amounts are whole numbers per dimension. A run has a grant, draws slices of it from the tenant's account, reserves
 * before it acts, and settles when the usage is known. An unknown usage keeps its reservation.
 *
 * B1. used + reserved never exceeds drawn (plus what a provider reported beyond its reservation), and drawn never exceeds granted, in any dimension.
 * B3. An ended run holds from the tenant no more than it used and still has reserved; what is freed after its end goes back as it is freed.
 * B4. What was used beyond what was drawn is charged to the tenant when the run ends, and when something is settled after that, as far as the account goes.
 * B2. Nothing here knows of providers, sessions or segments: a switch refunds nothing.
 *
 * Rows: BUD-1, BUD-2, BUD-5.
 */
export const DIMENSIONS = ['usd_micros', 'tokens', 'calls'] as const;
export type Dimension = (typeof DIMENSIONS)[number];
export type Amounts = { readonly [D in Dimension]: number };

export const NOTHING: Amounts = { usd_micros: 0, tokens: 0, calls: 0 };
const each = (f: (d: Dimension) => number): Amounts => ({ usd_micros: f('usd_micros'), tokens: f('tokens'), calls: f('calls') });
export const plus = (a: Amounts, b: Amounts): Amounts => each((d) => a[d] + b[d]);
export const minus = (a: Amounts, b: Amounts): Amounts => each((d) => a[d] - b[d]);
export const least = (a: Amounts, b: Amounts): Amounts => each((d) => Math.min(a[d], b[d]));
export const most = (a: Amounts, b: Amounts): Amounts => each((d) => Math.max(a[d], b[d]));
export const covers = (a: Amounts, b: Amounts): boolean => DIMENSIONS.every((d) => a[d] >= b[d]);
export const isNothing = (a: Amounts): boolean => DIMENSIONS.every((d) => a[d] === 0);
export const areAmounts = (a: Amounts): boolean => DIMENSIONS.every((d) => Number.isSafeInteger(a[d]) && a[d] >= 0);

export interface Budget {
  readonly granted: Amounts;
  readonly drawn: Amounts;
  readonly used: Amounts;
  readonly reservations: { readonly [id: string]: Amounts };
  /** What providers reported beyond a reservation: a fact that no reservation could prevent, kept apart so that B1 stays exact. */
  readonly overrun: Amounts;
  /** Of the overrun, what the tenant has paid beside the slices drawn. */
  readonly charged: Amounts;
  readonly warned: boolean;
  readonly exhausted: Dimension | null;
}

export const openBudget = (granted: Amounts): Budget => ({ granted, drawn: NOTHING, used: NOTHING, reservations: {}, overrun: NOTHING, charged: NOTHING, warned: false, exhausted: null });

export const reserved = (b: Budget): Amounts => Object.values(b.reservations).reduce(plus, NOTHING);
/** What the run may still commit to, out of its grant. */
export const left = (b: Budget): Amounts => minus(minus(b.granted, b.used), reserved(b));
/** What it holds from the tenant and has not committed. */
export const idle = (b: Budget): Amounts => minus(minus(b.drawn, b.used), reserved(b));

/** What the tenant has paid for this run so far. */
export const paid = (b: Budget): Amounts => plus(b.drawn, b.charged);
/** What was used or still is reserved beyond what the tenant has paid: only an overrun makes it so. */
export const owed = (b: Budget): Amounts => most(minus(plus(b.used, reserved(b)), paid(b)), NOTHING);
/** The budget after a reservation came to `used`. */
export function settled(b: Budget, reservation: string, used: Amounts): Budget {
  const { [reservation]: held, ...others } = b.reservations;
  return held === undefined ? b : { ...b, reservations: others, used: plus(b.used, used), overrun: plus(b.overrun, most(minus(used, held), NOTHING)) };
}
/** An ended run commits to nothing more: what it has paid too much goes back, what was charged first (B3). */
export function givenBack(b: Budget): Budget {
  const over = most(minus(paid(b), plus(b.used, reserved(b))), NOTHING);
  const charge = least(b.charged, over);
  return { ...b, charged: minus(b.charged, charge), drawn: minus(b.drawn, minus(over, charge)) };
}

/** The extra that must be drawn from the tenant's account so that `amounts` can be reserved; at least a slice, at most the grant. */
export function drawFor(b: Budget, amounts: Amounts, slice: Amounts): Amounts {
  const free = idle(b);
  const room = minus(b.granted, b.drawn);
  return each((d) => (free[d] >= amounts[d] ? 0 : Math.min(room[d], Math.max(slice[d], amounts[d] - free[d]))));
}

export const budgetHolds = (b: Budget): boolean =>
  covers(b.granted, b.drawn) && covers(plus(b.drawn, b.overrun), plus(b.used, reserved(b))) && covers(b.overrun, b.charged) && areAmounts(b.charged) && areAmounts(b.used) && areAmounts(b.drawn);

export const WARN_AT = 0.8;
/** The dimensions in which four fifths of the grant are used or reserved. */
export const nearEnd = (b: Budget): readonly Dimension[] =>
  DIMENSIONS.filter((d) => b.granted[d] > 0 && b.used[d] + reserved(b)[d] >= b.granted[d] * WARN_AT);
