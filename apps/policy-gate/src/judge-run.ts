/**
 * Judges whatever waits for a judgement in a run. The handler knows the run's name and nothing else; all facts come from one reading of
 * the store.
 *
 * Rows: EFF-6, EFF-7, POL-2, POL-3, POL-4, BUD-2.
 */
import { v7 as uuidv7 } from 'uuid';
import { digestOf } from '@n17q/contracts';
import { judge, type RunId, type TenantId } from '@n17q/domain';
import { decideAgain, type ServiceLog } from '@n17q/event-log';

export const judgeRun = (log: ServiceLog) => async (tenant: TenantId, run: RunId): Promise<void> => {
  const done = await decideAgain(log, () => log.view(tenant, run), (v) => v.state, (v) => ({ facts: judge(v, { id: (kind) => `${kind}-${uuidv7()}`, digest: digestOf }), requires: v.standing }));
  if (done.kind === 'refused') throw new Error(`the store refused the judgement: ${done.outcome.code}: ${done.outcome.message}`);
};
