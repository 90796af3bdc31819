import { afterAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json } from '@n17q/domain';
import type { Connector, ConnectorOutcome } from '@n17q/tools';
import { until } from '../sandbox/index.js';
import { CONNECTOR_CONFORMANCE, dispatchRequest } from '../world-emulator/connector-conformance.js';
import { Ledger, type LedgerView } from '../world-emulator/ledger.js';
import { TICKET_MAIN, ticketConnector, type TicketMapping } from './mcp-mapping.js';
import type { McpMode } from './ticket-server.js';

const folders: string[] = [];
afterAll(async () => { for (const f of folders) await rm(f, { recursive: true, force: true }); });

interface Seen { readonly pid: number; readonly child: number | null; readonly seen: readonly string[]; readonly violations: readonly string[]; readonly environment: readonly string[] }
interface Place {
  readonly url: string;
  mode: Partial<McpMode>;
  connect(o?: TicketMapping & { readonly stubborn?: boolean; readonly command?: readonly string[]; readonly server?: object }): Connector;
  ledger(): LedgerView;
  seen(): Seen;
}

/** Where one server after the other is started, over the same ledger. */
async function place(mode: Partial<McpMode> = {}): Promise<Place> {
  expect(existsSync(TICKET_MAIN)).toBe(true); // built first
  const folder = await mkdtemp(join(tmpdir(), 'n17q-mcp-'));
  folders.push(folder);
  const [ledger, seen] = [join(folder, 'ledger.jsonl'), join(folder, 'seen.json')];
  const here: Place = {
    url: folder, mode,
    connect: (o = {}) => ticketConnector({
      transport: 'stdio', command: [...(o.command ?? [process.execPath, TICKET_MAIN, '--ledger', ledger, '--seen', seen, '--mode', JSON.stringify(here.mode), ...(o.stubborn ? ['--stubborn'] : [])])], ...o.server,
    } as Json, o),
    ledger: () => { const l = new Ledger(ledger); try { return l.view(); } finally { l.close(); } },
    seen: () => JSON.parse(readFileSync(seen, 'utf8')) as Seen,
  };
  return here;
}

const alive = (pid: number): boolean => {
  try { process.kill(pid, 0); } catch (e) { return (e as NodeJS.ErrnoException).code !== 'ESRCH'; }
  return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
};
const calls = (p: Place): number => p.seen().seen.filter((m) => m === 'tools/call').length;

// a server of our own is gone with the call: nothing of it is late; the newer generation differs on the wire alone, so the cuts are enough
const OVER_STDIO = CONNECTOR_CONFORMANCE.filter((c) => !c.title.includes('late acceptance'));
describe.each([['legacy', OVER_STDIO], ['modern', OVER_STDIO.filter((c) => c.title.includes('is cut') || c.title.includes('complete answer'))]] as const)('the MCP connector over stdio, %s', (era, cases) => {
  for (const c of cases) {
    it(c.title, async () => {
      const p = await place({ era });
      await c.run({
        world: { url: p.url, setMode: (m) => { p.mode = { ...p.mode, ...m }; }, ledger: () => p.ledger() },
        connect: (url) => (url === p.url ? p.connect() : p.connect({ command: ['/nonexistent/server'] })),
      });
      if (existsSync(join(p.url, 'seen.json'))) {
        expect(p.seen().violations).toEqual([]);
        expect(alive(p.seen().pid)).toBe(false);
      }
    });
  }
});

