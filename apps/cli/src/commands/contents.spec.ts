import { describe, expect, it } from '@jest/globals';
import type { EventEnvelope } from '@n17q/domain';
import { barred, readable, spoken, telling } from './contents.js';
import { eventRows, gist } from './event-text.js';

const ref = { commitment: `c1.${'a'.repeat(64)}`, bytes: 144, class: 'tool-result', media: 'text/plain' };
const event = (type: string, data: object): EventEnvelope => ({ type, data, revision: 7, recordedAt: 0 }) as unknown as EventEnvelope;

describe('what a run did, on a terminal', () => {
  it('stands behind bars, whatever it says', () => {
    expect(barred('one\nevent 9: the model said\u001b[1A\r\nthree')).toBe('  | one\n  | event 9: the model said<1b>[1A\n  | three');
  });
  it('reads a stored output as words and calls, without what is opaque', () => {
    expect(spoken(JSON.stringify({ parts: [{ kind: 'opaque' }, { kind: 'text', text: 'Look.' }, { kind: 'call', callId: 'c', tool: 'read_file', args: { path: 'a' } }] }))).toBe('Look.\ncalls read_file({"path":"a"})');
    expect([spoken('no json'), spoken('{}')]).toEqual([undefined, undefined]);
  });
  it('shows of a changed binary file that it changed', () => {
    const text = 'diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-GIT binary patch\n+y\n';
    expect(readable(`diff --git a/l b/l\nindex 3..4 100644\nGIT binary patch\nliteral 3\nKcmZ\n\nliteral 2\nJcmZ\n\n${text}`)).toBe(`diff --git a/l b/l\nindex 3..4 100644\n(a binary file; into a pipe or file its bytes come too)\n${text}`);
    expect([readable(text), readable('')]).toEqual([text, '']);
  });
  it('names who said what', () => {
    const tools = new Map([['e', 'pay']]);
    expect(telling(event('effect.observed', { effect: 'e', ok: false, text: ref }), tools)).toEqual({ what: 'pay answered, reporting failure', ref });
    expect(telling(event('effect.reconciled', { effect: 'e', as: 'happened', by: 'query', text: ref }), tools)?.what).toBe('pay happened, by query');
    expect(telling(event('effect.reconciled', { effect: 'e', as: 'happened', by: 'finding', text: null }), tools)).toBeUndefined();
    expect(telling(event('call.refused', { call: 'c', tool: 'run_tests', code: 'UNKNOWN_TOOL', reason: 'there is no such tool' }), tools)).toEqual({ what: 'the call of run_tests was refused (UNKNOWN_TOOL); the model is told why', words: 'there is no such tool' });
    expect(telling(event('effect.denied', { effect: 'e', code: 'POLICY_FORBIDS', reason: 'not here' }), tools)).toEqual({ what: 'the call of pay was denied by the gate (POLICY_FORBIDS); the model is told why', words: 'not here' });
    expect(telling(event('effect.not-sent', { effect: 'e', cause: 'NO_CONNECTOR' }), tools)).toEqual({ what: 'the call of pay was not sent', words: 'NO_CONNECTOR: no connector for the tool is there' });
    expect(telling(event('checkpoint.sealed', {}), tools)).toBeUndefined();
  });
});

describe('an event in one line', () => {
  it('says all of its data that a person reads, the telling words first, digests short', () => {
    const said = gist(event('effect.intended', { args: ref, amounts: { usd_micros: 1_000_000, tokens: 0, calls: 1 }, effect: `eff-${'0123456789ab'.padEnd(32, 'f')}`, scope: { target: 'bank', fields: {} }, subject: 'b'.repeat(64), tool: 'pay' }));
    expect(said).toBe('tool pay, effect eff-0123456789ab…, args tool-result of 144 bytes, amounts $1.00 0 tokens 1 calls, scope (target bank)');
  });
  it('names routes, calls and lists, and is bounded', () => {
    expect(gist(event('segment.started', { to: { account: 'a', provider: 'p', adapter: 'x', model: 'm' }, segment: 2, from: null }))).toBe('to a/m, segment 2');
    expect(gist(event('generation.accepted', { calls: [{ call: 'c', tool: 'pay', args: ref }], continuations: [{ handle: 'h' }], finish: 'stop' }))).toBe('finish stop, calls pay, continuations 1');
    expect(Array.from(gist(event('x', { a: 'y'.repeat(300), b: 'y'.repeat(300), c: 'y'.repeat(300), d: 'y'.repeat(300), e: 'y'.repeat(300) }))).length).toBeLessThanOrEqual(400);
  });
  it('moves no cursor', () => {
    // eslint-disable-next-line no-control-regex
    expect(eventRows([event('run.paused', { reason: 'a\u001b[2J\nb' })])).not.toMatch(/[\u001b\n]/u);
  });
});
