/** What the specs of this app share: a database with its schemas, a bus, the event store as a process of its own, and the api in this one. Part of no build. */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { canonical, contentOf, digestOf, sha256, type ContentUpload } from '@n17q/contracts';
import { cutOf, fact, judge, NOTHING, type Amounts, type ContentRef, type EffectContract, type Fact, type Permit, type RunId, type RunState, type ServiceName } from '@n17q/domain';
import { connectBus, natsConfig, provision, BUS_USERS, type Bus, type BusUser } from '@n17q/bus';
import { BusStore, migrate, roles, ServiceLog, type Decision } from '@n17q/event-log';
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

/** The other services' own users, who write what they would write; the gate's words come from its own judgement. */
export interface Relay {
  state(run: string): Promise<RunState>;
  by(service: ServiceName, run: string, facts: readonly Fact[], more?: Partial<Decision>): Promise<void>;
  seal(run: string): Promise<void>;
  /** What the gate says about the run now, appended. */
  judged(run: string): Promise<readonly Fact[]>;
  /** One turn up to an effect that is permitted, with an attempt under way. */
  attempt(run: string, o?: { readonly tool?: string; readonly contract?: EffectContract; readonly mapping?: { readonly registryRevision: number; readonly mappingRevision: number; readonly server: string; readonly schemaDigest: string }; readonly reserve?: Amounts }): Promise<{ readonly effect: string; readonly attempt: string; readonly continuation: ContentRef }>;
}

