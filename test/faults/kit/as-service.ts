/** Speaks to the store as one of the services, with that service's own password: what a woken or wicked process could try. */
import { randomUUID } from 'node:crypto';
import { connectBus } from '@n17q/bus';
import type { AppendOutcome } from '@n17q/contracts';
import { fact, runStream, type RunId, type ServiceName } from '@n17q/domain';
import { BusStore } from '@n17q/event-log';
import { until, type Stack } from '@n17q/testing';
import { LEASE_MS, ofType } from './scene.js';

async function withStore<T>(stack: Stack, service: ServiceName, use: (store: BusStore) => Promise<T>): Promise<T> {
  const bus = await connectBus({ service, url: stack.site.natsUrl, password: stack.site.busPasswords[service] });
  try { return await use(new BusStore(bus, service)); } finally { await bus.close(1_000); }
}

/** Tries to start an attempt under the run's last permit, as the reconciler would; gives the store's word. */
export const startUnderLastPermit = (stack: Stack, run: RunId): Promise<AppendOutcome> => withStore(stack, 'effect-reconciler', async (store) => {
  const permit = ofType(await stack.events(run), 'effect.permitted').at(-1)?.data;
  if (permit === undefined) throw new Error('no permit was given in this run');
  return until(async () => { // the sealer may be faster
    const { head } = await store.loadRun(stack.tenant, runStream(run));
    const attempt = fact('effect.attempt-started', { effect: permit.effect, attempt: randomUUID(), attemptNumber: permit.attemptNumber, owner: 'a test', permit: permit.permit, leaseMs: LEASE_MS, dispatchBy: Date.now() + LEASE_MS });
    const outcome = await store.append({ tenant: stack.tenant, stream: runStream(run), expected: head.revision, appendId: randomUUID(), actor: { kind: 'service', id: 'effect-reconciler' }, correlation: run, causation: null, events: [{ ...attempt, eventId: randomUUID() }], contents: [] });
    const unsealed = outcome.kind === 'refused' && (outcome.facts as { why?: string } | null)?.why === 'a boundary is unsealed';
    return outcome.kind === 'conflict' || outcome.kind === 'busy' || unsealed ? undefined : outcome;
  }, { withinMs: 10_000, what: 'a free moment of the run' });
});
