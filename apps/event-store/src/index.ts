/** The event store: Postgres behind the guard, answering on the bus, and the relay that tells the bus what was committed. Rows: SVC-1, RUN-1, RUN-4. */
import { connectBus, serve } from '@n17q/bus';
import { GuardedStore, PostgresEventStore } from '@n17q/event-log';
import { optionalSetting, serviceLogger, setting, type Running, type ServiceStart } from '@n17q/reactor';
import { storeEndpoints } from './serve-store.js';

export const start: ServiceStart = async (settings): Promise<Running> => {
  const logger = serviceLogger('event-store', optionalSetting(settings, 'N17Q_LOG_LEVEL') ?? 'info');
  const store = await PostgresEventStore.open({ url: setting(settings, 'N17Q_DATABASE_URL', 'the database, in the role of the store') });
  const bus = await connectBus({
    service: 'event-store', url: setting(settings, 'N17Q_NATS_URL', 'where the bus is'), password: setting(settings, 'N17Q_NATS_PASSWORD', 'the bus password of event-store'),
    onNotice: (n) => logger.warn({ notice: n.kind, detail: n.detail }, 'bus'),
  });
  const guarded = new GuardedStore(store, { clock: store.clock });
  const serving = await serve(bus, { name: 'event-store', version: '0.1.0', endpoints: storeEndpoints(guarded, store) });
  let stopped: Promise<void> | undefined;
  return {
    lost: Promise.race([bus.closed, serving.stopped]),
    stop: () => (stopped ??= (async () => { await serving.close(); await bus.close(); await store.close(); })()),
  };
};
