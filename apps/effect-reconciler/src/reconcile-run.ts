/**
 * What the reconciler has to do on a run, one step a pass: evidence first, then intents, attempts, looks. Each step appends, and the append's wake
 * brings the next pass.
 *
 * Rows: EFF-1 to EFF-5, EFF-10.
 */
import { applyFindings, expireClaims, startable, takeReceipts, whoseMove, type AttemptId, type DecisionView, type Fact, type RunId, type TenantId } from '@n17q/domain';
import { decideAgain, startingWith, type Decided } from '@n17q/event-log';
import { startAttempts, type Claim } from './dispatch.js';
import { OutcomeLog } from './outcomes.js';
import { intend } from './intend.js';
import { lookNow, lookable } from './look.js';
import type { ReconcilerPorts } from './ports.js';

const taken = <L>(d: Decided<L>, what: string): void => {
  if (d.kind === 'refused') throw new Error(`the store refused ${what}: ${d.outcome.code}: ${d.outcome.message}`);
};

function evidence(v: DecisionView, mine: ReadonlySet<AttemptId>): readonly Fact[] {
  const receipts = takeReceipts(v.state);
  if (receipts.length > 0) return receipts;
  const findings = v.state.boundary.length > 0 ? [] : applyFindings(v.state);
  return findings.length > 0 ? findings : expireClaims(v.state, mine, v.now);
}

export function reconciler(p: ReconcilerPorts): { run(tenant: TenantId, run: RunId): Promise<void>; readonly inFlight: ReadonlyMap<AttemptId, Claim> } {
  const mine = new Map<AttemptId, Claim>();
  const outcomes = new OutcomeLog(p);
  return {
    inFlight: mine,
    async run(tenant, run) {
      const view = await p.log.view(tenant, run);
      const load = startingWith(view, () => p.log.view(tenant, run));
      if (evidence(view, new Set(mine.keys())).length > 0) return taken(await decideAgain(p.log, load, (v) => v.state, (v) => ({ facts: evidence(v, new Set(mine.keys())) })), 'evidence');
      if (whoseMove(view.state) === 'intend') return taken(await decideAgain(p.log, load, (v) => v.state, (v) => intend(p, v)), 'an intent');
      if (startable(view.state, view.now).length > 0) await startAttempts(p, mine, outcomes, tenant, run, load);
      if (lookable(view).length > 0) await lookNow(p, view);
    },
  };
}
