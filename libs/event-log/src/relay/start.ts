/** The relay of a store process: on the real bus, woken by its own commits and by the bus coming back. */
import { fromEnd, lastMessage, publishWindow, type Bus } from '@n17q/bus';
import type { PositionedEvent } from '../store-port.js';
import type { RelayAlarm } from './audit.js';
import type { RelayLedger } from './ledger.js';
import { Relay, type RelayBus, type RelayOptions } from './relay.js';

export const relayBus = (bus: Bus, timeoutMs = 5000): RelayBus => ({
  publishWindow: (messages) => publishWindow(bus, messages, timeoutMs),
  lastMessage: () => lastMessage(bus),
  fromEnd: () => fromEnd(bus),
});

export interface StartRelayOptions extends Omit<RelayOptions, 'bus' | 'store' | 'onAlarm'> {
  readonly bus: Bus;
  readonly store: RelayOptions['store'] & { onCommit(tell: (events: readonly PositionedEvent[]) => void): () => void };
  readonly ledger: RelayLedger;
  readonly onAlarm: (alarm: RelayAlarm) => void;
}

/** Starts at once. Stop it before the bus and the store are closed; the ledger stays the caller's to close. */
export function startRelay(options: StartRelayOptions): { readonly relay: Relay; stop(): Promise<void> } {
  const relay = new Relay({ ...options, bus: relayBus(options.bus) });
  const unhook = [options.store.onCommit((events) => relay.committed(events)), options.bus.onStatus((s) => { if (s.state === 'connected') relay.reconnected(); })];
  relay.start();
  return {
    relay,
    stop: async () => {
      for (const stop of unhook) stop();
      await relay.stop();
    },
  };
}
