import type { Simulated } from '../simulation.js';
import { approvals, current, judgedAgain, lookedFirst, looks, onBehalf, sources } from './authority.js';
import { nothingKept, spending, reservedFirst, unknownKept } from './budgets.js';
import { duplicates, evidence, onceOnly, permits, scopes, truth, writtenFirst } from './effects.js';
import { decisions, wholeEffects } from './kept.js';
import { actorKinds, chain, checkpoints, openEffects, owners, sealedBefore } from './log.js';
import { configurations, contexts, oneRequestEach, pieces } from './models.js';
import { recordOf, type Judge } from './record.js';
import { endings, lawful, nobodyForgotten } from './rest.js';
import { pinned, stillTheSame } from './tools.js';
import { bounded, durable } from './waits.js';

export interface Breach { readonly law: string; readonly what: string }
export const JUDGES: { readonly [name: string]: Judge } = {
  chain, owners, sealedBefore, checkpoints, openEffects, actorKinds, writtenFirst, onceOnly, permits, scopes, truth, evidence, duplicates, oneRequestEach, pieces, contexts, configurations, spending, reservedFirst, nothingKept, nobodyForgotten, endings, lawful,
  current, approvals, looks, judgedAgain, lookedFirst, onBehalf, sources, pinned, stillTheSame, durable, bounded, wholeEffects, decisions, unknownKept,
};

/** Every breach that any judge finds, each said once. */
export function judgeAll(sim: Simulated): readonly Breach[] {
  const record = recordOf(sim);
  const found = new Map<string, Breach>();
  for (const judge of Object.values(JUDGES)) judge(record, (law, what) => { found.set(`${law} ${what}`, { law, what }); });
  return [...found.values()];
}
