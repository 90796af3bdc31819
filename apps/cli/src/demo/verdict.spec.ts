import { describe, expect, it } from '@jest/globals';
import type { EventEnvelope, EventType } from '@n17q/domain';
import { repeatedDispatches, verdicts, type Facts } from './verdict.js';

const A = { account: 'studio-a', provider: 'google', adapter: 'gemini', model: 'm-1' };
const B = { ...A, account: 'studio-b', model: 'm-2' };
const told: readonly (readonly [EventType, object])[] = [
  ['segment.started', { segment: 1, from: null, to: A }],
  ['generation.started', { attempt: 'g1', owner: 'one', form: 'first' }], ['generation.accepted', { attempt: 'g1' }],
  ['effect.intended', { effect: 'e1', call: 'c1' }], ['effect.attempt-started', { effect: 'e1' }], ['effect.outcome-unknown', { effect: 'e1' }], ['effect.reconciled', { effect: 'e1', as: 'happened', by: 'query' }],
  ['generation.started', { attempt: 'g2', owner: 'two', form: 'continued' }], ['generation.accepted', { attempt: 'g2' }],
  ['segment.started', { segment: 2, from: A, to: B }],
  ['generation.started', { attempt: 'g3', owner: 'two', form: 'reconstructed' }], ['generation.accepted', { attempt: 'g3' }],
  ['run.ended', { how: 'completed', withUnknowns: false }],
];
const eventsOf = (list: typeof told): readonly EventEnvelope[] => list.map(([type, data], i) => ({ type, data, revision: i + 1 }) as unknown as EventEnvelope);
const changed = (type: EventType, change: object): readonly EventEnvelope[] => eventsOf(told.map(([t, d]) => [t, t === type ? { ...d, ...change } : d]));
const without = (type: EventType): readonly EventEnvelope[] => eventsOf(told.filter(([t]) => t !== type));
const good: Facts = {
  events: eventsOf(told), ticketsInLedger: 1, ticketRequests: 1, providerRefusals: 0, reconcilerKills: 1, gatewayKills: 1, removedAccount: 'studio-a', repoUntouched: true,
  leaks: { values: 5, inRequests: 4, messages: 100, inMessages: 0, inLogs: 0, inStore: 0, inContents: 0, apiAnswers: 7, inApi: 0 },
};
const wrong = (f: Facts): readonly string[] => verdicts(f).filter((v) => !v.ok).map((v) => v.what);

describe('the verdicts of the demo', () => {
  it('has nothing to say against a run as it should be', () => {
    expect(wrong(good)).toEqual([]);
  });

  it.each<readonly [string, Partial<Facts>, string]>([
    ['a second ticket', { ticketsInLedger: 2 }, 'tickets in the ledger of the ticket service'],
    ['no ticket', { ticketsInLedger: 0 }, 'tickets in the ledger of the ticket service'],
    ['a second request', { ticketRequests: 2 }, 'requests that reached the ticket service'],
    ['an effect attempted twice', { events: [...eventsOf(told), ...eventsOf([['effect.attempt-started', { effect: 'e1' }]])] }, 'repeated tool dispatches'],
    ['a call intended twice', { events: [...eventsOf(told), ...eventsOf([['effect.intended', { effect: 'e2', call: 'c1' }]])] }, 'repeated tool dispatches'],
    ['an effect that never was unknown', { events: without('effect.outcome-unknown') }, 'the effect was unknown, then settled by a look'],
    ['an effect settled by a person', { events: changed('effect.reconciled', { by: 'finding' }) }, 'the effect was unknown, then settled by a look'],
    ['a gateway that lived', { gatewayKills: 0 }, 'killed with -9'],
    ['a refused continuation', { providerRefusals: 1 }, 'the continuation was rebuilt by the next gateway and accepted'],
    ['a run without a change of account', { events: without('segment.started') }, 'segments'],
    ['a run that ended with unknown effects', { events: changed('run.ended', { withUnknowns: true }) }, 'the run ended'],
    ['a run that did not end', { events: without('run.ended') }, 'the run ended'],
    ['a search that can find nothing', { leaks: { ...good.leaks, inRequests: 0 } }, 'continuation values that the provider issued, found in its own requests'],
    ['a leak on the bus', { leaks: { ...good.leaks, inMessages: 1 } }, 'continuation bytes in 100 bus messages'],
    ['a leak in a log', { leaks: { ...good.leaks, inLogs: 1 } }, 'continuation bytes in logs'],
    ['a leak in a content', { leaks: { ...good.leaks, inContents: 1 } }, 'continuation bytes in events, checkpoints and readable contents'],
    ['a leak in an answer', { leaks: { ...good.leaks, inApi: 1 } }, 'continuation bytes in 7 API answers'],
    ['a touched repository', { repoUntouched: false }, 'the given repository is as it was'],
  ])('names %s', (_what, change, line) => {
    expect(wrong({ ...good, ...change })).toContain(line);
  });

  it('says what the search that must find something is for', () => {
    const control = verdicts(good).find((v) => v.what.includes('found in its own requests'));
    expect(control?.found).toBe('4 of 5: the search works; the other 1 came last from their model, so they never went back to it');
  });

  it('counts each repetition', () => {
    expect(repeatedDispatches(eventsOf([['effect.attempt-started', { effect: 'a' }], ['effect.attempt-started', { effect: 'a' }], ['effect.attempt-started', { effect: 'a' }], ['effect.attempt-started', { effect: 'b' }]]))).toBe(2);
  });
});
