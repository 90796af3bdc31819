/** The connector against servers that are not ours: the reference servers of the protocol's makers (older generation), and the official server SDK (newer one). */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { http } from '@n17q/contracts';
import type { EffectContract, Json } from '@n17q/domain';
import { mappingsFrom, McpConnector, type ConnectorOutcome, type ServerDraft } from '@n17q/tools';
import { until } from '../sandbox/index.js';
import { dispatchRequest } from '../world-emulator/connector-conformance.js';
import { AROUND } from './mcp-mapping.js';

const main = (name: string): string => join(dirname(createRequire(import.meta.url).resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist/index.js');
const stdio = (name: string, args: readonly string[], env: Record<string, string> = {}) => ({ transport: 'stdio' as const, command: [process.execPath, main(name), ...args] as [string, ...string[]], env });
let dir = '';
beforeAll(async () => { dir = await mkdtemp(join(tmpdir(), 'n17q-reference-')); });
afterAll(async () => { await rm(dir, { recursive: true, force: true }); });

type At = Parameters<typeof mappingsFrom>[0];
const drafted = (server: At, contracts: Record<string, EffectContract> = {}): Promise<ServerDraft> => mappingsFrom(server, { name: 'reference', around: AROUND, contracts });
async function called(d: ServerDraft, tool: string, args: Json, change: Parameters<typeof dispatchRequest>[0] = {}): Promise<ConnectorOutcome> {
  const draft = d.tools.find((t) => t.mapping.name === tool);
  if (draft === undefined) throw new Error(`${tool} is not drafted`);
  return new McpConnector(draft.mapping, AROUND).dispatch(dispatchRequest({ target: draft.mapping.target, args, timeoutMs: 20_000, ...change }));
}

describe('the reference server "everything", over both transports', () => {
  let child: ChildProcess | undefined;
  let url = '';
  beforeAll(async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => { probe.listen(0, '127.0.0.1', resolve); });
    const { port } = probe.address() as AddressInfo; // the server cannot choose one itself
    await new Promise<void>((resolve) => { probe.close(() => resolve()); });
    child = spawn(process.execPath, [main('server-everything'), 'streamableHttp'], { stdio: 'ignore', env: { PATH: process.env['PATH'], PORT: String(port) } });
    url = `http://127.0.0.1:${port}/mcp`;
    await until(() => fetch(url).then(() => true, () => false), { withinMs: 30_000, what: 'the reference server' });
  }, 60_000);
  afterAll(async () => {
    if (child === undefined || child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });

  it.each(['stdio', 'http'] as const)('[TOOL-4] [EFF-3] over %s: drafts, echoes, adds, takes its time, shows a picture, and refuses what is wrong', async (transport) => {
    const d = await drafted(transport === 'http' ? { transport, url } : stdio('server-everything', ['stdio']));
    expect(d.protocol).toBe('2025-11-25');
    expect(await called(d, 'echo', { message: 'hello' })).toMatchObject({ kind: 'observed', ok: true, text: 'Echo: hello' });
    expect(await called(d, 'get-sum', { a: 2, b: 3 })).toMatchObject({ kind: 'observed', ok: true, text: expect.stringContaining('5') as unknown as string });
    if (transport === 'http') expect(await called(d, 'trigger-long-running-operation', { duration: 1, steps: 3 })).toMatchObject({ kind: 'observed', ok: true });
    expect(await called(d, 'trigger-long-running-operation', { duration: 20, steps: 2 }, { timeoutMs: 500 })).toEqual({ kind: 'unknown', cause: 'TIMEOUT' });
    expect(await called(d, 'get-tiny-image', {})).toMatchObject({ kind: 'observed', text: expect.stringMatching(/\[image\/png, \d+ bytes, sha256 [0-9a-f]{64}\]/) as unknown as string });
    expect(await called(d, 'echo', { message: 7 })).toMatchObject({ kind: 'observed', ok: false });
  }, 120_000);

  it('[SEC-4] shows its environment: nothing of ours is in it', async () => {
    process.env['N17Q_TEST_SECRET'] = 'never handed down';
    const o = await called(await drafted(stdio('server-everything', ['stdio'], { SEEN: 'yes' })), 'get-env', {});
    delete process.env['N17Q_TEST_SECRET'];
    if (o.kind !== 'observed') throw new Error(o.kind);
    expect(o.text).toContain('SEEN');
    expect(o.text).not.toMatch(/N17Q_|HOME/);
  });
});

it('[TOOL-4] [EFF-4] the reference server "filesystem": writes and reads, and a tool that it calls destructive is not drafted as read-only', async () => {
  const d = await drafted(stdio('server-filesystem', [dir]), { write_file: { kind: 'read-only' }, read_text_file: { kind: 'read-only' } });
  expect(http.TENANT_DOCUMENTS.registry.safeParse({ tools: d.tools.map((t) => t.mapping) }).success).toBe(true);
  const of = (name: string) => d.tools.find((t) => t.mapping.name === name);
  expect(of('write_file')?.mapping.contract).toEqual({ kind: 'neither' });
  expect(of('write_file')?.notes.join(' ')).toContain('the server itself denies it');
  expect(of('read_text_file')?.mapping.contract).toEqual({ kind: 'read-only' });
  expect(of('list_directory')?.mapping.contract).toEqual({ kind: 'neither' }); // what the server says of itself grants nothing
  const path = join(dir, 'note.txt');
  expect(await called(d, 'write_file', { path, content: 'kept' })).toMatchObject({ kind: 'observed', ok: true });
  expect(await readFile(path, 'utf8')).toBe('kept');
  expect(await called(d, 'read_text_file', { path })).toMatchObject({ kind: 'observed', text: expect.stringContaining('kept') as unknown as string });
  expect(await called(d, 'read_text_file', { path: '/etc/hostname' })).toMatchObject({ kind: 'observed', ok: false });
}, 120_000);

it('[EFF-4] the reference server "memory": what one call made is there for the next, made once', async () => {
  const d = await drafted(stdio('server-memory', [], { MEMORY_FILE_PATH: join(dir, 'memory.jsonl') }));
  expect(await called(d, 'create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }] })).toMatchObject({ kind: 'observed', ok: true });
  const graph = await called(d, 'read_graph', {});
  if (graph.kind !== 'observed') throw new Error(graph.kind);
  expect(graph.text.match(/"name": "Ada"/g)).toHaveLength(1);
}, 120_000);

describe('the official server SDK, newer generation', () => {
  let server: Server;
  let url = '';
  const ran: string[] = [];
  beforeAll(async () => {
    const handler = createMcpHandler(() => {
      const mcp = new McpServer({ name: 'sdk', version: '1' });
      mcp.registerTool('greet', { description: 'Greets', inputSchema: z.object({ who: z.string() }) }, ({ who }) => { ran.push(who); return { content: [{ type: 'text', text: `Hello ${who}` }] }; });
      return mcp;
    });
    server = createServer((req, res) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const c of req) chunks.push(c as Buffer);
        const answer = await handler.fetch(new Request(`http://127.0.0.1${req.url ?? '/'}`, { method: req.method ?? 'GET', headers: new Headers(req.headers as Record<string, string>), ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }) }));
        res.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
      })().catch(() => res.destroy());
    });
    await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  });
  afterAll(async () => { server.closeAllConnections(); await new Promise<void>((resolve) => { server.close(() => resolve()); }); });

  it('[TOOL-4] [EFF-4] speaks the newest protocol with it, and the tool runs once', async () => {
    const d = await drafted({ transport: 'http', url });
    expect(d.protocol).toBe('2026-07-28');
    expect(await called(d, 'greet', { who: 'Ada' })).toMatchObject({ kind: 'observed', ok: true, text: 'Hello Ada' });
    expect(ran).toEqual(['Ada']);
  });
});
