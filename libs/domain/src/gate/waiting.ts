/** Which effects a judgement of this state would judge a call for: the gate reads their arguments from the store, and asks the tenant's hook about them. */
import type { Effect } from '../effect.js';
import type { StoreTimeMs } from '../ids.js';
import { heldBack, ownRecoveries } from '../needs.js';
import type { RunState } from '../run.js';

export const callsToJudge = (s: RunState, now: StoreTimeMs): readonly Effect[] =>
  s.boundary.length > 0 ? [] : Object.values(s.effects).filter((e) => e.needsPerson === null && !heldBack(s, e)
    && (['intended', 'not-sent', 'awaiting-approval', 'permitted'].includes(e.stage) || (e.stage === 'unknown' && ownRecoveries(s, e, now).again)));
