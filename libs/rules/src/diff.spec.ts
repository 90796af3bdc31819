import { describe, expect, it } from '@jest/globals';
import { diffRules } from './diff.js';
import { ALLOW_ALL, askFor, forbidTools, literal } from './first-rules.js';
import { describeSchema } from './schema.js';
import { faultsFrom, question, registry, rulesFrom, SHOP, tool } from './spec-kit.js';

describe('the difference between two sets', () => {
  it('[POL-3] is told by the names of rules; layout, comments and order are none', () => {
    const before = ALLOW_ALL + forbidTools(['pay'], 'closed', 'a') + askFor(['ship'], 'look', 'b');
    expect(diffRules(before, `// new\n${askFor(['ship'], 'look', 'b').replaceAll(' ', '\n  ')}${forbidTools(['pay'], 'closed', 'a')}\n${ALLOW_ALL}`)).toEqual({ ok: true, added: [], removed: [], changed: [], permitsNothing: false });
    expect(diffRules(before, ALLOW_ALL + forbidTools(['pay'], 'closed today', 'a') + forbidTools(['ship'], 'x', 'c'))).toEqual({ ok: true, added: ['c'], removed: ['b'], changed: ['a'], permitsNothing: false });
    for (const none of ['', '// nothing', forbidTools(['pay'], 'closed', 'a')]) expect(diffRules(before, none)).toMatchObject({ permitsNothing: true });
  });

  it('sees the last digit of a large number', () => {
    const rule = (n: string): string => `@id("n") permit (principal, action, resource) when { context.attempts < ${n} };`;
    expect(diffRules(rule('9223372036854775806'), rule('9223372036854775807'))).toMatchObject({ changed: ['n'] });
  });

  it('is refused with the fault when a text cannot be read', () => {
    expect(diffRules(ALLOW_ALL, 'permit')).toMatchObject({ ok: false, faults: [{ problem: expect.stringContaining('cannot be read') }] });
  });
});

describe('rules to begin with', () => {
  it('[CTX-6] are written with every text escaped', () => {
    const nasty = 'a"); permit (principal, action, resource); // \\ \n \u202e 😀';
    const rules = rulesFrom(ALLOW_ALL + forbidTools(['*'], nasty, 'x'));
    expect(rules(question())).toEqual({ kind: 'deny', by: ['x'], reasons: [nasty] });
    expect(literal('\0')).toBe('"\\u{0}"');
    expect(faultsFrom(askFor(['a"b'], 'r', 'x'))).toEqual([expect.stringMatching(/^x: It is about calls of the tool a/)]);
  });
});

describe('the schema for people', () => {
  it('[POL-1] is Cedar text that says what each tool takes, the same for the same registry', () => {
    const text = describeSchema(SHOP);
    expect(text).toContain('action "call:pay" in [Action::"call"] appliesTo');
    expect(text).toMatch(/amount: decimal/);
    expect(describeSchema(registry(tool('ship', SHOP.tools[1]?.schema ?? null), tool('pay')))).toBe(text.length > 0 ? describeSchema(SHOP) : '');
  });
});
