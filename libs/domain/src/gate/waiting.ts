/** Which effects a judgement of this state would judge a call for: the gate reads their arguments from the store, and asks the tenant's hook about them. */
import { draftOn } from '../draft.js';
import type { Effect } from '../effect.js';
import type { StoreTimeMs } from '../ids.js';
import { heldBack, ownRecoveries } from '../needs.js';
import type { RunState } from '../run.js';

/** What is unknown may be freed by an answer in the same judgement, and is told whether or not something holds it back now. */
const judges = (s: RunState, e: Effect | undefined, now: StoreTimeMs): boolean =>
  e !== undefined && e.needsPerson === null && (e.stage === 'unknown' ? ownRecoveries(s, e, now).again : ['intended', 'not-sent', 'awaiting-approval', 'permitted'].includes(e.stage) && !heldBack(s, e));

/** As it is, and where the judgement may resume the run before it comes to its calls, as it is then. */
export function callsToJudge(s: RunState, now: StoreTimeMs): readonly Effect[] {
  if (s.boundary.length > 0) return [];
  const states = [s];
  if (s.status !== 'ended' && (s.requests.length > 0 || s.blocked !== null)) {
    const d = draftOn(s, 'policy-gate', now);
    d.add('run.resumed', { reason: '' });
    states.push(d.state);
  }
  return Object.values(s.effects).filter((e) => states.some((x) => judges(x, x.effects[e.effect], now)));
}
