/** Amounts as people read them. */

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
