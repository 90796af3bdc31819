/** Whose move it is and what a person can do, in words. Rows: HUM-1 (shape), RES-2. */
import { isUnresolved, whoseMove, type Move, type RunState } from '@n17q/domain';

const MOVES: { readonly [M in Exclude<Move, 'nobody'>]: string } = {
  intend: 'the effect reconciler states what the model\'s calls would do',
  tools: 'calls wait for a decision, an attempt or evidence',
  compile: 'the context compiler prepares what the model sees next',
  'judge-generation': 'the policy gate judges the next model call',
  generate: 'the provider gateway calls the model next',
  generating: 'the model is being asked',
  finish: 'the policy gate closes the run or waits for an input',
};

const BLOCKED: { readonly [W in NonNullable<RunState['blocked']>['waitsFor']]: string } = {
  person: 'a person', profiles: 'whoever configures model accounts', policy: 'whoever changes the policy', budget: 'whoever grants more budget',
};

export function moveOf(s: RunState): { readonly move: Move; readonly words: string } {
  const move = whoseMove(s);
  if (move !== 'nobody') return { move, words: s.boundary.length > 0 ? `${MOVES[move]}, once the sealer has sealed` : move === 'finish' && s.task?.whenDone === 'await-input' ? 'the model said its last word; the run waits for an input' : MOVES[move] };
  if (s.status === 'ended') return { move, words: s.ended?.withUnknowns ? 'nobody: the run has ended with unresolved effects; evidence can still come' : 'nobody: the run has ended' };
  if (s.status === 'paused') return { move, words: `a person: the run is paused (${s.paused?.code ?? 'no code'})` };
  if (s.blocked !== null) return { move, words: `${BLOCKED[s.blocked.waitsFor]}: ${s.blocked.reason} (${s.blocked.code})` };
  return { move, words: 'a person: the run waits for an input' };
}

const WHO: { readonly [M in Exclude<Move, 'nobody'>]: string } = {
  intend: 'effect reconciler', tools: 'tools', compile: 'context compiler', 'judge-generation': 'policy gate', generate: 'provider gateway', generating: 'the model', finish: 'policy gate',
};
/** Whose move it is, in few words, for a list of runs. Where nobody of the system can move it says who else must, and what is missing. */
export function whoOf(s: RunState): string {
  if (s.status === 'ended') return 'nobody: ended';
  if (s.status === 'paused') return 'a person: to resume';
  if (s.blocked !== null) return s.blocked.waitsFor === 'person' ? `a person: ${s.blocked.code}` : s.blocked.waitsFor === 'profiles' ? 'a model account' : `a person: ${s.blocked.waitsFor}`;
  const move = whoseMove(s);
  if (move === 'tools' && Object.values(s.approvals).some((a) => a.stage === 'requested')) return 'a person: an approval';
  if (move === 'nobody' || (move === 'finish' && s.finished === 'stop' && s.task?.whenDone === 'await-input')) return 'a person: an input';
  return WHO[move];
}

/** Operations of the API, by name, that the run's state does not rule out. The gate still judges each. */
export function actionsOf(s: RunState): readonly string[] {
  const actions: string[] = ['add_note'];
  if (s.status !== 'ended') {
    actions.push('add_input', 'change_plan', 'end_run');
    if (s.status === 'active') actions.push('pause_run');
    actions.push('raise_budget');
    if (s.status === 'paused' || s.blocked !== null) actions.push('resume_run', 'continue_provider_response');
    if (Object.values(s.approvals).some((a) => a.stage === 'requested')) actions.push('decide_approval');
    if (Object.values(s.approvals).some((a) => a.stage === 'approved')) actions.push('revoke_approval');
  }
  if (Object.values(s.effects).some((e) => e.stage === 'unknown' && isUnresolved(e))) actions.push('submit_finding');
  if (Object.values(s.effects).some((e) => e.stage === 'unknown' && !e.erased)) actions.push('migrate_effect');
  if (s.sources.some((x) => x.review === 'unreviewed')) actions.push('review_source');
  if (s.status === 'ended' && s.erasure === null && !s.contentErased) actions.push('erase_run');
  return actions;
}
