// A TCP proxy on loopback that misbehaves on demand, between a client and a real server.
//
// 1. Without a fault it changes nothing: every byte arrives once, in order; end and reset are passed on.
// 2. Faults act on connections that exist and on new ones alike, from the moment of the call.
// 3. Bytes that were swallowed are never made up for: a connection that lost some is reset when the fault is lifted.

import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { ProxiedConnection, type Direction, type ProxyFaults } from './proxied-connection.js';

export interface ProxyCounts { readonly connections: number; readonly bytesToTarget: number; readonly bytesToClient: number; readonly bytesDropped: number }

export interface TcpProxy {
  readonly port: number;
  /** Open connections now; bytes passed on, and reply bytes swallowed, since the start. */
  counts(): ProxyCounts;
  /** Resets every connection, and each new one as soon as it is made, until restore(). */
  cut(): void;
  /** Lifts every fault. */
  restore(): void;
  /** Swallows what the target answers; requests still arrive: applied, answer lost. Lifting it resets the connections that lost bytes. */
  dropReplies(on: boolean): void;
  /** Holds each chunk for so long in each direction; order is kept. 0 lifts it. */
  delayMs(ms: number): void;
  /** Passes exactly so many more bytes in the direction (by default requests), then resets the connection that carried the last one. Acts once. */
  resetAfterBytes(bytes: number, direction?: Direction): void;
  /** Nothing passes either way, not even the end of a connection, as with a pulled cable; lifting it delivers what was held. */
  halfOpen(on: boolean): void;
  /** Resets everything and stops listening. A repeat does nothing. */
  close(): Promise<void>;
}

export async function startProxy(target: { readonly targetHost: string; readonly targetPort: number }): Promise<TcpProxy> {
  const faults: ProxyFaults = { cut: false, dropReplies: false, halfOpen: false, delayMs: 0, resetAfter: undefined };
  const counts = { bytesToTarget: 0, bytesToClient: 0, bytesDropped: 0 };
  const open = new Set<ProxiedConnection>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client: Socket) => {
    if (faults.cut) {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const connection = new ProxiedConnection(client, target, faults, counts, () => open.delete(connection));
    open.add(connection);
  });
  await listen(server);
  const each = (act: (connection: ProxiedConnection) => void): void => { for (const connection of open) act(connection); };
  const setHalfOpen = (on: boolean): void => {
    faults.halfOpen = on;
    each((connection) => (on ? connection.hold() : connection.release()));
  };
  const setDropReplies = (on: boolean): void => {
    faults.dropReplies = on;
    if (!on) each((connection) => { if (connection.lostBytes) connection.reset(); });
  };
  let closing: Promise<void> | undefined;
  return {
    port: (server.address() as AddressInfo).port,
    counts: () => ({ connections: open.size, ...counts }),
    cut: () => {
      faults.cut = true;
      each((connection) => connection.reset());
    },
    restore: () => {
      faults.cut = false;
      faults.delayMs = 0;
      faults.resetAfter = undefined;
      setDropReplies(false);
      setHalfOpen(false);
    },
    dropReplies: setDropReplies,
    delayMs: (ms) => { faults.delayMs = ms; },
    resetAfterBytes: (bytes, direction = 'toTarget') => { faults.resetAfter = { direction, bytesLeft: bytes }; },
    halfOpen: setHalfOpen,
    close: () => {
      closing ??= new Promise((resolve) => {
        server.close(() => resolve());
        each((connection) => connection.reset());
      });
      return closing;
    },
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve());
  });
}
