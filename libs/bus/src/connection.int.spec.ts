import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { connectBus, exitWhenClosed, type Bus, type BusNotice } from './connection.js';

/** Just enough of the protocol to let a client connect to a server of any version. */
class Greeter {
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  version = '2.10.27';
  port = 0;

  async start(): Promise<void> {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.write(`INFO ${JSON.stringify({ server_id: 'x', version: this.version, proto: 1, headers: true, max_payload: 1_048_576 })}\r\n`);
      socket.on('data', (data) => { if (data.includes('PING\r\n')) socket.write('PONG\r\n'); });
    }).listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
    if (this.#server) await new Promise((resolve) => (this.#server as Server).close(resolve));
    this.#server = undefined;
  }
}

describe('a bus connection', () => {
  const greeter = new Greeter();
  let bus: Bus | undefined;
  afterEach(async () => {
    await bus?.close(200);
    bus = undefined;
    await greeter.stop();
  });
  const connect = (more = {}): Promise<Bus> => connectBus({ service: 'api', url: `nats://127.0.0.1:${greeter.port}`, password: 'a-password-of-this-test', reconnectWaitMs: 20, ...more });

  it('[SVC-1] refuses a server older than 2.10 by name', async () => {
    greeter.version = '2.9.10';
    await greeter.start();
    await expect(connect()).rejects.toMatchObject({ code: 'SERVER_TOO_OLD', message: expect.stringContaining('2.9.10') });
  });

  it('[SVC-4] closes for good, with the cause, when it comes back to a server that is too old; the process is told to end', async () => {
    greeter.version = '2.10.27';
    await greeter.start();
    bus = await connect();
    const exited = new Promise<Error>((resolve) => exitWhenClosed(bus as Bus, resolve));
    await greeter.stop();
    greeter.version = '2.9.10';
    await greeter.start();
    expect(await bus.closed).toMatchObject({ code: 'SERVER_TOO_OLD' });
    expect((await exited).message).toContain('2.9.10');
  });

  it('[SVC-4] does not tell the process to end when it was closed on purpose', async () => {
    greeter.version = '2.15.1';
    await greeter.start();
    bus = await connect();
    let exits = 0;
    exitWhenClosed(bus, () => { exits++; });
    await Promise.all([bus.close(), bus.close()]);
    expect(await bus.closed).toBeUndefined();
    await Promise.resolve();
    expect(exits).toBe(0);
    expect(bus.status().state).toBe('disconnected');
  });

  it('[SVC-1] waits for a server that is not there yet, says so once, and stops waiting when asked to', async () => {
    greeter.version = '2.10.27';
    await greeter.start();
    await greeter.stop();
    const notices: BusNotice[] = [];
    const waiting = connect({ onNotice: (n: BusNotice) => notices.push(n) });
    await greeter.start();
    bus = await waiting;
    expect(notices.filter((n) => n.kind === 'waiting-for-server').length).toBeLessThanOrEqual(1);
    await bus.close(200);
    await greeter.stop();
    const giveUp = new AbortController();
    const abandoned = connect({ signal: giveUp.signal });
    giveUp.abort();
    await expect(abandoned).rejects.toMatchObject({ name: 'AbortError' });
  });
});
