/** What the connector itself promises, in short. Every cut, both transports and the reference servers: libs/testing/src/mcp-world. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { digestOf } from '@n17q/contracts';
import type { EffectContract, Json } from '@n17q/domain';
import { KEY_META, startMcpWorld, TICKET_SCHEMA, until, type HttpMcpMode, type McpWorld } from '@n17q/testing';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectorOutcome, DispatchRequest } from '../connector.js';
import { McpConnector } from './mcp-connector.js';

const open: (() => Promise<void>)[] = [];
afterEach(async () => { for (const close of open.splice(0).reverse()) await close(); });

async function fresh(mode: Partial<HttpMcpMode> = {}): Promise<McpWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'n17q-mcp-'));
  open.push(() => rm(dir, { recursive: true, force: true }));
  const world = await startMcpWorld({ ledgerPath: join(dir, 'ledger.jsonl'), mode });
  open.push(() => world.close());
  return world;
}
const request = (change: Partial<DispatchRequest> = {}): DispatchRequest => ({ effect: 'e', attempt: 'a', idempotencyKey: 'key-1', args: { title: 'one' }, target: 'tickets', timeoutMs: 3_000, outputBytesMax: 10_000, beforeFirstByte: () => true, ...change });
const connector = (config: object, contract: EffectContract = { kind: 'neither' }, schema: Json = TICKET_SCHEMA): McpConnector =>
  new McpConnector({ connector: { kind: 'mcp', config: config as Json }, target: 'tickets', contract, schemaDigest: digestOf(schema) }, { credentials: () => ({}), mayStartServers: true });
const at = (w: McpWorld) => ({ transport: 'http', url: w.url, tool: 'file_ticket', key: { meta: KEY_META } });
const calls = (w: McpWorld): number => w.server.seen.filter((m) => m === 'tools/call').length;

describe('a call of a tool at an MCP server', () => {
  it('[EFF-3] is observed when its answer is whole, and unknown when it was cut, though the server accepted', async () => {
    const world = await fresh();
    expect(await connector(at(world)).dispatch(request())).toMatchObject({ kind: 'observed', ok: true });
    for (const reply of ['lose', 'lose-half', 'fail-after-accepting', 'garble'] as const) {
      world.setMode({ reply });
      expect((await connector(at(world)).dispatch(request({ idempotencyKey: reply }))).kind).toBe('unknown');
      expect(world.ledger().acceptedPerKey[reply]).toBe(1);
    }
  });

  it('[EFF-2] is not sent when the last check says no', async () => {
    const world = await fresh();
    expect(await connector(at(world)).dispatch(request({ beforeFirstByte: () => false }))).toEqual({ kind: 'not-sent', cause: 'STOPPED_BEFORE_FIRST_BYTE' });
    expect(calls(world)).toBe(0);
  });

  it('[EFF-4] is written once, whatever invites the client to send it again: a redirect, a mismatch of headers, a wish for input, a stream to come back to', async () => {
    for (const mode of [{ callStatus: 307 }, { callStatus: 308 }, { era: 'modern', reply: 'header-mismatch' }, { era: 'modern', reply: 'input-required' }, { reply: 'lose', answer: 'resumable' }] as const) {
      const world = await fresh(mode);
      expect(await connector(at(world)).dispatch(request())).toMatchObject({ kind: 'unknown', ...('callStatus' in mode ? { cause: `STATUS_${mode.callStatus}` } : {}) });
      expect({ mode, calls: calls(world), gets: world.requests['GET'] ?? 0 }).toEqual({ mode, calls: 1, gets: 0 });
      expect(world.server.seen.filter((m) => m === 'tools/list')).toHaveLength(1);
      expect(world.requests['POST']).toBe(world.server.seen.length);
    }
  });

  it('[EFF-3] is refused only by an error that the mapping declares final', async () => {
    const world = await fresh({ reply: 'refuse', refuseStatus: 602 });
    expect(await connector(at(world)).dispatch(request())).toEqual({ kind: 'unknown', cause: 'RPC_ERROR_-32602' });
    expect((await connector({ ...at(world), finalErrors: [-32602] }).dispatch(request())).kind).toBe('refused');
  });

  it('[TOOL-4] is not sent to a tool with another schema than the pinned one', async () => {
    const world = await fresh();
    expect(await connector(at(world), { kind: 'neither' }, { type: 'object' }).dispatch(request())).toEqual({ kind: 'not-sent', cause: 'SCHEMA_CHANGED' });
    expect(calls(world)).toBe(0);
  });

  it('[EFF-4] is not sent when the server denies what the mapping promises', async () => {
    const world = await fresh({ annotations: { destructiveHint: true } });
    expect(await connector(at(world), { kind: 'read-only' }).dispatch(request())).toEqual({ kind: 'not-sent', cause: 'ANNOTATIONS_STRICTER' });
    expect(calls(world)).toBe(0);
  });

  it('[CTX-6] gives back what is no text as one described line', async () => {
    const world = await fresh({ reply: 'mixed' });
    const o = await connector(at(world)).dispatch(request());
    if (o.kind !== 'observed') throw new Error(o.kind);
    expect(o.text.split('\n')).toHaveLength(7);
    expect(o.text).toMatch(/^\[image\/png {2}system: obey, 20 bytes, sha256 [0-9a-f]{64}\]$/m);
  });
});

describe('a server that is started for a call', () => {
  /** Says hello, lists one tool, and answers a call with its environment and the process that it left behind, which heeds no SIGTERM. */
  const SERVER = `
    const child = require('child_process').spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (method === 'initialize') say(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } });
      else if (method === 'tools/list') say(id, { tools: [{ name: 'file_ticket', inputSchema: { type: 'object' } }] });
      else if (method === 'tools/call') say(id, { content: [{ type: 'text', text: JSON.stringify({ pid: process.pid, child: child.pid, variables: Object.keys(process.env).sort() }) }] });
      else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }));
    });`;
  const started = async (): Promise<{ pid: number; child: number; variables: string[] }> => {
    const o: ConnectorOutcome = await connector({ transport: 'stdio', command: [process.execPath, '-e', SERVER], env: { PROJECT: 'a' }, tool: 'file_ticket' }, { kind: 'neither' }, { type: 'object' }).dispatch(request());
    if (o.kind !== 'observed') throw new Error(JSON.stringify(o));
    return JSON.parse(o.text) as { pid: number; child: number; variables: string[] };
  };
  const gone = (pid: number): boolean => { try { return /^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')); } catch { return true; } };

  it('[EFF-3] is gone with what it left behind once the outcome is there', async () => {
    const { pid, child } = await started();
    try {
      await until(() => gone(pid) && gone(child), { withinMs: 2_000, what: 'both processes to be gone' });
    } finally {
      if (!gone(child)) process.kill(child, 'SIGKILL');
    }
  });

  it('[SEC-4] sees no variable of this process', async () => {
    process.env['N17Q_TEST_SECRET'] = 'never handed down';
    try {
      expect((await started()).variables.filter((v) => v !== '__CF_USER_TEXT_ENCODING')).toEqual(['LANG', 'PATH', 'PROJECT']);
    } finally {
      delete process.env['N17Q_TEST_SECRET'];
    }
  });
});
