/** The ticket service over streamable HTTP, on a loopback port that the system chooses. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Ledger, type LedgerView } from '../world-emulator/ledger.js';
import { NORMAL_MCP, TicketServer, type Line, type McpMode, type Message } from './ticket-server.js';

export interface HttpMcpMode extends McpMode {
  /** How a POST is answered. `resumable`: as a stream whose events have ids, which invites a client to come back. */
  readonly answer: 'json' | 'stream' | 'resumable';
  /** Instead of an answer to a call, having accepted it: this status, with a way to the same place. */
  readonly callStatus: number | null;
}
export interface McpWorld {
  readonly url: string;
  readonly port: number;
  readonly server: TicketServer;
  /** Requests by HTTP method. */
  readonly requests: Readonly<Record<string, number>>;
  ledger(): LedgerView;
  setMode(change: Partial<HttpMcpMode>): void;
  close(): Promise<void>;
}

const BIG_BYTES = 100_000;

export async function startMcpWorld(options: { readonly ledgerPath: string; readonly mode?: Partial<HttpMcpMode> }): Promise<McpWorld> {
  let mode: HttpMcpMode = { ...NORMAL_MCP, answer: 'json', callStatus: null, ...options.mode };
  const tickets = new TicketServer(new Ledger(options.ledgerPath), mode);
  const requests: Record<string, number> = {};
  const sockets = new Set<Socket>();
  const server = createServer((req, res) => {
    requests[req.method ?? ''] = (requests[req.method ?? ''] ?? 0) + 1;
    void handle(tickets, mode, req, res).catch(() => res.destroy());
  });
  server.on('connection', (s) => { sockets.add(s); s.once('close', () => sockets.delete(s)); });
  await new Promise<void>((resolve, reject) => { server.once('error', reject); server.listen(0, '127.0.0.1', resolve); });
  const port = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${port}/mcp`, port, server: tickets, requests,
    ledger: () => tickets.ledger.view(),
    setMode: (change) => { mode = { ...mode, ...change }; tickets.mode = mode; },
    close: async () => {
      tickets.stop();
      const closed = new Promise<void>((resolve) => { server.close(() => resolve()); });
      for (const s of sockets) s.destroy();
      await closed;
      tickets.ledger.close();
    },
  };
}

async function handle(tickets: TicketServer, mode: HttpMcpMode, req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (req.method === 'DELETE') return void res.writeHead(200).end();
  if (req.method !== 'POST') return void res.writeHead(405).end();
  if (mode.reply === 'cut-before-reading' && Number(req.headers['content-length']) > BIG_BYTES) return void req.socket.resetAndDestroy();
  const chunks: Buffer[] = [];
  for await (const c of req) chunks.push(c as Buffer);
  const message = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Message;
  check(tickets, mode, message, req);
  if (message['id'] === undefined || message['method'] === undefined) {
    tickets.handle(message, DEAF);
    return void res.writeHead(202).end();
  }
  if (message['method'] === 'tools/call' && mode.callStatus !== null) {
    tickets.handle(message, DEAF);
    return void res.writeHead(mode.callStatus, { location: '/mcp' }).end();
  }
  const session: Headers = message['method'] === 'initialize' ? { 'mcp-session-id': 'session-1' } : {};
  tickets.handle(message, mode.answer === 'json' && !['asks', 'asks-for-ever', 'storm', 'twice'].includes(mode.reply) ? jsonLine(res, session) : streamLine(res, session, mode.answer === 'resumable'));
}

function check(tickets: TicketServer, mode: HttpMcpMode, message: Message, req: IncomingMessage): void {
  if (message['method'] !== 'tools/call') return;
  if (mode.era === 'legacy' && req.headers['mcp-session-id'] !== 'session-1') tickets.violations.push('a call outside of its session');
  if (mode.era === 'modern' && req.headers['mcp-method'] !== 'tools/call') tickets.violations.push('a call without its header');
  if (req.headers['mcp-protocol-version'] === undefined) tickets.violations.push('a call without a protocol version');
}

const DEAF: Line = { send: () => undefined, raw: () => undefined, half: () => undefined, cut: () => undefined };
type Headers = Readonly<Record<string, string>>;

const jsonLine = (res: ServerResponse, headers: Headers): Line => ({
  send: (m) => { res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(m)); },
  raw: (text) => {
    if (!res.headersSent) res.writeHead(200, { 'content-type': 'application/json', ...headers });
    if (text.length > BIG_BYTES) res.write(text);
    else res.end(text);
  },
  half: (m) => {
    const text = JSON.stringify(m);
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)), ...headers });
    res.write(text.slice(0, text.length / 2), () => res.socket?.destroy());
  },
  cut: () => { res.socket?.resetAndDestroy(); },
});

function streamLine(res: ServerResponse, headers: Headers, resumable: boolean): Line {
  let n = 0;
  const id = (): string => (resumable ? `id: ${++n}\nretry: 1\n` : '');
  const open = (): void => {
    if (res.headersSent) return;
    res.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
    if (resumable) res.write(`${id()}data: \n\n`);
  };
  const isLast = (m: object): boolean => 'result' in m || 'error' in m;
  return {
    send: (m) => {
      open();
      if (res.writableLength > BIG_BYTES) return; // whoever reads slowly gets less of a storm
      res.write(`${id()}data: ${JSON.stringify(m)}\n\n`);
      if (isLast(m)) setImmediate(() => res.end());
    },
    raw: (text) => { open(); if (res.writableLength < BIG_BYTES) res.write(`data: ${text}`); if (text.length < BIG_BYTES) res.end(); },
    half: (m) => { open(); const text = JSON.stringify(m); res.write(`data: ${text.slice(0, text.length / 2)}`, () => res.socket?.destroy()); },
    cut: () => { open(); res.write(': \n\n', () => res.socket?.resetAndDestroy()); },
  };
}
