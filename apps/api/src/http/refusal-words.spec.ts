import { describe, expect, it } from '@jest/globals';
import { refusalWords, type Refusal } from './refusal-words.js';

const refused = (type: string, why: string): Refusal => ({ kind: 'refused', code: 'ILLEGAL', message: `${type} at revision 7: ${why}`, facts: { type, revision: 7, why } });

describe('a refusal for a person', () => {
  it.each([
    ['input.received', 'the run has ended; input.received can no longer land', /^The run has ended and takes no input any more\. .*start a new run\.$/u],
    ['plan.changed', 'the run has ended; plan.changed can no longer land', /takes no change of its plan any more/u],
    ['run.end-requested', 'the run has ended; run.end-requested can no longer land', /^The run has ended already: there is nothing to end\.$/u],
    ['run.pause-requested', 'the run is paused already', /^The run is paused already: ask it to resume/u],
    ['approval.decided', 'no approval ap-1 waits for a decision', /^No approval of this name waits/u],
    ['approval.revoked', 'no approval ap-1', /^No approval of this name waits/u],
    ['approval.decided', 'the approval is for another intent', /look at the run again/u],
    ['input.received', 'something new', /^The run does not allow this input in its present state: something new\. /u],
  ])('says of %s, refused since "%s", what was wrong and what to do, without the name of an event', (type, why, words) => {
    const said = refusalWords(refused(type, why));
    expect(said).toMatch(words);
    expect(said).not.toContain(type);
  });
  it('keeps the store\'s words for what has none here', () => {
    expect(refusalWords({ kind: 'refused', code: 'TOO_LARGE', message: 'at most 1 MB', facts: {} })).toBe('at most 1 MB');
  });
});
