import { describe, expect, it } from '@jest/globals';
import { fact } from './events.js';
import { emptyRun } from './run.js';
import { fold } from './fold.js';
import { schedulesOf, type Schedule } from './schedule.js';
import { History, OP, POLICY, rulesText } from './spec-kit.js';

const waits = (h: History): readonly Schedule[] => schedulesOf(h.state);
const told = (s: Schedule | undefined): void => {
  expect(s).toMatchObject({ clock: 'store', intent: expect.stringMatching(/\S/), owner: expect.stringMatching(/\S/), bound: expect.stringMatching(/\S/) });
  expect(s?.endsEarly.length).toBeGreaterThan(0);
};

describe('a wait', () => {
  it('[SCH-1] for a provider\'s rate limit says when, for what, what ends it, and its bound', () => {
    const h = new History();
    h.carryOn(); h.generate(); h.seal();
    const g = h.state.generation;
    h.must('provider-gateway', [fact('generation.refused', { generation: g?.generation ?? '', attempt: g?.attempt ?? '', class: 'retry-later', code: 'RATE_LIMITED', reason: 'r', facts: {}, retryAfterMs: 30_000, usage: null, spent: null })]);
    const at = h.state.lastAt + 30_000;
    h.seal();
    const w = waits(h).find((x) => x.intent === 'ask a model again');
    told(w);
    expect(w).toMatchObject({ owner: 'context-compiler', eligibleAt: at });
  });
  it('[SCH-1] for an approval says until when, and what is reserved beside it', () => {
    const h = new History();
    h.change('policy', { ...POLICY, rules: rulesText([{ id: 'r', effect: 'ask', tools: ['mail'], reason: 'ask' }]) });
    h.turn([{ tool: 'mail', args: { what: 'x' } }]);
    const a = Object.values(h.state.approvals)[0];
    const w = waits(h).find((x) => x.of === a?.approval);
    told(w);
    expect(w).toMatchObject({ owner: 'policy-gate', eligibleAt: a?.expiresAt });
  });
  it('[SCH-1] for a look, a lease and a permit that nobody uses names effect, time and reservation', () => {
    const h = new History();
    h.turn([{ tool: 'file', args: { what: 'x' } }, { tool: 'mail', args: { what: 'y' } }]);
    const permitted = waits(h).filter((x) => x.intent.startsWith('judge again'));
    expect(permitted).toHaveLength(2);
    for (const w of permitted) { told(w); expect(w.reservation).not.toBeNull(); }
    h.start();
    const lease = waits(h).find((x) => x.intent.startsWith('find out'));
    told(lease);
    expect(lease).toMatchObject({ owner: 'effect-reconciler', reservation: expect.any(String) });
    h.end('unknown'); h.carryOn();
    const id = Object.keys(h.state.effects)[0] ?? '';
    h.must('effect-reconciler', [fact('effect.looked', { effect: id, look: 1, answer: 'cannot-tell', cause: '' })]);
    h.seal();
    const look = waits(h).find((x) => x.intent === 'ask the world what happened');
    told(look);
    expect(look).toMatchObject({ of: id, owner: 'policy-gate' });
    expect(look?.eligibleAt).toBeGreaterThan(h.state.lastAt);
  });
  it('[SCH-1] for a person names the person\'s part, and no time', () => {
    const h = new History();
    h.turn([{ tool: 'mail', args: { what: 'x' } }]);
    h.start(); h.end('unknown'); h.carryOn();
    expect(waits(h)).toContainEqual(expect.objectContaining({ owner: 'person', intent: 'be told what happened', of: Object.keys(h.state.effects)[0], eligibleAt: null }));
    h.must('api', [fact('run.pause-requested', { reason: 'stop' })], OP); h.carryOn();
    expect(waits(h)).toContainEqual(expect.objectContaining({ owner: 'person', intent: 'be resumed or ended' }));
  });
  it('[SCH-2] comes out of the log again as it was, and stands in the checkpoint', () => {
    const h = new History();
    h.turn([{ tool: 'file', args: { what: 'x' } }]);
    h.start(); h.end('unknown'); h.carryOn();
    expect(schedulesOf(fold(emptyRun('t', 'r'), h.events))).toEqual(waits(h));
    expect(waits(h).length).toBeGreaterThan(0);
  });
  it('[SCH-3] that comes due is judged under the policy of then', () => {
    const h = new History();
    h.turn([{ tool: 'mail', args: { what: 'x' } }]);
    h.start(); h.end('not-sent'); h.seal();
    const w = waits(h).find((x) => x.intent === 'attempt again what was not sent');
    told(w);
    h.change('policy', { ...POLICY, rules: rulesText([{ id: 'r', effect: 'forbid', tools: ['mail'], reason: 'not any more' }]) });
    h.now = w?.eligibleAt ?? 0;
    h.gate();
    expect(h.events.findLast((e) => e.type === 'effect.denied')?.data).toMatchObject({ code: 'POLICY_FORBIDS' });
  });
});
