/** All that the reconciler has to do on a run, in this order: evidence first, then intents, attempts, looks. Rows: EFF-1 to EFF-5, EFF-10. */
import { applyFindings, expireClaims, takeReceipts, type AttemptId, type RunId, type TenantId } from '@n17q/domain';
import { decideAgain, type Decided } from '@n17q/event-log';
import { startAttempts, type Claim } from './dispatch.js';
import { intend } from './intend.js';
import { lookNow } from './look.js';
import type { ReconcilerPorts } from './ports.js';

const taken = <L>(d: Decided<L>, what: string): void => {
  if (d.kind === 'refused') throw new Error(`the store refused ${what}: ${d.outcome.code}: ${d.outcome.message}`);
};

export function reconciler(p: ReconcilerPorts): { run(tenant: TenantId, run: RunId): Promise<void>; readonly inFlight: ReadonlyMap<AttemptId, Claim> } {
  const mine = new Map<AttemptId, Claim>();
  return {
    inFlight: mine,
    async run(tenant, run) {
      taken(await decideAgain(p.log, () => p.log.view(tenant, run), (v) => v.state, (v) => {
        const receipts = takeReceipts(v.state);
        if (receipts.length > 0) return { facts: receipts };
        const findings = v.state.boundary.length > 0 ? [] : applyFindings(v.state);
        if (findings.length > 0) return { facts: findings };
        return { facts: expireClaims(v.state, new Set(mine.keys()), v.now) };
      }), 'evidence');
      taken(await decideAgain(p.log, () => p.log.view(tenant, run), (v) => v.state, (v) => intend(p, v)), 'an intent');
      await startAttempts(p, mine, tenant, run);
      await lookNow(p, tenant, run);
    },
  };
}
