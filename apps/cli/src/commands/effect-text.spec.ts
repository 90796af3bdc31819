import { describe, expect, it } from '@jest/globals';
import type { http } from '@n17q/contracts';
import type { EventEnvelope } from '@n17q/domain';
import { attemptLines, causeText, effectLines, settledLine } from './effect-text.js';

const at = '2030-01-31T10:11:12.000Z';
const effect = (stage: http.ShownEffect['stage'], end: http.ShownEffect['attempts'][number]['end'], cause: string | null): http.ShownEffect => ({
  effect: 'eff-0000000000001111aaaa', tool: 'pay', stage, unresolved: stage === 'unknown', segment: 1, subject: 's', contract: { kind: 'neither' }, scope: { target: 'bank', fields: [] }, args: { commitment: 'c', bytes: 1, class: 'tool-arguments', media: 'text/plain' },
  attempts: [{ attempt: 'a', startedAt: at, leaseMs: 1, end, endedAt: '2030-01-31T10:11:42.000Z', cause }], receipts: [], looks: 0, duplicated: 0, migratedTo: null, evidenceErased: false, allowed: [], prohibited: null, needsPerson: null, result: null,
});

describe('[EFF-3] an effect on a terminal', () => {
  it('says why it was not sent, and of an unknown outcome when it was begun, to whom, and why nobody knows', () => {
    expect(effectLines('r1', effect('not-sent', 'not-sent', 'ECONNREFUSED'))).toContain('  not sent to bank, 2030-01-31 10:11:42Z (ECONNREFUSED: nothing listens there)');
    const unknown = effectLines('r1', effect('unknown', 'unknown', 'CLAIM_EXPIRED'));
    expect(unknown).toContain('  begun 2030-01-31 10:11:12Z to bank; its outcome is unknown since 2030-01-31 10:11:42Z (CLAIM_EXPIRED: whoever');
    expect(unknown).toContain('./n17q finding r1 1111aaaa --happened|--did-not --evidence FILE');
    expect(causeText('what\u001b[2J it said')).toBe('what<1b>[2J it said');
  });
  it('[EFF-8] offers after an erasure only the finding that is taken', () => {
    expect(effectLines('r1', { ...effect('unknown', 'unknown', 'ECONNRESET'), evidenceErased: true })).toContain('./n17q finding r1 1111aaaa --happened --evidence FILE');
  });
  it('lists attempts, looks and the settlement of one effect in their order', () => {
    const events = ([['effect.intended', { scope: { target: 'bank' } }], ['effect.attempt-started', { attemptNumber: 1, dispatchBy: 15_000 }], ['effect.outcome-unknown', { cause: 'ECONNRESET' }], ['effect.outcome-unknown', { effect: 'other', cause: 'X' }], ['effect.looked', { look: 1, answer: 'cannot-tell', cause: 'HTTP 500' }], ['effect.reconciled', { as: 'happened', by: 'query' }]] as const)
      .map(([type, data], i) => ({ type, data: { effect: 'e', ...data }, revision: i, recordedAt: i * 1000 }) as unknown as EventEnvelope);
    expect(attemptLines(events, 'e')).toEqual([
      'attempt 1: claimed 1970-01-01 00:00:01Z, to be sent to bank before 1970-01-01 00:00:15Z', 'attempt 1: outcome unknown since 1970-01-01 00:00:02Z (ECONNRESET: the connection was cut before the answer)',
      'look 1: cannot-tell, 1970-01-01 00:00:04Z (HTTP 500)', 'settled 1970-01-01 00:00:05Z: it happened, by asking the target',
    ]);
    expect(attemptLines(events, 'nobody')).toEqual([]);
  });
  it('says how what was unknown was settled', () => {
    expect(settledLine({ effect: 'e', tool: 'pay', as: 'did-not-happen', by: 'finding', at, revision: 12 })).toBe('e  pay: it did not happen, known 2030-01-31 10:11:12Z by a person\'s finding (event 12)');
  });
});