describe('an MCP server of our own that lies', () => {
  const ends = async (mode: Partial<McpMode>, o: Parameters<Place['connect']>[0] = {}, change: Parameters<typeof dispatchRequest>[0] = {}): Promise<{ p: Place; outcome: ConnectorOutcome }> => {
    const p = await place(mode);
    return { p, outcome: await p.connect(o).dispatch(dispatchRequest({ timeoutMs: 5_000, ...change })) };
  };

  it.each([['storm', 'OUTPUT_FLOOD'], ['endless', 'RESPONSE_TOO_LARGE'], ['die', 'SERVER_EXITED'], ['wrong-id', 'TIMEOUT'], ['asks-for-ever', 'TIMEOUT'], ['garble', 'RESPONSE_MALFORMED']] as const)('[EFF-3] [EFF-4] %s after the call: unknown, %s, one call, and no process stays', async (reply, cause) => {
    const { p, outcome } = await ends({ reply }, {}, { timeoutMs: cause === 'TIMEOUT' ? 500 : 30_000 });
    expect(outcome).toEqual({ kind: 'unknown', cause });
    expect(calls(p)).toBe(1);
    expect(p.ledger().accepted).toBe(1);
    expect(p.seen().seen.filter((m) => m.startsWith('answer:')).length).toBeLessThanOrEqual(64);
    expect(alive(p.seen().pid)).toBe(false);
  });

  it('[EFF-3] floods without end: this process keeps little of it', async () => {
    const before = process.memoryUsage().rss;
    for (const reply of ['endless', 'storm'] as const) expect((await ends({ reply }, {}, { timeoutMs: 30_000, outputBytesMax: 1_000 })).outcome.kind).toBe('unknown');
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
  });

  it('[EFF-3] does not leave when it is asked to, and keeps a child: both are gone when the outcome is there, also after an abort', async () => {
    for (const abort of [false, true]) {
      const stop = new AbortController();
      const { p, outcome } = await ends({ reply: abort ? 'hold' : 'normal' }, { stubborn: true }, { signal: stop.signal, beforeFirstByte: () => { if (abort) setTimeout(() => stop.abort(), 200); return true; } });
      expect(outcome).toMatchObject(abort ? { kind: 'unknown', cause: 'ABORTED' } : { kind: 'observed' });
      const { pid, child } = p.seen();
      expect([alive(pid), alive(child as number)]).toEqual([false, false]);
    }
  });

  it.each(['hang', 'refuse', 'garble', 'storm'] as const)('[EFF-3] behaves as "%s" when it is greeted: not sent, and no process stays', async (connect) => {
    const { p, outcome } = await ends({ connect }, { around: { connectTimeoutMsMin: 1_500 } }, { timeoutMs: 1_500 });
    expect(outcome.kind).toBe('not-sent');
    expect(calls(p)).toBe(0);
    expect(alive(p.seen().pid)).toBe(false);
  });

  it('[EFF-4] dies of a question of the newer protocol: is started once more, and called once', async () => {
    const { p, outcome } = await ends({ connect: 'dies-of-probe' });
    expect(outcome.kind).toBe('observed');
    expect(p.seen().seen).toEqual(['initialize', 'notifications/initialized', 'tools/list', 'tools/call']);
    expect(p.ledger().accepted).toBe(1);
  });

  it('[TOOL-4] [TOOL-5] lists another tool than the mapping means, or says that it is not what the mapping claims: not sent', async () => {
    for (const [mode, o, cause] of [
      [{ listing: 'gone' }, {}, 'TOOL_NOT_LISTED'], [{ listing: 'changed' }, {}, 'SCHEMA_CHANGED'], [{ annotations: { destructiveHint: true } }, { contract: { kind: 'read-only' } }, 'ANNOTATIONS_STRICTER'],
    ] as const) {
      const { p, outcome } = await ends(mode, o);
      expect(outcome).toEqual({ kind: 'not-sent', cause });
      expect(calls(p)).toBe(0);
    }
  });

  it('[SEC-4] sees the variables that its configuration names and no other; a credential comes by its name', async () => {
    process.env['N17Q_TEST_SECRET'] = 'never handed down';
    try {
      const { p, outcome } = await ends({}, { server: { env: { TICKETS_PROJECT: 'a' }, credentials: { TICKETS_TOKEN: 'tickets' } }, around: { secrets: (name) => `secret of ${name}` } });
      expect(outcome.kind).toBe('observed');
      expect(p.seen().environment.filter((v) => v !== '__CF_USER_TEXT_ENCODING')).toEqual(['LANG', 'PATH', 'TICKETS_PROJECT', 'TICKETS_TOKEN']);
      const none = await ends({}, { server: { credentials: { TICKETS_TOKEN: 'tickets' } }, around: { secrets: () => { throw new Error('secret-value'); } } });
      expect(none.outcome).toEqual({ kind: 'not-sent', cause: 'CREDENTIAL_UNAVAILABLE' });
    } finally {
      delete process.env['N17Q_TEST_SECRET'];
    }
  });

  it('[SEC-4] is not started where the operator did not say that servers may be', async () => {
    const { p, outcome } = await ends({}, { around: { mayStartServers: false } });
    expect(outcome).toEqual({ kind: 'not-sent', cause: 'STARTING_SERVERS_NOT_ALLOWED' });
    expect(existsSync(join(p.url, 'seen.json'))).toBe(false);
  });

  it('[EFF-4] is not called under a contract that its mapping cannot keep: keyed without a place for the key, or contained', async () => {
    for (const contract of [{ kind: 'contained' }, { kind: 'keyed', keyLifeMs: 60_000 }] as const) {
      const p = await place();
      const c = p.connect({ contract, config: contract.kind === 'keyed' ? { key: undefined } as never : {} });
      expect(await c.dispatch(dispatchRequest())).toEqual({ kind: 'not-sent', cause: 'CONTRACT_NOT_POSSIBLE' });
      expect(existsSync(join(p.url, 'seen.json'))).toBe(false);
    }
    const idempotent = (await place()).connect({ contract: { kind: 'idempotent', precondition: 'ifVersion' } });
    expect(await idempotent.dispatch(dispatchRequest())).toEqual({ kind: 'not-sent', cause: 'ARGUMENTS_NOT_FOR_THIS_TOOL' });
    expect((await idempotent.dispatch(dispatchRequest({ args: { title: 'x', ifVersion: 7 } }))).kind).toBe('observed');
    expect((await (await place()).connect({ contract: { kind: 'keyed', keyLifeMs: 60_000 } }).dispatch(dispatchRequest())).kind).toBe('observed');
  });

  it('[EFF-1] gets the key as an argument where the mapping says so, never in place of one that was permitted', async () => {
    const p = await place();
    const c = p.connect({ config: { key: { argument: 'request' } } });
    const request = dispatchRequest();
    expect((await c.dispatch(request)).kind).toBe('observed');
    expect(p.ledger().entries[0]?.body).toEqual({ ...(request.args as object), request: request.idempotencyKey });
    expect(await c.dispatch(dispatchRequest({ args: { title: 'x', request: 'mine' } }))).toEqual({ kind: 'not-sent', cause: 'ARGUMENTS_NOT_FOR_THIS_TOOL' });
    expect(p.ledger().arrived).toBe(1);
  });
});

it('[EFF-3] an abort while the server holds its answer: unknown, and the server is gone', async () => {
  const p = await place({ reply: 'hold' });
  const stop = new AbortController();
  const going = p.connect().dispatch(dispatchRequest({ signal: stop.signal }));
  await until(() => existsSync(join(p.url, 'seen.json')) && calls(p) === 1, { withinMs: 20_000, what: 'the call' });
  stop.abort();
  expect(await going).toEqual({ kind: 'unknown', cause: 'ABORTED' });
  expect(alive(p.seen().pid)).toBe(false);
});
