import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import * as net from 'node:net';
import { httpOnce } from './http-once.js';

/** A peer made of raw sockets: what it does to each connection is the test's, what it saw is kept. */
interface Peer { readonly url: string; readonly port: number; bytes: number; text: string; connections: number; closed: Promise<void> }
const servers: net.Server[] = [];
const sockets = new Set<net.Socket>();

async function peer(onData: (socket: net.Socket, peer: Peer) => void): Promise<Peer> {
  let closed!: () => void;
  const server = net.createServer((socket) => {
    sockets.add(socket);
    p.connections += 1;
    socket.on('error', () => { /* a reset is what several of these tests are about */ });
    socket.on('data', (d: Buffer) => { p.bytes += d.length; p.text += d.toString('latin1'); onData(socket, p); });
    socket.on('close', () => { sockets.delete(socket); closed(); });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const p: Peer = { url: `http://127.0.0.1:${port}/path?q=1`, port, bytes: 0, text: '', connections: 0, closed: new Promise((r) => { closed = r; }) };
  return p;
}

afterEach(async () => {
  for (const s of sockets) s.destroy();
  await Promise.all(servers.splice(0).map((s) => new Promise((r) => s.close(r))));
});

const answer = (body: string, extra = ''): string => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n${extra}\r\n${body}`;

describe('httpOnce', () => {
  it('[EFF-3] answers with status, headers and body of a complete response, and puts the request on the wire once', async () => {
    const p = await peer((s) => s.end(answer('hello', 'x-kind: t\r\n')));
    const out = await httpOnce({ method: 'POST', url: p.url, headers: { 'x-a': 'b' }, body: 'ping' });
    expect(out).toMatchObject({ kind: 'answered', status: 200 });
    if (out.kind !== 'answered') throw new Error('unreachable');
    expect(out.body.toString()).toBe('hello');
    expect(out.headers['x-kind']).toBe('t');
    expect(p.connections).toBe(1);
    expect(p.text.match(/POST \/path\?q=1 HTTP\/1\.1/g)).toHaveLength(1);
    expect(p.text).toContain('content-length: 4\r\n');
    expect(p.text.endsWith('\r\n\r\nping')).toBe(true);
  });

  it('[EFF-3] answers for a refusal of the peer too: a 500 is an answer, never a failure to send', async () => {
    const p = await peer((s) => s.end('HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n'));
    expect(await httpOnce({ method: 'GET', url: p.url })).toMatchObject({ kind: 'answered', status: 500 });
  });

  it('[EFF-3] says not-sent when the connection is refused', async () => {
    const p = await peer(() => undefined);
    await new Promise((r) => servers.pop()?.close(r));
    expect(await httpOnce({ method: 'POST', url: `http://127.0.0.1:${p.port}/`, body: 'x' })).toEqual({ kind: 'not-sent', cause: 'ECONNREFUSED' });
  });

  it.each([['authorization', 'Bearer one\ntwo'], ['authorization', 'Bearer ключ'], ['x a', 'b']])('[EFF-3] [POL-4] says not-sent, and throws nowhere, for a header that cannot be written: %s', async (name, value) => {
    const p = await peer(() => undefined);
    expect(await httpOnce({ method: 'POST', url: p.url, headers: { [name]: value }, body: 'x' })).toEqual({ kind: 'not-sent', cause: 'REQUEST_UNUSABLE' });
    expect(p.bytes).toBe(0);
  });

  it('[EFF-2] says not-sent and writes no byte when the last check before the first byte says stop', async () => {
    const p = await peer(() => undefined);
    let asked = 0;
    const out = await httpOnce({ method: 'POST', url: p.url, body: 'x', beforeFirstByte: () => { asked += 1; return false; } });
    expect(out).toEqual({ kind: 'not-sent', cause: 'STOPPED_BEFORE_FIRST_BYTE' });
    expect(asked).toBe(1);
    await p.closed; // only now is it certain that nothing is still under way
    expect(p.connections).toBe(1);
    expect(p.bytes).toBe(0);
  });

  it('[EFF-2] asks that check once, when the peer has not seen a byte yet', async () => {
    const p = await peer((s) => s.end(answer('')));
    const seen: number[] = [];
    const out = await httpOnce({ method: 'GET', url: p.url, beforeFirstByte: () => { seen.push(p.bytes); return true; } });
    expect(out.kind).toBe('answered');
    expect(seen).toEqual([0]);
  });

  it('[EFF-3] says cut when the peer resets after it has read the request', async () => {
    const p = await peer((s) => s.resetAndDestroy());
    const out = await httpOnce({ method: 'POST', url: p.url, body: 'x' });
    expect(out).toMatchObject({ kind: 'cut' });
    expect(p.connections).toBe(1);
  });

  it('[EFF-3] says cut when the peer closes politely without an answer', async () => {
    const p = await peer((s) => s.end());
    expect((await httpOnce({ method: 'POST', url: p.url, body: 'x' })).kind).toBe('cut');
    expect(p.connections).toBe(1);
  });

  it('[EFF-3] says cut, with status and what came, when a declared length is not reached', async () => {
    const p = await peer((s) => s.end('HTTP/1.1 201 Created\r\ncontent-length: 10\r\n\r\nhalf'));
    const out = await httpOnce({ method: 'POST', url: p.url, body: 'x' });
    expect(out).toMatchObject({ kind: 'cut', status: 201 });
    if (out.kind === 'cut') expect(out.partial.toString()).toBe('half');
  });

  it('[EFF-3] says cut when a chunked body lacks its last chunk', async () => {
    const p = await peer((s) => s.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'));
    expect((await httpOnce({ method: 'GET', url: p.url })).kind).toBe('cut');
  });

  it('[EFF-3] says not-sent when it was aborted before it started, and opens no connection', async () => {
    const p = await peer(() => undefined);
    expect(await httpOnce({ method: 'GET', url: p.url, signal: AbortSignal.abort() })).toEqual({ kind: 'not-sent', cause: 'ABORTED' });
    expect(p.connections).toBe(0);
  });

  it('[EFF-3] says not-sent when it is aborted while it connects', async () => {
    const p = await peer((s) => s.end(answer('')));
    const stop = new AbortController();
    const going = httpOnce({ method: 'GET', url: p.url, signal: stop.signal });
    stop.abort();
    expect(await going).toEqual({ kind: 'not-sent', cause: 'ABORTED' });
    expect(p.bytes).toBe(0);
  });

  it('[EFF-3] says cut when it is aborted after the request left', async () => {
    const stop = new AbortController();
    const p = await peer(() => stop.abort());
    expect(await httpOnce({ method: 'GET', url: p.url, signal: stop.signal })).toMatchObject({ kind: 'cut', cause: 'ABORTED' });
    expect(p.bytes).toBeGreaterThan(0);
  });

  it('[EFF-3] says cut when the answer takes longer than its bound', async () => {
    const p = await peer(() => undefined);
    expect(await httpOnce({ method: 'GET', url: p.url, timeoutMs: 100 })).toMatchObject({ kind: 'cut', cause: 'TIMEOUT' });
    expect(p.connections).toBe(1);
  });

  it('[EFF-3] says cut when the answer is larger than its bound, and keeps no more than the bound', async () => {
    const p = await peer((s) => s.end(answer('x'.repeat(100_000))));
    const out = await httpOnce({ method: 'GET', url: p.url, responseBytesMax: 1_000 });
    expect(out).toMatchObject({ kind: 'cut', cause: 'RESPONSE_TOO_LARGE', status: 200 });
    if (out.kind === 'cut') expect(out.partial.length).toBeLessThanOrEqual(1_000);
  });

  it('follows no redirect: it is an answer like any other', async () => {
    const p = await peer((s) => s.end('HTTP/1.1 307 Elsewhere\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n'));
    expect(await httpOnce({ method: 'POST', url: p.url, body: 'x' })).toMatchObject({ kind: 'answered', status: 307 });
    expect(p.connections).toBe(1);
  });

  it('throws for an address that is neither http nor https', () => {
    expect(() => httpOnce({ method: 'GET', url: 'file:///etc/hosts' })).toThrow(TypeError);
  });
});
