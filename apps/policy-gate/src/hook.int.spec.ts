/** The tenant's hook over real HTTP: whatever it does but answer is a refusal. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyRun, type DecisionView, type Effect, type PolicyHook } from '@n17q/domain';
import { askHook } from './hook.js';

let server: Server;
let respond: (q: IncomingMessage, r: ServerResponse) => void;
let asked: { readonly headers: IncomingMessage['headers']; readonly body: string }[];
let credentials: string;
const json = (v: unknown, status = 200) => (_q: IncomingMessage, r: ServerResponse): void => { r.writeHead(status, { 'content-type': 'application/json' }); r.end(typeof v === 'string' ? v : JSON.stringify(v)); };

beforeAll(async () => {
  server = createServer((q, r) => {
    const parts: Buffer[] = [];
    q.on('data', (b: Buffer) => parts.push(b));
    q.on('end', () => { asked.push({ headers: q.headers, body: Buffer.concat(parts).toString('utf8') }); respond(q, r); });
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  credentials = mkdtempSync(join(tmpdir(), 'n17q-hook-'));
  writeFileSync(join(credentials, 'approver'), 'the-token\n', { mode: 0o600 });
});
afterAll(async () => { server.closeAllConnections(); await new Promise((resolve) => { server.close(resolve); }); rmSync(credentials, { recursive: true, force: true }); });
beforeEach(() => { asked = []; respond = json({ answer: 'allow' }); });

const hook = (change: Partial<PolicyHook> = {}): PolicyHook => ({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/judge`, timeoutMs: 500, withArguments: false, ...change });
const view = { state: emptyRun('acme', 'r1'), tenant: { policy: { revision: 7 } } } as unknown as DecisionView;
const effect = { effect: 'e1', subject: 's', tool: 'pay', mapping: { server: 'bank' }, scope: { target: 'bank' }, contract: { kind: 'keyed' }, dataClass: 'internal', attempts: [], amounts: { usd_micros: 1, tokens: 0, calls: 1 } } as unknown as Effect;
const ask = (h = hook(), args: Parameters<ReturnType<typeof askHook>>[3] = null, dir: string | null = credentials) => askHook(dir)(h, view, effect, args);

describe('the tenant\'s hook', () => {
  it.each(['allow', 'ask', 'deny'] as const)('[POL-2] is heard when it answers %s, with its reason', async (answer) => {
    respond = json({ answer, reason: 'so it is' });
    expect(await ask()).toEqual({ answer, reason: 'so it is' });
  });
  it('[POL-2] is told what is judged, and the arguments only where the policy says so', async () => {
    await ask();
    expect(JSON.parse(asked[0]?.body ?? '{}')).toMatchObject({ tenant: 'acme', run: 'r1', policyRevision: 7, effect: 'e1', tool: 'pay', server: 'bank', target: 'bank', contract: 'keyed', attempts: 0 });
    expect(asked[0]?.body).not.toContain('args');
    await ask(hook({ withArguments: true }), { amount: 5 });
    expect(JSON.parse(asked[1]?.body ?? '{}')).toMatchObject({ args: { amount: 5 } });
  });
  it.each<[string, (q: IncomingMessage, r: ServerResponse) => void]>([
    ['answers with an error', json({ answer: 'allow' }, 500)], ['redirects', (_q, r) => { r.writeHead(302, { location: '/elsewhere' }); r.end(); }], ['answers with no JSON', json('yes')], ['answers with another word', json({ answer: 'certainly' })], ['answers nothing', json('')],
    ['is slow', () => undefined], ['cuts its answer', (_q, r) => { r.writeHead(200, { 'content-length': '100' }); r.write('{"answer":"allow"'); setImmediate(() => r.destroy()); }], ['answers without end', (_q, r) => { r.writeHead(200); r.write('x'.repeat(40_000)); }],
    ['gives a reason without end', json({ answer: 'allow', reason: 'y'.repeat(1001) })],
  ])('[POL-4] refuses when it %s', async (_what, how) => {
    respond = how;
    expect(await ask()).toEqual({ answer: 'deny', reason: expect.stringContaining('it gave no answer') });
    expect(asked).toHaveLength(1); // asked once, never again behind the gate's back
  });
  it('[POL-4] refuses when nobody listens', async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => { gone.listen(0, '127.0.0.1', resolve); });
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => { gone.close(resolve); });
    expect(await ask(hook({ url: `http://127.0.0.1:${port}/` }))).toMatchObject({ answer: 'deny' });
  });
  it('[POL-4] is given the credential that the policy names, and is not asked without it', async () => {
    await ask(hook({ credential: 'approver' }));
    expect(asked[0]?.headers.authorization).toBe('Bearer the-token');
    for (const [name, dir] of [['missing', credentials], ['../approver', credentials], ['approver', null]] as const) expect(await ask(hook({ credential: name }), null, dir)).toEqual({ answer: 'deny', reason: expect.stringContaining('CREDENTIAL_UNAVAILABLE') });
    expect(asked).toHaveLength(1);
  });
});
