/** Whose move it is, read from the state. Everything that waits says for what. Rows: SEAL-6, RES-2, SVC-1. */
import { isAnswered } from './effect.js';
import { effectOfCall, type OpenCall, type RunState } from './run.js';

export const callAnswered = (s: RunState, c: OpenCall): boolean => {
  if (c.refused !== null) return true;
  const e = effectOfCall(s, c);
  return e !== undefined && isAnswered(e);
};

export type Move =
  | 'nobody'          // ended, paused, blocked, or waiting for a person's next input
  | 'intend'          // an accepted output has calls without intents
  | 'tools'           // intents wait for a decision, an attempt, or evidence
  | 'compile'         // the model is to move and has no context yet
  | 'judge-generation'
  | 'generate'
  | 'generating'
  | 'finish';         // the model said its last word

export function whoseMove(s: RunState): Move {
  if (s.status !== 'active' || s.blocked !== null) return 'nobody';
  const g = s.generation;
  if (g !== null) return g.stage === 'compiled' ? 'judge-generation' : g.stage === 'permitted' ? 'generate' : 'generating';
  if (s.calls.some((c) => c.effect === null && c.refused === null)) return 'intend';
  if (s.calls.some((c) => !callAnswered(s, c))) return 'tools';
  if (s.calls.length > 0 || s.inputs.length > 0) return 'compile';
  if (s.finished !== null) return 'finish';
  return 'nobody';
}

/** Whether the run is at work: something of its own is to be done or under way. While all that is left waits for a person, it is not (BUD-1). */
export function atWork(s: RunState): boolean {
  switch (whoseMove(s)) {
    case 'nobody': return false;
    case 'finish': return s.task?.whenDone === 'end';
    case 'tools': return s.calls.some((c) => !callAnswered(s, c) && effectOfCall(s, c)?.stage !== 'awaiting-approval');
    default: return true;
  }
}
