import { describe, expect, it } from '@jest/globals';
import type { PolicyDocument } from '@n17q/domain';
import { candidateOf, diffText, policyText, requirePermit, trialText } from './policy.js';

const NOW = { rules: '@id("allow") permit (principal, action, resource);\n', attemptsMax: 3, slice: { calls: 1 } } as unknown as PolicyDocument;

describe('the policy on the command line', () => {
  it('[POL-1] takes rules into the policy in force, and a whole policy as it is', () => {
    expect(candidateOf('x.cedar', 'RULES', NOW)).toEqual({ ...NOW, rules: 'RULES' });
    expect(candidateOf('x.json', '{"rules":"R"}', NOW)).toEqual({ rules: 'R' });
    expect(() => candidateOf('x.cedar', 'RULES', null)).toThrow('publish a whole one');
    expect(() => candidateOf('x.json', '{', NOW)).toThrow('is not JSON');
    for (const none of ['null', '[]', '7', '{"revision":4,"document":null}']) expect(() => candidateOf('x.json', none, NOW)).toThrow('holds no policy but');
  });
  it('[POL-1] takes back what it showed, as text and as JSON', () => {
    expect(candidateOf('x.cedar', `${policyText(4, NOW)}\n`, NOW)).toEqual(NOW);
    expect(candidateOf('x.json', JSON.stringify({ revision: 4, document: NOW }), null)).toEqual(NOW);
  });
  it('[POL-4] says loudly that nothing is permitted any more, and publishes that only when it is asked for', () => {
    const nothing = { revision: 2, rules: { added: [], removed: ['allow'], changed: [] }, permitsNothing: true, fields: [] };
    expect(diffText(nothing)).toMatch(/^NOTHING IS PERMITTED ANY MORE under it/u);
    expect(() => { requirePermit(nothing, false); }).toThrow(/^Nothing would be permitted any more, so nothing is published: .*--deny-all\.$/u);
    expect(() => { requirePermit(nothing, true); requirePermit({ permitsNothing: false }, false); }).not.toThrow();
  });

  it('[POL-3] says what changes and what would have been decided, and lets no text move the terminal', () => {
    expect(policyText(4, { ...NOW, rules: '// \u001b[2J\u202e' })).toBe('// Policy, revision 4; its rules are below, and with it stands:\n//   attemptsMax  3\n//   slice        {"calls":1}\n\n// <1b>[2J<202e>');
    expect(policyText(0, null)).toMatch(/^No policy is published/);
    expect(diffText({ revision: 2, rules: { added: [], removed: [], changed: [] }, permitsNothing: false, fields: [] })).toBe('It changes nothing of revision 2.');
    expect(diffText({ revision: 2, rules: { added: ['a'], removed: ['b'], changed: ['c'] }, permitsNothing: false, fields: [{ field: 'fourEyes', now: false, would: true }] })).toBe('Against revision 2:\nrule a    added\nrule b    removed\nrule c    changed\nfourEyes  false → true');
    const none = { revision: 1, runs: 1, decisions: 1, skipped: 0, complete: true, changes: [] };
    expect(trialText(none)).toBe('Nothing would have been decided otherwise: 1 decision of 1 run judged again.');
    const change = { run: 'r'.repeat(36), revision: 9, at: '2026-01-01T00:00:00.000Z', effect: 'e', generation: null, tool: 'pay', was: { decision: 'allowed' as const, code: null, by: ['allow'], reason: '' }, would: { decision: 'denied' as const, code: 'POLICY_FORBIDS', by: ['no'], reason: 'not \u001b[31mtoday' } };
    expect(trialText({ ...none, skipped: 2, complete: false, changes: [change] })).toBe([
      '1 would have been decided otherwise; 1 decision of 1 run judged again; 2 could not be; older ones were not looked at.', '',
      'RUN           EVENT  WHAT  WAS               WOULD BE', 'rrrrrrrrrrr…  9      pay   allowed by allow  denied (POLICY_FORBIDS) by no: not <1b>[31mtoday',
    ].join('\n'));
  });
});
