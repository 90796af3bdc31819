import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { until } from '../sandbox/until.js';
import { startProxy, type TcpProxy } from './index.js';

/** An echo server that remembers what reached it. */
interface Echo { readonly server: Server; readonly port: number; received(): string; readonly sockets: Set<Socket> }

async function echo(): Promise<Echo> {
  let received = '';
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (bytes) => { received += bytes.toString('latin1'); socket.write(bytes); });
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return { server, port: (server.address() as AddressInfo).port, received: () => received, sockets };
}

class Client {
  got = '';
  fault: string | undefined;
  ended = false;
  constructor(readonly socket: Socket) {
    socket.on('data', (bytes: Buffer) => { this.got += bytes.toString('latin1'); });
    socket.on('error', (error: NodeJS.ErrnoException) => { this.fault = error.code; });
    socket.on('end', () => { this.ended = true; });
  }
  send(text: string): void { this.socket.write(text); }
  async answer(text: string): Promise<void> { await until(() => this.got.endsWith(text), { withinMs: 3_000, what: `the answer ${text}` }); }
}

describe('the TCP proxy', () => {
  let target: Echo;
  let proxy: TcpProxy;
  const clients: Client[] = [];
  const dial = (): Client => {
    const client = new Client(connect({ port: proxy.port, host: '127.0.0.1' }));
    clients.push(client);
    return client;
  };
  beforeEach(async () => {
    target = await echo();
    proxy = await startProxy({ targetHost: '127.0.0.1', targetPort: target.port });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.socket.destroy();
    await proxy.close();
    await proxy.close();
    for (const socket of target.sockets) socket.destroy();
    await new Promise((resolve) => target.server.close(resolve));
  });

  it('passes a megabyte unchanged both ways and passes the end on', async () => {
    const client = dial();
    const text = Array.from({ length: 131_072 }, (_, i) => String(i).padStart(8, '0')).join('');
    client.socket.end(text, 'latin1');
    await until(() => client.ended, { withinMs: 10_000, what: 'the end of the echo' });
    expect(client.got === text).toBe(true);
    await until(() => proxy.counts().connections === 0, { withinMs: 2_000, what: 'the connection to be forgotten' });
    expect(proxy.counts()).toMatchObject({ bytesToTarget: text.length, bytesToClient: text.length, bytesDropped: 0 });
  });

  it('cut resets what is connected and what connects, until restored', async () => {
    const client = dial();
    client.send('one');
    await client.answer('one');
    proxy.cut();
    await until(() => client.fault === 'ECONNRESET', { withinMs: 2_000, what: 'the reset' });
    await until(() => target.sockets.size === 0, { withinMs: 2_000, what: 'the target to see the reset' });
    const during = dial();
    await until(() => during.fault === 'ECONNRESET', { withinMs: 2_000, what: 'the reset of a new connection' });
    proxy.restore();
    const after = dial();
    after.send('two');
    await after.answer('two');
  });

  it('dropReplies lets the request arrive and loses the answer; lifting it resets that connection alone', async () => {
    const [victim, bystander] = [dial(), dial()];
    bystander.send('b');
    await bystander.answer('b');
    proxy.dropReplies(true);
    victim.send('pay');
    await until(() => proxy.counts().bytesDropped === 3, { withinMs: 2_000, what: 'the answer to be dropped' });
    expect(target.received()).toBe('bpay');
    expect(victim.got).toBe('');
    proxy.dropReplies(false);
    await until(() => victim.fault === 'ECONNRESET', { withinMs: 2_000, what: 'the reset' });
    bystander.send('c');
    await bystander.answer('bc');
  });

  it('delay holds each way and keeps order', async () => {
    const client = dial();
    client.send('0');
    await client.answer('0');
    proxy.delayMs(60);
    const startedMs = performance.now();
    client.send('1');
    client.send('2');
    await client.answer('12');
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(118);
    proxy.delayMs(0);
    client.send('3');
    await client.answer('0123');
  });

  it.each([['toTarget'], ['toClient']] as const)('resetAfterBytes passes exactly so many bytes %s, then resets, once', async (direction) => {
    const client = dial();
    client.send('ab');
    await client.answer('ab');
    proxy.resetAfterBytes(3, direction);
    client.send('cdefg');
    await until(() => client.fault === 'ECONNRESET', { withinMs: 2_000, what: 'the reset' });
    if (direction === 'toTarget') await until(() => target.received() === 'abcde', { withinMs: 2_000, what: 'three more bytes at the target' });
    else expect(proxy.counts().bytesToClient).toBe(5);
    const next = dial();
    next.send('hijklm');
    await next.answer('hijklm');
  });

  it('half open passes nothing, not even the end, and delivers all of it when lifted', async () => {
    const client = dial();
    client.send('a');
    await client.answer('a');
    proxy.halfOpen(true);
    client.send('b');
    const late = dial();
    late.send('c');
    for (const socket of target.sockets) socket.end();
    await new Promise((resolve) => { setTimeout(resolve, 100); }); // nothing may happen, so there is no condition to wait for
    expect([target.received(), client.got, client.ended, client.fault, late.got]).toEqual(['a', 'a', false, undefined, '']);
    proxy.halfOpen(false);
    await late.answer('c');
    await until(() => client.ended, { withinMs: 2_000, what: 'the held end' });
  });

  it('half open hides a reset of one side from the other', async () => {
    const client = dial();
    client.send('a');
    await client.answer('a');
    proxy.halfOpen(true);
    for (const socket of target.sockets) socket.resetAndDestroy();
    await until(() => target.sockets.size === 0, { withinMs: 2_000, what: 'the target to be gone' });
    expect(client.fault).toBeUndefined();
    client.send('b');
    proxy.halfOpen(false);
    await until(() => client.fault === 'ECONNRESET', { withinMs: 2_000, what: 'the held reset' });
  });
});
