import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { N17qClient, N17qGap, N17qProblem, N17qUnreachable } from './index.js';

let server: Server | undefined;
afterEach(async () => { server?.closeAllConnections(); await new Promise((r) => (server === undefined ? r(undefined) : server.close(r))); server = undefined; });

interface Asked { readonly path: string; readonly method: string; readonly lastEventId: string | undefined; readonly key: string | undefined; readonly authorization: string | undefined }
/** A real HTTP server whose n-th answer the test writes. */
async function serverThat(answer: (res: ServerResponse, n: number, asked: Asked) => void): Promise<{ client: N17qClient; asked: Asked[] }> {
  const asked: Asked[] = [];
  server = createServer((req, res) => {
    const a: Asked = { path: req.url ?? '', method: req.method ?? '', lastEventId: req.headers['last-event-id'] as string | undefined, key: req.headers['idempotency-key'] as string | undefined, authorization: req.headers.authorization };
    req.resume().on('end', () => { asked.push(a); answer(res, asked.length, a); });
  });
  await new Promise<void>((r) => server?.listen(0, '127.0.0.1', r));
  return { client: new N17qClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, token: 'a-token', timeoutMs: 5_000 }), asked };
}
const sse = (...revisions: number[]): string => revisions.map((revision) => `id: ${revision}\nevent: run-event\ndata: ${JSON.stringify({ revision, type: 'plan.changed' })}\n\n`).join('');
const begin = (res: ServerResponse): void => { res.writeHead(200, { 'content-type': 'text/event-stream' }); };
async function take(client: N17qClient, n: number, after = 0): Promise<number[]> {
  const seen: number[] = [];
  for await (const e of client.events('r', { after, patienceMs: 2_000 })) { seen.push(e.revision); if (seen.length === n) break; }
  return seen;
}

describe('events', () => {
  it('[RUN-1] goes on after the last revision when a connection breaks in the middle of an event, and gives each event once', async () => {
    const { client, asked } = await serverThat((res, n) => {
      begin(res);
      if (n === 1) { res.write(sse(1, 2).concat('id: 3\ndata: {"revi')); setTimeout(() => res.destroy(), 20); } else res.write(sse(2, 3, 4));
    });
    expect(await take(client, 4)).toEqual([1, 2, 3, 4]);
    expect(asked.map((a) => a.lastEventId)).toEqual(['0', '2']);
  });

  it('[RUN-1] asks once more at a gap, and names it rather than skip an event', async () => {
    const once = await serverThat((res, n) => { begin(res); res.write(n === 1 ? sse(1, 3) : sse(2, 3)); });
    expect(await take(once.client, 3)).toEqual([1, 2, 3]);
    server?.closeAllConnections(); server?.close();
    const always = await serverThat((res, _n, a) => { begin(res); res.write(a.lastEventId === '0' ? sse(1, 3) : sse(3)); });
    await expect(take(always.client, 3)).rejects.toEqual(new N17qGap('r', 2, 3));
  });

  it('waits out a server that is away, within its patience, but not a refusal', async () => {
    const back = await serverThat((res, n) => { if (n < 3) { res.writeHead(503, { 'content-type': 'application/problem+json' }); res.end(JSON.stringify({ type: 'x', title: 'x', status: 503, code: 'NOT_READY', detail: 'x' })); } else { begin(res); res.write(sse(8)); } });
    expect(await take(back.client, 1, 7)).toEqual([8]);
    server?.closeAllConnections(); server?.close();
    const refused = await serverThat((res) => { res.writeHead(404); res.end(JSON.stringify({ type: 'x', title: 'x', status: 404, code: 'NOT_FOUND', detail: 'no run' })); });
    await expect(take(refused.client, 1)).rejects.toMatchObject({ code: 'NOT_FOUND', status: 404 });
    expect(refused.asked).toHaveLength(1);
  });
});

describe('requests', () => {
  it('gives a problem its code, path and facts', async () => {
    const { client } = await serverThat((res) => { res.writeHead(422, { 'retry-after': '3' }); res.end(JSON.stringify({ type: 'x', title: 'x', status: 422, code: 'CARRIER_FIELD', detail: 'reserved', path: '/evidence/signature', more: 1 })); });
    const e: unknown = await client.submitFinding('r', 'e', { verdict: 'happened', evidence: 'x' }).catch((x: unknown) => x);
    expect(e).toBeInstanceOf(N17qProblem);
    expect(e).toMatchObject({ code: 'CARRIER_FIELD', path: '/evidence/signature', status: 422, retryAfterS: 3, facts: { more: 1 } });
  });

  it('sends a request once, with a key, and says so when no answer came', async () => {
    const { client, asked } = await serverThat((res) => res.destroy());
    await expect(client.addInput('r/../x', 'hello', { key: 'my-own-key' })).rejects.toBeInstanceOf(N17qUnreachable);
    expect(asked).toEqual([{ path: '/v1/runs/r%2F..%2Fx/inputs', method: 'POST', lastEventId: undefined, key: 'my-own-key', authorization: 'Bearer a-token' }]);
    await expect(client.pause('r', 'x')).rejects.toBeInstanceOf(N17qUnreachable);
    expect(asked[1]?.key).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('[RES-2] has resumeRun and continueProviderResponse as two methods that ask for two things', async () => {
    const { client, asked } = await serverThat((res) => { res.writeHead(202, { 'content-type': 'application/json' }); res.end('{"run":"r","revision":2}'); });
    expect(await client.resumeRun('r', 'x')).toEqual({ run: 'r', revision: 2 });
    await client.continueProviderResponse('r', 'x');
    expect(asked.map((a) => a.path)).toEqual(['/v1/runs/r/resume', '/v1/runs/r/continue-provider-response']);
  });

  it('stops with a name when something else than the API answers', async () => {
    const { client } = await serverThat((res) => { res.writeHead(502); res.end('<html>'); });
    await expect(client.run('r')).rejects.toBeInstanceOf(N17qUnreachable);
  });
});
