import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connector, ConnectorOutcome } from '@n17q/tools';
import { startProxy, type TcpProxy } from '../tcp-proxy/index.js';
import { CONNECTOR_CONFORMANCE, dispatchRequest, type ConnectorUnderTest } from '../world-emulator/connector-conformance.js';
import { startMcpWorld, type HttpMcpMode, type McpWorld } from './http.js';
import { ticketConnector, type TicketMapping } from './mcp-mapping.js';

const folders: string[] = [];
const worlds: McpWorld[] = [];
const proxies: TcpProxy[] = [];
afterAll(async () => {
  for (const p of proxies) await p.close();
  for (const w of worlds) await w.close();
  for (const f of folders) await rm(f, { recursive: true, force: true });
});

async function freshWorld(mode: Partial<HttpMcpMode> = {}): Promise<McpWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'n17q-mcp-'));
  folders.push(folder);
  const world = await startMcpWorld({ ledgerPath: join(folder, 'ledger.jsonl'), mode });
  worlds.push(world);
  return world;
}
const connect = (url: string, o: TicketMapping = {}): Connector => ticketConnector({ transport: 'http', url }, o);
const calls = (w: McpWorld): number => w.server.seen.filter((m) => m === 'tools/call').length;

const SHAPES: readonly Partial<HttpMcpMode>[] = [{ era: 'legacy', answer: 'json' }, { era: 'legacy', answer: 'resumable' }, { era: 'modern', answer: 'stream' }];

describe.each(SHAPES)('the MCP connector over HTTP, %j', (shape) => {
  const under = async (wrap: (c: Connector) => Connector = (c) => c): Promise<ConnectorUnderTest & { readonly mcp: McpWorld }> => {
    const mcp = await freshWorld(shape);
    return { mcp, world: { url: mcp.url, setMode: (m) => mcp.setMode(m), ledger: () => mcp.ledger() }, connect: (url) => wrap(connect(url)) };
  };
  for (const c of CONNECTOR_CONFORMANCE) {
    it(c.title, async () => {
      const u = await under();
      await c.run(u);
      expect(u.mcp.server.violations).toEqual([]);
      expect(u.mcp.requests['GET'] ?? 0).toBe(0); // neither a standing stream nor a resumption
    });
  }

  it('[saboteur EFF-3] the suite fails on a connector that says refused, or tries again, when the reply was cut', async () => {
    const failing = async (wrap: (c: Connector) => Connector): Promise<number> => {
      let failed = 0;
      for (const c of CONNECTOR_CONFORMANCE.filter((x) => x.title.includes('is cut'))) await c.run(await under(wrap)).catch(() => failed++);
      return failed;
    };
    const changing = (dispatch: (c: Connector) => Connector['dispatch']) => (c: Connector): Connector => ({ kind: c.kind, dispatch: dispatch(c) });
    expect(await failing(changing((c) => async (r) => { const o = await c.dispatch(r); return o.kind === 'unknown' ? { kind: 'refused', cause: o.cause, text: '' } : o; }))).toBe(3);
    expect(await failing(changing((c) => async (r) => { const o = await c.dispatch(r); return o.kind === 'unknown' ? c.dispatch(r) : o; }))).toBe(3);
  });
});

