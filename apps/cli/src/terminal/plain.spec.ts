import { describe, expect, it } from '@jest/globals';
import { line, plain, table } from './plain.js';

describe('text on its way to a terminal', () => {
  it('loses every control character, in both forms, and everything that reorders', () => {
    const hostile = 'a\u001b[31mred\u001b]0;title\u0007\u009b2Jb\u202ecba\u2066x\u2069\rover\u0000\u007f\ufeff\u2028';
    // eslint-disable-next-line no-control-regex
    expect(plain(hostile)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u);
    expect(plain(hostile)).toContain('a<1b>[31mred<1b>]0;title<07><9b>2Jb<202e>cba');
  });
  it('keeps line ends and tabs, and takes CR LF for a line end', () => {
    expect(plain('a\r\nb\tc\n')).toBe('a\nb\tc\n');
  });
  it('cuts one line between characters, never inside one', () => {
    expect(line('a\n  b', 10)).toBe('a b');
    expect(line('😀😀😀😀', 3)).toBe('😀😀…');
  });
  it('aligns columns', () => {
    expect(table([['a', 'b'], ['long', 'c']])).toBe('a     b\nlong  c');
  });
});
