/** Amounts as people read and write them. */
import { Trouble } from '../trouble.js';

/** Millionths of a dollar as dollars: cents always, smaller parts where there are any. */
export function dollars(micros: number): string {
  const whole = Math.abs(micros);
  const cents = String(whole % 1_000_000).padStart(6, '0').replace(/(?<=^..\d*?)0+$/u, '').padEnd(2, '0');
  return `${micros < 0 ? '-' : ''}$${Math.floor(whole / 1_000_000).toLocaleString('en-US')}.${cents}`;
}
export const count = (n: number): string => n.toLocaleString('en-US');
/** `usd_micros` is the dimension of money; all others are counted. */
export const amount = (dimension: string, n: number): string => (dimension === 'usd_micros' ? dollars(n) : count(n));
export const size = (bytes: number): string => (bytes < 10_000 ? `${count(bytes)} bytes` : `${count(Math.round(bytes / 1000))} kB`);

/** As they are given on the command line: texts, absent where nothing was said. */
export interface AmountOptions { readonly usd?: string; readonly tokens?: string; readonly calls?: string }
const MOST = 1_000_000_000_000;
/** Dollars as millionths: `1.50` is 1,500,000. */
export function microsOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, whole = '', parts = ''] = /^\$?(\d{1,6})(?:\.(\d{1,6}))?$/u.exec(text) ?? [];
  if (whole === '') throw new Trouble(`--${option} is an amount of dollars such as 2 or 1.50, up to 999999 and to a millionth, not "${text.slice(0, 40)}".`, true);
  return Number(whole) * 1_000_000 + Number(parts.padEnd(6, '0'));
}
export function wholeOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const n = /^\d{1,13}$/u.test(text) ? Number(text) : Number.NaN;
  if (!(n <= MOST)) throw new Trouble(`--${option} is a whole number, zero or more, not "${text.slice(0, 40)}".`, true);
  return n;
}
/** Minutes as milliseconds. */
export function minutesOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const n = /^\d{1,6}(\.\d{1,3})?$/u.test(text) ? Math.round(Number(text) * 60_000) : Number.NaN;
  if (!(n <= 31_536_000_000)) throw new Trouble(`--${option} is a number of minutes, at most a year of them, not "${text.slice(0, 40)}".`, true);
  return n;
}
