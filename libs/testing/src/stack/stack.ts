/**
 * The whole stack for a test: real servers of its own, services as processes or in this one, a tenant, and handles to break things.
 *
 * Deliberately without: imports from apps. Programs are found by path in their dist, so what runs is what was built.
 *
 * T1. Everything that was started ends with `close()`, and with this process.
 * T2. Judges read the store in the reader's role and the emulators' ledgers; nothing here tells them what happened.
 *
 * Rows: SVC-1, RUN-4.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { BUS_USERS, connectBus, natsConfig, type Bus, type BusUser } from '@n17q/bus';
import type { Amounts, EventEnvelope, PolicyDocument, ProviderAccount, RunId, ServiceName, TenantId, ToolMapping } from '@n17q/domain';
import { BusStore } from '@n17q/event-log';
import { FolderArtifactStore } from '@n17q/artifacts';
import { Workspaces } from '@n17q/tools';
import { freePort } from '@n17q/platform';
import { openSandbox, type Sandbox } from '../sandbox/sandbox.js';
import { spawnService, type ServiceHandle } from '../sandbox/service.js';
import { until } from '../sandbox/until.js';
import { openReader, type StoreReader } from './reader.js';
import { fitBus, fitDatabase } from './servers.js';
import { serviceProgram, settingsOf, STACK_SERVICES, type Site } from './services.js';
import { createRun, FIRST_ALLOWANCE, FIRST_POLICY, OPERATOR_ROLES, profilesOf, publishDocuments, type NewRun } from './tenant.js';

export interface StartStackOptions {
  /** True: each service is a process. Default: all in this one, which cannot be killed one by one. */
  readonly separate?: boolean;
  /** Default: all that are built. */
  readonly services?: readonly ServiceName[];
  readonly tenant?: TenantId;
  readonly policy?: Partial<PolicyDocument>;
  readonly accounts?: readonly (ProviderAccount & { readonly key: string })[];
  readonly tools?: readonly ToolMapping[];
  /** Default: more than any test spends. */
  readonly allowance?: Amounts;
  /** `name[:action][@n]` by service, for its first start only. Separate processes only. */
  readonly failpoints?: Readonly<Partial<Record<ServiceName, string>>>;
  readonly sweepMs?: number;
  readonly settings?: Readonly<Record<string, string>>;
}

export interface StackService {
  readonly name: ServiceName;
  readonly pid: number;
  readonly handle: ServiceHandle;
  /** SIGKILL. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Starts it again (after an end of whatever kind), with these settings besides its own, and waits until it is ready. */
  restart(settings?: Readonly<Record<string, string>>): Promise<void>;
}

export interface Stack {
  readonly sandbox: Sandbox;
  readonly site: Site;
  readonly tenant: TenantId;
  /** As the `api` user. */
  readonly bus: Bus;
  readonly store: BusStore;
  readonly reader: StoreReader;
  readonly workspaces: Workspaces;
  /** Where the api of this stack answers, when it runs, and the token of `operator`. */
  readonly api: { readonly url: string; readonly token: string };
  /** Throws for a service that is not a process of this stack. */
  service(name: ServiceName): StackService;
  createRun(run: NewRun): Promise<RunId>;
  events(run: RunId): Promise<readonly EventEnvelope[]>;
  /** Waits until `condition` holds for the run's events; gives them. The error names the last event types. */
  waitFor(run: RunId, condition: (events: readonly EventEnvelope[]) => boolean, what: string, withinMs: number): Promise<readonly EventEnvelope[]>;
  close(): Promise<void>;
}

const READY_MS = 90_000;
const secret = (): string => randomBytes(24).toString('base64url');

async function siteIn(sandbox: Sandbox, passwords: Record<BusUser, string>, apiToken: string, o: StartStackOptions): Promise<Site> {
  const dir = (name: string): string => { const d = join(sandbox.dir, name); mkdirSync(d, { recursive: true, mode: 0o700 }); return d; };
  const [{ databases }] = await Promise.all([fitDatabase(await sandbox.database(), { store: secret(), api: secret(), reader: secret() }), fitBus({ natsUrl: sandbox.nats.url, busPasswords: passwords })]);
  const credentialsDir = dir('credentials');
  for (const a of o.accounts ?? []) writeFileSync(join(credentialsDir, a.account), a.key, { mode: 0o600 });
  const tokensFile = join(sandbox.dir, 'tokens.json');
  writeFileSync(tokensFile, JSON.stringify([{ token: apiToken, tenant: o.tenant ?? 'acme', person: 'operator' }]), { mode: 0o600 });
  return {
    natsUrl: sandbox.nats.url, busPasswords: passwords, databases, artifactsDir: dir('artifacts'), scratchDir: dir('scratch'), credentialsDir, toolCredentialsDir: dir('tool-credentials'),
    continuationKey: randomBytes(32).toString('hex'), scopeKey: secret(), receiptKey: secret(), tokensFile, apiPort: await freePort(), compileCacheDir: fileURLToPath(new URL('../../../../.data/cache/node', import.meta.url)),
    settings: { N17Q_SWEEP_MS: String(o.sweepMs ?? 250), N17Q_SWEEP_OLDER_MS: '0', N17Q_LOG_LEVEL: 'info', ...o.settings },
  };
}

