/**
 * The one loop in which a service decides: load, decide, append at the revision that it saw; if another was faster, load and decide
 * again. Losing is normal; often there is nothing left to do.
 *
 * Rows: RUN-1, RUN-4.
 */
import { failpoint } from '@n17q/platform';
import type { AppendOutcome } from '@n17q/contracts';
import type { RunState } from '@n17q/domain';
import type { Decision, ServiceLog } from './service-log.js';

export const DECISIONS_MAX = 8;
/** The permit no longer stands in the store's eyes: nothing was started, and the gate judges again. */
export const NOT_STARTED: ReadonlySet<string> = new Set(['PERMIT_STALE', 'PERMIT_EXPIRED', 'SCOPE_BUSY', 'REQUIREMENT_FAILED']);

export type Decided<L> =
  | { readonly kind: 'nothing'; readonly loaded: L }
  | { readonly kind: 'appended'; readonly loaded: L; readonly decision: Decision; readonly outcome: Extract<AppendOutcome, { kind: 'appended' }> }
  | { readonly kind: 'refused'; readonly loaded: L; readonly decision: Decision; readonly outcome: Extract<AppendOutcome, { kind: 'refused' }> };

/** Others were faster every time, or the store is busy: try again later. Nothing was done. */
export class Contended extends Error {
  readonly kind = 'conflict';
  constructor(readonly tries: number, readonly last: string) { super(`${tries} decisions in a row were not taken in: ${last}`); this.name = 'Contended'; }
}

/** `load` reads the store anew each time; `decide` is pure but for ids and says null when there is nothing to do. */
export async function decideAgain<L>(log: ServiceLog, load: () => Promise<L>, stateOf: (l: L) => RunState, decide: (l: L) => Promise<Decision | null> | Decision | null, jitter: () => number = Math.random): Promise<Decided<L>> {
  let last = '';
  for (let tries = 0; tries < DECISIONS_MAX; tries++) {
    const loaded = await load();
    failpoint('reactor.after-load');
    const decision = await decide(loaded);
    if (decision === null || decision.facts.length === 0) return { kind: 'nothing', loaded };
    failpoint('reactor.after-decide');
    const outcome = await log.append(stateOf(loaded), decision);
    if (outcome.kind === 'appended') return { kind: 'appended', loaded, decision, outcome };
    // what the decider itself required has changed: it decides anew; what a permit required has changed: that permit is over
    if (outcome.kind === 'refused' && outcome.code !== 'BUDGET_SHORT' && !(outcome.code === 'REQUIREMENT_FAILED' && decision.requires !== undefined)) return { kind: 'refused', loaded, decision, outcome };
    last = outcome.kind === 'conflict' ? `at revision ${outcome.revision}` : outcome.kind === 'busy' ? outcome.message : `${outcome.code}: ${outcome.message}`;
    if (tries > 0 || outcome.kind === 'busy') await log.pause(Math.floor(jitter() * 10 * 2 ** tries));
  }
  throw new Contended(DECISIONS_MAX, last);
}

/** A load that answers with what is at hand the first time, and reads anew afterwards. */
export function startingWith<L>(first: L, load: () => Promise<L>): () => Promise<L> {
  let at: { readonly first: L } | null = { first };
  return () => {
    const known = at;
    at = null;
    return known === null ? load() : Promise.resolve(known.first);
  };
}