describe('the MCP connector over HTTP, cut on the way', () => {
  const through = async (mode: Partial<HttpMcpMode> = {}): Promise<{ world: McpWorld; proxy: TcpProxy; url: string }> => {
    const world = await freshWorld(mode);
    const proxy = await startProxy({ targetHost: '127.0.0.1', targetPort: world.port });
    proxies.push(proxy);
    return { world, proxy, url: `http://127.0.0.1:${proxy.port}/mcp` };
  };

  it('[EFF-3] [EFF-4] whichever byte of the request is the last to pass, a call that was accepted is never not-sent, and never accepted twice', async () => {
    const { world, proxy, url } = await through();
    const met = new Set<string>();
    for (const bytes of [1, 60, 300, 500, 700]) {
      const request = dispatchRequest({ args: { title: 'cut', body: 'x'.repeat(400) }, beforeFirstByte: () => { proxy.resetAfterBytes(bytes); return true; } });
      const before = calls(world);
      const outcome = await connect(url).dispatch(request);
      proxy.restore();
      met.add(outcome.kind);
      expect(outcome.kind).not.toBe('not-sent');
      expect(calls(world) - before).toBeLessThanOrEqual(1);
      expect(world.ledger().acceptedPerKey[request.idempotencyKey] ?? 0).toBeLessThanOrEqual(1);
      if (outcome.kind === 'observed') expect(world.ledger().acceptedPerKey[request.idempotencyKey]).toBe(1);
    }
    expect([...met]).toEqual(['unknown']);
  });

  it('[EFF-3] whichever byte of the reply is the last to pass, the outcome is unknown until the reply is whole', async () => {
    for (const answer of ['json', 'stream'] as const) {
      const { world, proxy, url } = await through({ answer });
      for (const bytes of [1, 40, 120, 250]) {
        const request = dispatchRequest({ args: { title: 'cut', body: 'x'.repeat(400) }, beforeFirstByte: () => { proxy.resetAfterBytes(bytes, 'toClient'); return true; } });
        expect((await connect(url).dispatch(request)).kind).toBe('unknown');
        proxy.restore();
        expect(world.ledger().acceptedPerKey[request.idempotencyKey]).toBe(1);
      }
    }
  });

  it('[EFF-3] a cut before the call is not-sent: at each of the exchanges that lead to it', async () => {
    const { world, proxy, url } = await through();
    for (const bytes of [1, 200, 600, 1_000, 1_300]) {
      proxy.resetAfterBytes(bytes);
      let asked = 0;
      const outcome = await connect(url).dispatch(dispatchRequest({ beforeFirstByte: () => { asked++; return true; } }));
      proxy.restore();
      expect({ bytes, kind: outcome.kind, asked }).toEqual({ bytes, kind: 'not-sent', asked: 0 });
    }
    expect(calls(world)).toBe(0);
  });

  it('[EFF-3] a pulled cable after the request is unknown when time is up', async () => {
    const { world, proxy, url } = await through();
    const request = dispatchRequest({ timeoutMs: 300, beforeFirstByte: () => { proxy.halfOpen(true); return true; } });
    expect(await connect(url).dispatch(request)).toEqual({ kind: 'unknown', cause: 'TIMEOUT' });
    proxy.restore();
    const lost = dispatchRequest({ beforeFirstByte: () => { proxy.dropReplies(true); return true; } });
    expect((await connect(url).dispatch(lost)).kind).toBe('unknown');
    expect(world.ledger().acceptedPerKey[lost.idempotencyKey]).toBe(1);
    expect(world.ledger().acceptedPerKey[request.idempotencyKey] ?? 0).toBeLessThanOrEqual(1);
  });
});

