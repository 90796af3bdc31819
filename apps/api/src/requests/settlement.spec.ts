import { describe, expect, it } from '@jest/globals';
import type { EventEnvelope } from '@n17q/domain';
import { standingOf } from './settlement.js';

const events = (...list: readonly (readonly [string, object])[]): readonly EventEnvelope[] => list.map(([type, data], i) => ({ type, data: { effect: 'e', ...data }, revision: i + 1 }) as unknown as EventEnvelope);
const begun = [['effect.intended', { tool: 'pay' }], ['effect.attempt-started', {}]] as const;
const lost = [...begun, ['effect.outcome-unknown', { cause: 'CLAIM_EXPIRED' }]] as const;

describe('[EFF-5] how an effect stands, for a finding that came too late or too early', () => {
  it.each<readonly [readonly (readonly [string, object])[], string]>([
    [[...begun, ['effect.observed', { ok: true }]], 'This effect (pay) is settled already: the tool answered at event 3. A finding changes nothing.'],
    [[...begun, ['effect.observed', { ok: false }]], 'This effect (pay) is settled already: the tool answered at event 3, reporting failure. A finding changes nothing.'],
    [[...lost, ['effect.looked', {}], ['effect.reconciled', { as: 'happened', by: 'query' }]], 'This effect (pay) is settled already: it happened, known at event 5 by asking the target. A finding changes nothing.'],
    [[...lost, ['effect.reconciled', { as: 'did-not-happen', by: 'finding' }]], 'This effect (pay) is settled already: it did not happen, known at event 4 by a person\'s finding. A finding changes nothing.'],
    [[...begun, ['effect.refused', {}]], 'This effect (pay) is settled already: the tool refused it at event 3, so it did not happen. A finding changes nothing.'],
    [[begun[0], ['effect.denied', { code: 'POLICY_FORBIDS' }]], 'This effect (pay) is settled already: the policy gate denied it at event 2 (POLICY_FORBIDS), so it was not sent. A finding changes nothing.'],
    [begun, 'This effect (pay) is under way since event 2: its outcome is not unknown. Wait for its answer, or until its claim has run out.'],
    [[begun[0]], 'This effect (pay) was not sent, so there is nothing to find out about it yet.'],
  ])('%#', (list, words) => { expect(standingOf(events(...list), 'e')).toBe(words); });
  it('knows nothing of an effect that was never there', () => { expect(standingOf(events(...lost), 'f')).toBeUndefined(); });
});
