/**
 * Text of runs, tools, models and people on its way to a terminal. It may colour nothing, move no cursor, hide nothing and start nothing.
 *
 * P1. No control character but line end and tab reaches the terminal, in either form (C0, C1, DEL), and no character that reorders others.
 */
// eslint-disable-next-line no-control-regex
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** Each unsafe character as its code point, so that nothing vanishes unseen. CR LF counts as a line end. */
export const plain = (text: string): string => text.replace(/\r\n/gu, '\n').replace(UNSAFE, (c) => `<${(c.codePointAt(0) as number).toString(16).padStart(2, '0')}>`);
/** The same on one line of at most `charsMax` characters. */
export function line(text: string, charsMax = 160): string {
  const one = plain(text).replace(/\s*\n\s*/gu, ' ').trim();
  const chars = Array.from(one);
  return chars.length <= charsMax ? one : `${chars.slice(0, charsMax - 1).join('')}…`;
}
/** A table of plain text, columns separated by two spaces. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>((w, r) => r.map((c, i) => Math.max(w[i] ?? 0, Array.from(c).length)), []);
  return rows.map((r) => r.map((c, i) => (i === r.length - 1 ? c : c + ' '.repeat((widths[i] as number) - Array.from(c).length))).join('  ').trimEnd()).join('\n');
}