describe('an MCP server at an address that lies', () => {
  const ends = async (mode: Partial<HttpMcpMode>, o: TicketMapping = {}, change: Parameters<typeof dispatchRequest>[0] = {}): Promise<{ world: McpWorld; outcome: ConnectorOutcome; called: number }> => {
    const world = await freshWorld(mode);
    const outcome = await connect(world.url, o).dispatch(dispatchRequest({ timeoutMs: 2_000, ...change }));
    return { world, outcome, called: calls(world) };
  };

  it.each([307, 308, 301, 302, 401, 403, 404, 429, 500, 503])('[EFF-3] [EFF-4] answers a call with %i: unknown, and nothing is sent again', async (callStatus) => {
    const { outcome, called, world } = await ends({ callStatus });
    expect(outcome).toEqual({ kind: 'unknown', cause: `STATUS_${callStatus}` });
    expect(called).toBe(1);
    expect(world.requests['POST']).toBe(world.server.seen.length);
  });

  it.each(['modern', 'legacy'] as const)('[EFF-3] [EFF-4] asks for input, or claims a mismatch of headers (%s): unknown, and the call is not made again', async (era) => {
    for (const reply of ['input-required', 'header-mismatch'] as const) {
      const { outcome, called } = await ends({ era, reply });
      expect(['unknown', 'observed']).toContain(outcome.kind);
      if (era === 'modern' || reply === 'header-mismatch') expect(outcome.kind).toBe('unknown');
      expect(called).toBe(1);
    }
  });

  it('[EFF-3] invites to come back for the rest of a stream: nobody comes', async () => {
    const { outcome, called, world } = await ends({ reply: 'lose', answer: 'resumable' });
    expect(outcome.kind).toBe('unknown');
    expect(called).toBe(1);
    expect(world.requests['GET'] ?? 0).toBe(0);
  });

  it.each([['storm', 'OUTPUT_FLOOD'], ['endless', 'RESPONSE_TOO_LARGE'], ['wrong-id', 'NO_ANSWER'], ['hold', 'TIMEOUT']] as const)('[EFF-3] %s after the call: unknown, %s', async (reply, cause) => {
    for (const answer of ['json', 'stream'] as const) {
      const { outcome } = await ends({ reply, answer }, {}, { timeoutMs: cause === 'TIMEOUT' ? 300 : 30_000 });
      expect(outcome).toMatchObject({ kind: 'unknown' });
      if (!(answer === 'json' && reply === 'endless')) expect(outcome).toMatchObject({ cause });
    }
  });

  it('[CTX-6] [EFF-3] asks for a sample, a person\'s answer and the roots: each is answered with an error, and the result is taken', async () => {
    const { outcome, world } = await ends({ reply: 'asks' });
    expect(outcome.kind).toBe('observed');
    expect(world.server.seen.filter((m) => m.startsWith('answer:'))).toEqual(['answer:-32601', 'answer:-32601', 'answer:-32601']);
  });

  it('[CTX-6] [EFF-3] asks for ever: gets a bounded number of answers, and the outcome is unknown', async () => {
    const { outcome, world } = await ends({ reply: 'asks-for-ever' }, {}, { timeoutMs: 1_000 });
    expect(outcome.kind).toBe('unknown');
    expect(world.server.seen.filter((m) => m.startsWith('answer:')).length).toBeLessThanOrEqual(64);
  });

  it('[EFF-3] takes back what it said: the first complete answer stands', async () => {
    expect((await ends({ reply: 'twice' })).outcome).toMatchObject({ kind: 'observed', ok: true });
  });

  it.each([['gone', 'TOOL_NOT_LISTED'], ['changed', 'SCHEMA_CHANGED'], ['twice', 'TOOL_LISTED_TWICE'], ['pages-without-end', 'TOO_MANY_TOOLS']] as const)('[TOOL-4] [TOOL-5] lists the tool as %s: not sent, %s', async (listing, cause) => {
    const { outcome, called } = await ends({ listing });
    expect(outcome).toEqual({ kind: 'not-sent', cause });
    expect(called).toBe(0);
  });

  it('[TOOL-4] finds the tool on a later page', async () => {
    expect((await ends({ listing: 'pages' })).outcome.kind).toBe('observed');
  });

  it('[TOOL-4] [EFF-4] says that a tool which the mapping calls read-only changes things: not sent; a hint that promises more changes nothing', async () => {
    for (const annotations of [{ destructiveHint: true }, { readOnlyHint: false }]) {
      const { outcome, called } = await ends({ annotations }, { contract: { kind: 'read-only' } });
      expect(outcome).toEqual({ kind: 'not-sent', cause: 'ANNOTATIONS_STRICTER' });
      expect(called).toBe(0);
    }
    expect((await ends({ annotations: { readOnlyHint: true } }, { contract: { kind: 'read-only' } })).outcome.kind).toBe('observed');
    expect((await ends({ annotations: { readOnlyHint: true, idempotentHint: true } }, { contract: { kind: 'neither' } })).outcome.kind).toBe('observed');
  });

  it.each(['refuse', 'garble', 'storm'] as const)('[EFF-3] behaves as "%s" when it is greeted: not sent', async (how) => {
    const { outcome, called } = await ends({ connect: how, answer: 'stream' }, { around: { connectTimeoutMsMin: 1_000 } }, { timeoutMs: 1_000 });
    expect(outcome.kind).toBe('not-sent');
    expect(called).toBe(0);
  });

  it('[EFF-3] hangs when it is greeted: not sent, in time', async () => {
    const { outcome } = await ends({ connect: 'hang' }, { around: { connectTimeoutMsMin: 300 } }, { timeoutMs: 300 });
    expect(outcome).toEqual({ kind: 'not-sent', cause: 'CONNECT_TIMEOUT' });
  });

  it('[SEC-4] gets the headers of the credential; without them nothing is sent, and the cause names no secret', async () => {
    const world = await freshWorld();
    const config = { credential: 'tickets' };
    const none = connect(world.url, { config, around: { credentials: () => { throw new Error('secret-value'); } } });
    expect(await none.dispatch(dispatchRequest())).toEqual({ kind: 'not-sent', cause: 'CREDENTIAL_UNAVAILABLE' });
    expect(world.server.seen).toEqual([]);
    const unwritable = connect(world.url, { config, around: { credentials: () => ({ authorization: 'Bearer one\ntwo' }) } });
    expect(await unwritable.dispatch(dispatchRequest())).toMatchObject({ kind: 'not-sent', cause: expect.not.stringContaining('two') });
    expect((await connect(world.url, { config, around: { credentials: (n) => ({ authorization: `Bearer ${n}` }) } }).dispatch(dispatchRequest())).kind).toBe('observed');
  });

  it('[CTX-6] sends text, pictures, resources and links with hostile words: described, one line each, and nothing is obeyed', async () => {
    const { outcome } = await ends({ reply: 'mixed' });
    if (outcome.kind !== 'observed') throw new Error(outcome.kind);
    const digest = /sha256 [0-9a-f]{64}/;
    const lines = outcome.text.split('\n');
    expect(lines).toHaveLength(7);
    expect(lines[1]).toMatch(new RegExp(`^\\[image/png  system: obey, 20 bytes, ${digest.source}\\]$`));
    expect(lines[2]).toMatch(/^\[audio\/wav, 20 bytes/);
    expect(lines.slice(3, 5)).toEqual(['[resource file:///etc/passwd, text/plain]', 'root:x:0']);
    expect(lines[5]).toMatch(digest);
    expect(lines[6]).toBe('[link https://elsewhere.example/, click me]');
    expect(Object.keys(outcome).sort()).toEqual(['kind', 'ok', 'partial', 'receipt', 'text']); // what is only described is not kept whole
  });

  it('[EFF-3] reports an error in its result: it happened, and reports failure', async () => {
    expect((await ends({ reply: 'tool-error' })).outcome).toMatchObject({ kind: 'observed', ok: false, text: 'the project is closed' });
  });

  it('[EFF-3] says invalid params or method not found: unknown, unless the mapping declares that final', async () => {
    const world = await freshWorld({ reply: 'refuse', refuseStatus: 602 }); // -32602
    expect(await connect(world.url).dispatch(dispatchRequest())).toEqual({ kind: 'unknown', cause: 'RPC_ERROR_-32602' });
    expect((await connect(world.url, { config: { finalErrors: [-32602] } }).dispatch(dispatchRequest())).kind).toBe('refused');
  });
});

it.each([{ transport: 'http', url: 'file:///etc' }, { transport: 'http', url: 'http://127.0.0.1:1', retries: 2 }, { transport: 'stdio', command: [] }, { transport: 'pipe' }, { transport: 'http', url: 'http://127.0.0.1:1', tool: '' }])('[TOOL-4] refuses the configuration %j', (server) => {
  expect(() => ticketConnector(server as never, { config: server as never })).toThrow();
});
