/** What the specs of this app share: a database with its schemas, a bus, the event store as a process of its own, and the api in this one. Part of no build. */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { connectBus, natsConfig, provision, BUS_USERS, type Bus, type BusUser } from '@n17q/bus';
import { migrate, roles } from '@n17q/event-log';
import { migrateApi, start, type ApiRunning } from './index.js';

export const secret = (): string => randomBytes(24).toString('base64url');
export const busPasswords = (): Record<BusUser, string> => Object.fromEntries(BUS_USERS.map((u) => [u, secret()])) as Record<BusUser, string>;
export const configFor = (passwords: Record<BusUser, string>): string => natsConfig({ passwords });

interface Spawned { kill(): Promise<void>; pause(): void; resume(): void; waitForLine(p: RegExp, withinMs: number): Promise<unknown>; tail(): string }
/** The parts of a sandbox that are used here. */
interface Servers { readonly dir: string; readonly nats: { readonly url: string }; database(): Promise<string>; spawnService(o: { name: string; entry: string; env: Record<string, string> }): Promise<Spawned> }

export const PEOPLE = [{ tenant: 'acme', person: 'ada' }, { tenant: 'acme', person: 'bob' }, { tenant: 'globex', person: 'eve' }] as const;

export interface Stack {
  readonly base: string;
  readonly api: ApiRunning;
  readonly urls: { readonly owner: string; readonly store: string; readonly api: string };
  readonly artifactsDir: string;
  readonly scratchDir: string;
  token(person: (typeof PEOPLE)[number]['person']): string;
  bus(user: BusUser): Promise<Bus>;
  startStore(): Promise<Spawned>;
  store: Spawned;
  call(method: string, path: string, o?: { as?: (typeof PEOPLE)[number]['person'] | null; body?: unknown; headers?: Record<string, string>; raw?: string }): Promise<Answered>;
  stop(): Promise<void>;
}
export interface Answered { readonly status: number; readonly headers: Headers; readonly text: string; readonly body: Record<string, never> & Record<string, unknown> }

/** The built event store, found from where the tests run. */
function storeEntry(): string {
  for (let at = process.cwd(); ; at = dirname(at)) {
    const entry = join(at, 'node_modules/@n17q/event-store/dist/main.js');
    if (existsSync(entry)) return entry;
    if (at === dirname(at)) throw new Error('the event store is not built');
  }
}

export async function openStack(servers: Servers, passwords: Record<BusUser, string>, settings: Record<string, string> = {}): Promise<Stack> {
  const owner = await servers.database();
  await migrate(owner);
  const made = await roles(owner, { store: secret(), api: secret(), reader: secret() });
  await migrateApi(made.api);
  const buses: Bus[] = [];
  const bus = async (user: BusUser): Promise<Bus> => { const b = await connectBus({ service: user, url: servers.nats.url, password: passwords[user] }); buses.push(b); return b; };
  await provision(await bus('provisioner'));
  const startStore = async (): Promise<Spawned> => {
    const p = await servers.spawnService({ name: `event-store-${randomBytes(3).toString('hex')}`, entry: storeEntry(), env: { N17Q_DATABASE_URL: made.store, N17Q_NATS_URL: servers.nats.url, N17Q_NATS_PASSWORD: passwords['event-store'], N17Q_LOG_LEVEL: 'warn' } });
    await p.waitForLine(/"ready"/, 20_000);
    return p;
  };
  const store = await startStore();
  const tokens = PEOPLE.map((p) => ({ ...p, token: secret() }));
  const folder = join(servers.dir, `api-${randomBytes(4).toString('hex')}`);
  const [artifactsDir, scratchDir, tokensFile] = [join(folder, 'artifacts'), join(folder, 'scratch'), join(folder, 'tokens.json')];
  await mkdir(folder, { recursive: true });
  await writeFile(tokensFile, JSON.stringify(tokens), { mode: 0o600 });
  const api = await start({
    N17Q_NATS_URL: servers.nats.url, N17Q_NATS_PASSWORD: passwords.api, N17Q_API_DATABASE_URL: made.api, N17Q_ARTIFACTS_DIR: artifactsDir, N17Q_SCRATCH_DIR: scratchDir, N17Q_API_TOKENS_FILE: tokensFile,
    N17Q_LOG_LEVEL: 'fatal', N17Q_API_CATCH_UP_MS: '300', N17Q_API_STREAM_POLL_MS: '50', N17Q_API_HEARTBEAT_MS: '200', ...settings,
  }).catch(async (e: unknown) => { await Promise.all(buses.map((b) => b.close(1_000))); throw e; });
  const base = `http://127.0.0.1:${api.port}`;
  const token = (person: string): string => tokens.find((t) => t.person === person)?.token ?? '';
  return {
    base, api, urls: { owner, store: made.store, api: made.api }, artifactsDir, scratchDir, token, bus, startStore, store,
    async call(method, path, o = {}) {
      const who = o.as === undefined ? 'ada' : o.as;
      const sent = o.raw ?? (o.body === undefined ? undefined : JSON.stringify(o.body));
      const r = await fetch(base + path, { method, headers: { ...(who === null ? {} : { authorization: `Bearer ${token(who)}` }), ...(sent === undefined ? {} : { 'content-type': 'application/json' }), ...o.headers }, ...(sent === undefined ? {} : { body: sent }) });
      const text = await r.text();
      let body: unknown = {};
      try { body = JSON.parse(text); } catch { body = {}; }
      return { status: r.status, headers: r.headers, text, body: body as Answered['body'] };
    },
    async stop() {
      await api.stop();
      await Promise.all(buses.map((b) => b.close(1_000)));
    },
  };
}
