import { describe, expect, it } from '@jest/globals';
import type { EventEnvelope } from '@n17q/domain';
import { NOTHING_TOLD, SETTLED_MAX, told } from './chronicle.js';

const AT = '1970-01-01T00:00:00.000Z';
const event = (type: string, data: object, revision = 7): EventEnvelope => ({ type, data: { effect: 'e', attempt: 'a', ...data }, revision, recordedAt: 0 }) as unknown as EventEnvelope;
const of = (...events: readonly EventEnvelope[]) => told(NOTHING_TOLD, events, new Map([['e', 'pay']]));

describe('what only the events say', () => {
  it('[EFF-3] is why an attempt came to nothing, and when', () => {
    for (const type of ['effect.not-sent', 'effect.outcome-unknown', 'effect.refused']) expect(of(event(type, { cause: 'ECONNRESET' })).ends.get('a')).toEqual({ endedAt: AT, cause: 'ECONNRESET' });
    expect(of(event('effect.observed', {})).ends.get('a')).toEqual({ endedAt: AT, cause: null });
  });
  it('[APP-1] is why a person is asked, by which rules, and what was said with the decision', () => {
    const c = of(event('approval.requested', { approval: 'ap', reasons: ['over 100'], grounds: { by: ['large'] } }), event('approval.decided', { approval: 'ap', note: 'fine' }));
    expect([c.asked.get('ap'), c.notes.get('ap')]).toEqual([{ reasons: ['over 100'], rules: ['large'] }, 'fine']);
  });
  it('[EFF-3] is how what was unknown was settled, the newest; later pages join earlier ones', () => {
    const one = of(event('effect.reconciled', { as: 'happened', by: 'query' }));
    expect(one.settled).toEqual([{ effect: 'e', tool: 'pay', as: 'happened', by: 'query', at: AT, revision: 7 }]);
    const many = Array.from({ length: SETTLED_MAX }, (_, i) => event('effect.reconciled', { as: 'did-not-happen', by: 'finding' }, i + 8));
    expect(told(one, many, new Map()).settled.map((x) => x.revision)).toEqual(many.map((e) => e.revision));
  });
  it('[TOOL-3] [EFF-8] is what was refused, and who had the run erased', () => {
    const by = { kind: 'person', id: 'ada' };
    const c = of(event('effect.migration-refused', { code: 'UNKNOWN_TOOL', reason: 'no such tool' }), event('content.erased', { reason: 'they asked', by }));
    expect([c.refusals, c.erased]).toEqual([[{ revision: 7, at: AT, of: 'migration', effect: 'e', code: 'UNKNOWN_TOOL', reason: 'no such tool' }], { at: AT, revision: 7, reason: 'they asked', by }]);
  });
});