export const SECRET_BYTES = 'opaque-continuation-bytes-of-a-provider';
export async function openRelay(stack: Stack, tenant: string): Promise<Relay> {
  const logs = new Map<ServiceName, ServiceLog>();
  for (const s of ['checkpoint-sealer', 'context-compiler', 'policy-gate', 'provider-gateway', 'effect-reconciler'] as const) logs.set(s, new ServiceLog(new BusStore(await stack.bus(s), s), null));
  const log = (s: ServiceName): ServiceLog => logs.get(s) as ServiceLog;
  const state = (run: string): Promise<RunState> => log('policy-gate').state(tenant, run as RunId);
  const by: Relay['by'] = async (service, run, facts, more = {}) => {
    const o = await log(service).append(await log(service).state(tenant, run as RunId), { facts, ...more });
    if (o.kind !== 'appended') throw new Error(`${service}: ${JSON.stringify(o)}`);
  };
  const seal: Relay['seal'] = async (run) => {
    const s = await log('checkpoint-sealer').state(tenant, run as RunId);
    if (s.boundary.length === 0) return;
    const manifest = canonical(cutOf(s, canonical, sha256).manifest);
    const checkpoint = randomUUID();
    await by('checkpoint-sealer', run, [fact('checkpoint.sealed', { checkpoint, version: 1, cut: s.revision, boundaries: s.boundary, manifest: sha256(manifest), previous: s.checkpoint?.checkpoint ?? null })], { checkpoint: { checkpoint, manifest } });
  };
  const judged: Relay['judged'] = async (run) => {
    await seal(run);
    const view = await log('policy-gate').view(tenant, run as RunId);
    const facts = judge({ ...view, args: new Map(), hooked: new Map() }, { id: (kind) => `${kind}-${randomUUID()}`, digest: digestOf, rules: () => ({ kind: 'allow', by: ['allow'], reasons: [] }) });
    if (facts.length > 0) await by('policy-gate', run, facts);
    await seal(run);
    return facts;
  };
  const permit = async (run: string, subject: string): Promise<Permit> => {
    const v = await log('policy-gate').view(tenant, run as RunId);
    const t = v.tenant;
    return { permit: randomUUID(), subject, seenRevision: v.state.revision, tenant: { policy: t.policy?.revision ?? 0, registry: t.registry?.revision ?? 0, profiles: t.profiles?.revision ?? 0, roles: t.roles?.revision ?? 0 }, expiresAt: Date.now() + 60_000, world: { kind: 'real' }, grounds: { revision: v.state.revision, at: v.now, by: ['by-hand'], met: [] } };
  };
  const attempt: Relay['attempt'] = async (run, o = {}) => {
    const n = randomUUID().slice(0, 8);
    const [g, tool] = [`g-${n}`, o.tool ?? 'file_ticket'];
    const route = { account: 'a', provider: 'p', adapter: 'x', model: 'm' };
    const text = (t: string, cls: Parameters<typeof contentOf>[1]): ContentUpload => contentOf(t, cls);
    const [system, tools, entry, manifest] = [text('s', 'context'), text('t', 'context'), text('e', 'context'), text('m', 'manifest')];
    const subject = digestOf(`context ${n}`);
    await seal(run);
    await by('context-compiler', run, [fact('context.compiled', { generation: g, form: 'first', route, lineage: `l-${n}`, opensLineage: true, because: 'first', system: system.ref, tools: tools.ref, entry: entry.ref, manifest: manifest.ref, subject, continuations: [], checkpoint: null, tokensMax: { input: 1, output: 1 }, compiler: 1 })], { contents: [system, tools, entry, manifest] });
    await by('policy-gate', run, [fact('budget.reserved', { reservation: `rg-${n}`, for: 'generation', amounts: NOTHING, drawn: NOTHING }), fact('generation.permitted', { generation: g, reservation: `rg-${n}`, ...(await permit(run, subject)) })]);
    await seal(run);
    const segment = (await state(run)).segment;
    await by('provider-gateway', run, [...(segment === 0 ? [fact('segment.started', { segment: 1, from: null, to: route, reason: 'the run begins', checkpoint: null, manifest: manifest.ref })] : []), fact('generation.started', { generation: g, attempt: `ga-${n}`, owner: 'o', permit: (await state(run)).generation?.permit?.permit ?? '', form: 'first', wire: digestOf('w'), wirePrefix: { bytes: 1, digest: digestOf('w') }, leaseMs: 60_000 })]);
    const [output, args, sealed] = [text('{"parts":[]}', 'model-output'), text('{"title":"x"}', 'tool-arguments'), text(SECRET_BYTES, 'continuation')];
    await by('provider-gateway', run, [fact('generation.accepted', { generation: g, attempt: `ga-${n}`, output: output.ref, finish: 'stop', calls: [{ call: `c-${n}`, tool, args: args.ref }], continuations: [{ handle: `h-${n}`, partIndex: 0, placement: 'side', sealed: sealed.ref, exact: digestOf('x') }], recoverable: 'exact', why: '', usage: { native: {} }, spent: null })], { contents: [output, args, sealed] });
    await seal(run);
    const [effect, intent, amounts] = [`eff-${n}`, digestOf(`intent ${n}`), o.reserve ?? NOTHING];
    await by('effect-reconciler', run, [fact('effect.intended', { effect, call: `c-${n}`, generation: g, tool, mapping: o.mapping ?? { registryRevision: 1, mappingRevision: 1, server: 'tickets', schemaDigest: digestOf('schema') }, contract: o.contract ?? { kind: 'neither' }, scope: { target: 'tickets', fields: { run: digestOf(run) } }, args: args.ref, subject: intent, key: `k-${n}`, world: { kind: 'real' }, amounts, dataClass: 'internal' })]);
    await by('policy-gate', run, [fact('budget.reserved', { reservation: `re-${n}`, for: 'effect', amounts, drawn: amounts }), fact('effect.permitted', { effect, attemptNumber: 1, siblings: [], reservation: `re-${n}`, approval: null, ...(await permit(run, intent)) })]);
    await seal(run);
    await by('effect-reconciler', run, [fact('effect.attempt-started', { effect, attempt: `a-${n}`, attemptNumber: 1, owner: 'o', permit: (await state(run)).effects[effect]?.permit?.permit ?? '', leaseMs: 60_000, dispatchBy: Date.now() + 5_000 })]);
    return { effect, attempt: `a-${n}`, continuation: sealed.ref };
  };
  return { state, by, seal, judged, attempt };
}
