/** The event store: Postgres behind the guard, answering on the bus, and the relay that tells the bus what was committed. Rows: SVC-1, RUN-1, RUN-4. */
import { randomUUID } from 'node:crypto';
import { connectBus, serve } from '@n17q/bus';
import { GuardedStore, PostgresEventStore, PostgresRelayLedger, startRelay } from '@n17q/event-log';
import { busUser, numberSetting, optionalSetting, serviceLogger, setting, type Running, type ServiceStart } from '@n17q/reactor';
import { storeEndpoints } from './serve-store.js';

export const start: ServiceStart = async (settings): Promise<Running> => {
  const logger = serviceLogger('event-store', optionalSetting(settings, 'N17Q_LOG_LEVEL') ?? 'info');
  const url = setting(settings, 'N17Q_DATABASE_URL', 'the database, in the role of the store');
  const store = await PostgresEventStore.open({ url });
  const bus = await connectBus({
    service: 'event-store', ...busUser(settings), url: setting(settings, 'N17Q_NATS_URL', 'where the bus is'), password: setting(settings, 'N17Q_NATS_PASSWORD', 'the bus password of event-store'),
    onNotice: (n) => logger.warn({ notice: n.kind, detail: n.detail }, 'bus'),
  });
  const guarded = new GuardedStore(store, { clock: store.clock });
  const serving = await serve(bus, { name: 'event-store', version: '0.1.0', endpoints: storeEndpoints(guarded, store) });
  const ledger = new PostgresRelayLedger(url);
  const relay = startRelay({
    bus, store, ledger, owner: `event-store-${randomUUID()}`, leaseMs: numberSetting(settings, 'N17Q_RELAY_LEASE_MS', 5_000, 500, 600_000),
    onAlarm: (alarm) => logger.error({ alarm }, 'the bus and the store disagree'),
    onTrouble: (what, e) => logger.warn({ what, message: e instanceof Error ? e.message : String(e) }, 'relay'),
  });
  let stopped: Promise<void> | undefined;
  return {
    lost: Promise.race([bus.closed, serving.stopped]),
    stop: () => (stopped ??= (async () => { await serving.close(); await relay.stop(); await ledger.close(); await bus.close(); await store.close(); })()),
  };
};