class ProcessService implements StackService {
  constructor(readonly name: ServiceName, private readonly dir: string, private readonly env: Readonly<Record<string, string>>) {}
  #handle: ServiceHandle | undefined;
  get handle(): ServiceHandle { if (this.#handle === undefined) throw new Error(`${this.name} was not started`); return this.#handle; }
  get pid(): number { return this.handle.pid; }
  kill(): Promise<void> { return this.handle.kill(); }
  pause(): void { this.handle.pause(); }
  resume(): void { this.handle.resume(); }
  async restart(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    if (this.#handle !== undefined) await this.#handle.kill();
    this.#handle = await spawnService({ name: this.name, dir: this.dir, entry: serviceProgram(this.name, 'main'), env: { ...this.env, ...settings } });
    await this.#handle.waitForLine(/"event":"ready"/, READY_MS);
  }
}

/** The key is the gateway's to read from its folder; a tenant's document never holds it. */
function withoutKey(a: ProviderAccount & { readonly key: string }): ProviderAccount {
  const { account, provider, adapter, endpoint, scope, models } = a;
  return { account, provider, adapter, endpoint, scope, models };
}

interface InProcess { stop(): Promise<void> }
async function startHere(name: ServiceName, env: Readonly<Record<string, string>>): Promise<InProcess> {
  const program = await import(pathToFileURL(serviceProgram(name, 'index')).href) as { start(settings: Readonly<Record<string, string>>): Promise<InProcess> };
  return program.start(env);
}

export async function startStack(o: StartStackOptions = {}): Promise<Stack> {
  const passwords = Object.fromEntries(BUS_USERS.map((u) => [u, secret()])) as Record<BusUser, string>;
  const sandbox = await openSandbox({ postgres: true, nats: { configText: natsConfig({ passwords }), syncInterval: '10s' } });
  const apiToken = secret();
  const processes = new Map<ServiceName, ProcessService>();
  const here: InProcess[] = [];
  const open: (() => Promise<unknown>)[] = [];
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= (async () => {
    for (const p of processes.values()) await p.kill().catch(() => undefined); // one that never started has nothing to kill
    await Promise.allSettled(here.toReversed().map((s) => s.stop()));
    await Promise.allSettled(open.map((c) => c()));
    await sandbox.close();
  })());
  try {
    const site = await siteIn(sandbox, passwords, apiToken, o);
    const wanted = o.services ?? STACK_SERVICES;
    const first = wanted.filter((s) => s === 'event-store');
    for (const group of [first, wanted.filter((s) => s !== 'event-store')]) {
      await Promise.all(group.map(async (name) => {
        const env = settingsOf(name, site);
        if (o.separate !== true) { here.push(await startHere(name, env)); return; }
        const p = new ProcessService(name, join(sandbox.dir, 'logs'), env);
        processes.set(name, p);
        const failpoint = o.failpoints?.[name];
        await p.restart(failpoint === undefined ? {} : { N17Q_FAILPOINT: failpoint });
      }));
    }
    const bus = await connectBus({ service: 'api', url: site.natsUrl, password: passwords.api });
    const reader = openReader(site.databases.reader);
    open.push(() => bus.close(1_000), () => reader.close());
    const store = new BusStore(bus, 'api');
    const tenant = o.tenant ?? ('acme' as TenantId);
    await publishDocuments(store, tenant, { policy: { ...FIRST_POLICY, ...o.policy }, registry: { tools: o.tools ?? [] }, roles: OPERATOR_ROLES, allowance: o.allowance ?? FIRST_ALLOWANCE, profiles: profilesOf((o.accounts ?? []).map(withoutKey)) });
    return stackOf({ sandbox, site, api: { url: `http://127.0.0.1:${site.apiPort}`, token: apiToken }, tenant, bus, store, reader, processes, close });
  } catch (error) {
    await close();
    throw error;
  }
}

function stackOf(x: Pick<Stack, 'sandbox' | 'site' | 'api' | 'tenant' | 'bus' | 'store' | 'reader' | 'close'> & { readonly processes: ReadonlyMap<ServiceName, ProcessService> }): Stack {
  const events = (run: RunId): Promise<readonly EventEnvelope[]> => x.reader.events(x.tenant, run);
  return {
    ...x, events,
    workspaces: new Workspaces(new FolderArtifactStore(x.site.artifactsDir), join(x.sandbox.dir, 'test-scratch')),
    service: (name) => { const p = x.processes.get(name); if (p === undefined) throw new Error(`${name} is no process of this stack`); return p; },
    createRun: (r) => createRun(x.store, x.tenant, r),
    waitFor: async (run, condition, what, withinMs) => {
      let seen: readonly EventEnvelope[] = [];
      try {
        return await until(async () => { seen = await events(run); return condition(seen) ? seen : undefined; }, { withinMs, what, everyMs: 25 });
      } catch (cause) {
        throw new Error(`${what} did not come within ${String(withinMs)} ms; the run's last events: ${seen.slice(-12).map((e) => e.type).join(', ')}`, { cause });
      }
    },
  };
}
