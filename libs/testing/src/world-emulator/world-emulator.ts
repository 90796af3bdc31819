/**
 * An outside ticket service that can misbehave: a real HTTP server with a ledger of its own.
 *
 *   POST /tickets                 accept a ticket; header `idempotency-key` optional
 *   GET  /tickets?key=KEY         200 {count, tickets} or 404; with the query switched off always 501
 *   PUT  /documents/NAME          write a document; `if-match: "vN"` must name its version (428 without, 412 for another). Every document begins at "v0"
 *   GET  /documents/NAME          200 {name, version, body}
 *   GET  /control/ledger          what was accepted (token)
 *   POST /control/mode            change how requests are treated from now on (token)
 *   POST /control/release         let held replies go (token)
 *
 * It knows nothing of runs, attempts or effects; what it counts is what a judge believes.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Json } from '@n17q/domain';
import { Ledger, type LedgerEntry, type LedgerView } from './ledger.js';

export const WORLD_REPLIES = [
  'normal',
  /** Accept, write the ledger, keep the reply until released. */
  'hold',
  /** Accept, write the ledger, then cut the connection without a byte. */
  'lose',
  /** Accept, write the ledger, send the head and half of the body, then cut. */
  'lose-half',
  /** Read the head, then cut; nothing is accepted. */
  'cut-before-reading',
  /** Answer `refuseStatus`; nothing is accepted. */
  'refuse',
  /** Answer only, and accept only, after `lateMs`, or when released, even when the caller has left. */
  'late',
  /** Accept, then answer 500. */
  'fail-after-accepting',
  /** Accept, then answer 200 with a body that is not the JSON that it says it is. */
  'garble',
  /** Accept, then answer with a megabyte. */
  'huge',
] as const;
export type WorldReply = (typeof WORLD_REPLIES)[number];

export interface WorldMode {
  readonly reply: WorldReply;
  readonly lateMs: number;
  readonly refuseStatus: number;
  /** Whether GET by key works. */
  readonly query: boolean;
  /** Whether a known key gets the first result instead of a second ticket. */
  readonly keyAware: boolean;
}
const NORMAL: WorldMode = { reply: 'normal', lateMs: 0, refuseStatus: 422, query: true, keyAware: true };
const BODY_BYTES_MAX = 1024 * 1024;

export interface WorldEmulatorOptions {
  /** Survives the process; a second start over the same file goes on counting. */
  readonly ledgerPath: string;
  /** Whoever controls must send `authorization: Bearer <token>`. */
  readonly token: string;
  readonly mode?: Partial<WorldMode>;
}
export interface WorldEmulator {
  readonly url: string;
  readonly port: number;
  ledger(): LedgerView;
  setMode(change: Partial<WorldMode>): void;
  release(): number;
  close(): Promise<void>;
}

