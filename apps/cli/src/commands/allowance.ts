/** What the tenant's runs may draw on: shown, and granted more. Rows: BUD-5. */
import type { http } from '@n17q/contracts';
import { table } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { amount, microsOf, wholeOf, type AmountOptions } from './amounts.js';
import { ownReach, said } from './api.js';
import { moment } from './moments.js';
import type { Output } from './output.js';
import { given } from './words-given.js';

const DIMENSIONS = ['usd_micros', 'tokens', 'calls'] as const;
export const allowanceText = (a: http.AllowanceView): string => [
  table([['', 'held', 'runs may draw now', ...a.limits.map((l) => `left until ${moment(new Date(l.endsAt).toISOString())}`)], ...DIMENSIONS.map((d) => [d === 'usd_micros' ? 'dollars' : d, amount(d, a.balance[d]), amount(d, a.drawable[d]), ...a.limits.map((l) => amount(d, l.left[d]))])]),
  './n17q allowance grant --usd DOLLARS (or --tokens, --calls) grants more.',
].join('\n');

export async function showAllowance(out: Output): Promise<void> {
  const a = await said(() => ownReach().client.allowance());
  out.answer(a, () => allowanceText(a));
}

export async function grantAllowance(o: AmountOptions & { readonly reason: string }, out: Output): Promise<void> {
  given('reason', o.reason, 4000);
  const amounts = { usd_micros: microsOf('usd', o.usd) ?? 0, tokens: wholeOf('tokens', o.tokens) ?? 0, calls: wholeOf('calls', o.calls) ?? 0 };
  if (amounts.usd_micros + amounts.tokens + amounts.calls === 0) throw new Trouble('Say how much: give at least one of --usd, --tokens and --calls, more than 0.', true);
  const granted = await said(() => ownReach().client.grantAllowance({ amounts, reason: o.reason }));
  out.answer(granted, () => 'The tenant has it; runs that stood still for want of it go on by themselves. ./n17q allowance show says what there is.');
}
