/** Reserving and settling at the gate. Rows: BUD-1, BUD-2, BUD-4. */
import { covers, DIMENSIONS, drawFor, idle, isNothing, least, left, minus, most, nearEnd, NOTHING, owed, paid, settled, type Amounts, type Budget, type Dimension } from '../budget.js';
import { EVENTS_MAX, next, type Bare, type Judging } from './judging.js';

/** The tenant's balance after the facts so far. */
const remaining = (j: Bare): Amounts => minus(j.view.balance, minus(paid(j.d.state.budget), paid(j.view.state.budget)));

export interface Short { readonly short: Dimension; readonly of: 'run' | 'tenant' }

/** Reserves, drawing a slice from the tenant if needed; or says which dimension is short, and whose. */
export function reserve(j: Judging, what: 'generation' | 'effect', amounts: Amounts): { readonly reservation: string } | Short {
  const b = j.d.state.budget;
  const missing = DIMENSIONS.find((x) => left(b)[x] < amounts[x]);
  if (missing !== undefined) return { short: missing, of: 'run' };
  const balance = remaining(j);
  let drawn = drawFor(b, amounts, j.policy.slice);
  if (!covers(balance, drawn)) drawn = most(minus(amounts, idle(b)), NOTHING);
  const short = DIMENSIONS.find((x) => balance[x] < drawn[x]);
  if (short !== undefined) return { short, of: 'tenant' };
  const reservation = next(j, 'reservation');
  j.d.add('budget.reserved', { reservation, for: what, amounts, drawn });
  const near = nearEnd(j.d.state.budget);
  if (near.length > 0 && !j.d.state.budget.warned) j.d.add('budget.warned', { dimensions: near });
  return { reservation };
}
/** What the next judgement needs to know about a refusal for want of budget. */
export const shortFacts = (j: Judging, s: Short, amounts: Amounts): { readonly dimension: Dimension; readonly needed: number; readonly of: 'run' | 'tenant'; readonly opensAt: number | null } => ({ dimension: s.short, needed: amounts[s.short], of: s.of, opensAt: s.of === 'tenant' ? j.view.windowEndsAt : null });

/** What is owed, as far as the tenant's account goes; nothing of it: no field. */
function charge(j: Bare, b: Budget): { readonly charged?: Amounts } {
  const charged = most(least(owed(b), remaining(j)), NOTHING);
  return isNothing(charged) ? {} : { charged };
}
export function settle(j: Bare): void {
  for (const x of j.d.state.settle.slice(0, Math.max(0, EVENTS_MAX - j.d.facts.length))) {
    const b = j.d.state.budget;
    if (x.reservation in b.reservations) j.d.add('budget.settled', { ...x, ...(j.d.state.status === 'ended' ? charge(j, settled(b, x.reservation, x.used)) : {}) });
  }
}
export const atEnd = (j: Bare): { readonly returned: Amounts; readonly charged?: Amounts } => ({ returned: most(idle(j.d.state.budget), NOTHING), ...charge(j, j.d.state.budget) });