/** Listens on a loopback port that the system chooses. */
export async function startWorldEmulator(options: WorldEmulatorOptions): Promise<WorldEmulator> {
  if (options.token === '') throw new TypeError('the world emulator needs a control token');
  const world = new World(new Ledger(options.ledgerPath), options.token, { ...NORMAL, ...options.mode });
  const sockets = new Set<Socket>();
  const server: Server = createServer((req, res) => void world.handle(req, res).catch(() => res.destroy()));
  server.on('connection', (s) => { sockets.add(s); s.once('close', () => sockets.delete(s)); });
  await new Promise<void>((resolve, reject) => { server.once('error', reject); server.listen(0, '127.0.0.1', resolve); });
  const port = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${port}`, port,
    ledger: () => world.ledger.view(),
    setMode: (change) => world.setMode(change),
    release: () => world.release(),
    close: async () => {
      world.stop();
      const closed = new Promise<void>((resolve) => { server.close(() => resolve()); });
      for (const s of sockets) s.destroy();
      await closed;
      world.ledger.close();
    },
  };
}

class World {
  #held: (() => void)[] = [];
  readonly #late = new Map<NodeJS.Timeout, () => void>();

  constructor(readonly ledger: Ledger, readonly token: string, public mode: WorldMode) {}

  setMode(change: Partial<WorldMode>): void { this.mode = { ...this.mode, ...change }; }

  release(): number {
    const held = [...this.#held, ...this.#late.values()];
    this.#held = [];
    this.stop();
    for (const go of held) go();
    return held.length;
  }

  stop(): void {
    for (const t of this.#late.keys()) clearTimeout(t);
    this.#late.clear();
    this.#held = [];
  }

  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://world');
    if (url.pathname.startsWith('/control/')) return this.#control(req, res, url.pathname);
    const [, name] = /^\/documents\/([^/]+)$/.exec(url.pathname) ?? [];
    if (name !== undefined) return this.#document(req, res, decodeURIComponent(name));
    if (url.pathname !== '/tickets') return answer(res, 404, { error: 'no such place' });
    if (req.method === 'GET') return this.#find(res, url.searchParams.get('key'));
    if (req.method === 'POST') return this.#create(req, res);
    return answer(res, 405, { error: 'method not allowed' });
  }

  async #document(req: IncomingMessage, res: ServerResponse, name: string): Promise<void> {
    const mode = this.mode;
    if (mode.reply === 'cut-before-reading') return void req.socket.destroy();
    if (req.method === 'GET' && mode.reply === 'refuse') return answer(res, mode.refuseStatus, { error: 'refused by the rules of this service' });
    if (req.method === 'GET') return this.#reply(res, mode.reply, this.ledger.record('read', null, { name }), () => ({ name, version: this.ledger.versionOf(name), body: this.ledger.documentOf(name) }));
    if (req.method !== 'PUT') return answer(res, 405, { error: 'method not allowed' });
    const body = await bodyOf(req);
    if (body === undefined) return answer(res, 400, { error: 'the body is not JSON' });
    const given = req.headers['if-match'];
    if (given === undefined) return answer(res, 428, { error: 'if-match is required' });
    const write = (): LedgerEntry | undefined => { // no await between the comparison and the record
      if (given !== this.ledger.versionOf(name)) { this.ledger.record('refused', null, { name, body }); return undefined; }
      return this.ledger.record('accepted', null, { name, body });
    };
    if (mode.reply === 'refuse') { this.ledger.record('refused', null, { name, body }); return answer(res, mode.refuseStatus, { error: 'refused by the rules of this service' }); }
    const written = write();
    if (written === undefined) return answer(res, 412, { error: 'the document has another version', version: this.ledger.versionOf(name) });
    this.#reply(res, mode.reply, written, () => ({ name, version: this.ledger.versionOf(name) }));
  }

  #find(res: ServerResponse, key: string | null): void {
    if (!this.mode.query) return answer(res, 501, { error: 'this service cannot be asked' });
    const found = key === null ? [] : this.ledger.withKey(key);
    if (found.length === 0) return answer(res, 404, { error: 'no ticket with this key' });
    answer(res, 200, { count: found.length, tickets: found.map(ticketOf) });
  }

  async #create(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const mode = this.mode;
    if (mode.reply === 'cut-before-reading') return void req.socket.destroy();
    const body = await bodyOf(req);
    if (body === undefined) return answer(res, 400, { error: 'the body is not JSON' });
    const header = req.headers['idempotency-key'];
    const key = typeof header === 'string' ? header : null;
    if (mode.reply === 'refuse') {
      this.ledger.record('refused', key, body);
      return answer(res, mode.refuseStatus, { error: 'refused by the rules of this service' });
    }
    if (mode.reply === 'late') {
      const arrive = (): void => this.#reply(res, 'normal', this.#accept(key, body, mode));
      const timer = setTimeout(() => { this.#late.delete(timer); arrive(); }, mode.lateMs);
      return void this.#late.set(timer, arrive);
    }
    this.#reply(res, mode.reply, this.#accept(key, body, mode));
  }

  /** No await between look-up and record, so two requests with one key cannot both be first. */
  #accept(key: string | null, body: Json, mode: WorldMode): LedgerEntry {
    const first = key !== null && mode.keyAware ? this.ledger.withKey(key)[0] : undefined;
    return first ? this.ledger.record('repeated', key, body, first) : this.ledger.record('accepted', key, body);
  }

  #reply(res: ServerResponse, reply: WorldReply, entry: LedgerEntry, of: (e: LedgerEntry) => Json = ticketOf): void {
    const body = of(entry);
    switch (reply) {
      case 'hold': this.#held.push(() => answer(res, 201, body)); return;
      case 'lose': res.socket?.resetAndDestroy(); return;
      case 'lose-half': {
        const text = JSON.stringify(body);
        res.writeHead(201, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) });
        res.write(text.slice(0, Math.floor(text.length / 2)), () => res.socket?.destroy());
        return;
      }
      case 'fail-after-accepting': return answer(res, 500, { error: 'something broke after the ticket was filed' });
      case 'garble': res.writeHead(200, { 'content-type': 'application/json' }).end('{"ticket":'); return;
      case 'huge': return answer(res, 201, { filler: 'x'.repeat(1024 * 1024) });
      default: return answer(res, 201, body);
    }
  }

  async #control(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    if (req.headers.authorization !== `Bearer ${this.token}`) return answer(res, 401, { error: 'control needs the token' });
    if (req.method === 'GET' && path === '/control/ledger') return answer(res, 200, this.ledger.view() as unknown as Json);
    if (req.method === 'POST' && path === '/control/release') return answer(res, 200, { released: this.release() });
    if (req.method === 'POST' && path === '/control/mode') {
      const change = await bodyOf(req);
      if (!isModeChange(change)) return answer(res, 400, { error: 'no such mode' });
      this.setMode(change);
      return answer(res, 200, { ...this.mode });
    }
    return answer(res, 404, { error: 'no such control' });
  }
}

const MODE_TYPES: { readonly [K in keyof WorldMode]: string } = { reply: 'string', lateMs: 'number', refuseStatus: 'number', query: 'boolean', keyAware: 'boolean' };

function isModeChange(value: unknown): value is Partial<WorldMode> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  for (const [k, v] of Object.entries(value)) if (typeof v !== (MODE_TYPES as Record<string, string>)[k]) return false;
  const reply = (value as Partial<WorldMode>).reply;
  return reply === undefined || WORLD_REPLIES.includes(reply);
}

const ticketOf = (e: LedgerEntry): Json => ({ ticket: e.ticket, key: e.key, body: e.body });

function answer(res: ServerResponse, status: number, body: Json): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function bodyOf(req: IncomingMessage): Promise<Json | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const c of req) {
    bytes += (c as Buffer).length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(c as Buffer);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json;
  } catch {
    return undefined;
  }
}
