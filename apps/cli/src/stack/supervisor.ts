/**
 * Starts all parts of a local stack in order, keeps them, writes down what runs, and stops them in the opposite order.
 *
 * V1. One supervisor per data folder: a lock names its process. A lock of a process that is gone is taken over.
 * V2. A failed start leaves nothing running and says why in one sentence.
 * V3. What the supervisor started ends with it, however it ends; the servers' watchdog sees to it.
 *
 * Rows: SVC-1, SVC-4.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkSchema } from '@n17q/event-log';
import { freePort, isRecordedAlive, recordProcess, stopRecorded, type ProcessRecord } from '@n17q/platform';
import { fitBus, fitDatabase, serviceProgram, type Site } from '@n17q/testing';
import { isolationNotice, probeIsolation } from '@n17q/tools';
import { sentenceOf, Trouble } from '../trouble.js';
import { builtServices, startFleet, type Once, type ServicePart } from './fleet.js';
import { productVersion } from '../version.js';
import { warmCompileCache } from './warm.js';
import { makePlaces, ROOT, type Places } from './places.js';
import { demoTokens, personTokens } from './tokens.js';
import { secretsIn, type Secrets } from './secrets.js';
import { LOCAL_TENANT, seedTenant } from './seed.js';
import { refuseTakenPort, startOwnServers, type ServerPart } from './servers.js';
import { rememberTestCommand, stackSettings, type StackSettings } from './settings.js';
import { leftovers, readState, removeState, writeState, type Part, type StackState } from './state.js';

export interface SuperviseOptions {
  readonly places: Places;
  readonly mode: 'one-process' | 'separate';
  readonly env?: NodeJS.ProcessEnv;
  /** One line per step, in the present tense. */
  readonly progress?: (step: string) => void;
  /** Settings for the first start of a service. */
  readonly once?: Once;
  /** See startOwnServers. */
  readonly observer?: string;
}
export interface Supervised {
  readonly site: Site;
  readonly secrets: Secrets;
  readonly apiUrl: string;
  readonly services: readonly ServicePart[];
  /** Services, then NATS, then Postgres. A repeat waits for the same end. */
  stop(progress?: (step: string) => void): Promise<void>;
}

export class AlreadySupervised extends Trouble {
  constructor(data: string) { super(`Another n17q starts or runs a stack in ${data}: wait for it, end it with ./n17q down, or choose another folder with N17Q_DATA_DIR.`); }
}

function takeLock(file: string): void {
  const own = JSON.stringify(recordProcess(process.pid, 'SIGTERM'));
  for (let tries = 0; tries < 5; tries++) {
    try {
      writeFileSync(file, own, { flag: 'wx', mode: 0o600 });
      return;
    } catch (e) {
      if ((e as NodeJS.ErrnoException).code !== 'EEXIST') throw e;
    }
    let holder: ProcessRecord | undefined;
    try { holder = JSON.parse(readFileSync(file, 'utf8')) as ProcessRecord; } catch { holder = undefined; } // cut or gone meanwhile: nobody's
    if (holder !== undefined && isRecordedAlive(holder)) throw new AlreadySupervised(dirname(file));
    const aside = `${file}.${process.pid}`;
    try { renameSync(file, aside); rmSync(aside, { force: true }); } catch (e) { if ((e as NodeJS.ErrnoException).code !== 'ENOENT') throw e; } // somebody else took it away
  }
  throw new AlreadySupervised(dirname(file));
}

/** Logs of the start before are kept once, as `.1`. */
function turnLogs(p: Places, names: readonly string[]): void {
  for (const n of names) if (existsSync(join(p.logs, n))) renameSync(join(p.logs, n), join(p.logs, `${n}.1`));
}

class Supervisor {
  readonly servers: ServerPart[] = [];
  readonly services: ServicePart[] = [];
  phase: StackState['phase'] = 'starting';
  step = '';
  apiUrl: string | null = null;
  testCommand: string | null = null;
  failure: string | undefined;
  notes: string[] = [];
  readonly #self = recordProcess(process.pid, 'SIGTERM');
  readonly #startedAt = new Date().toISOString();
  readonly #version = productVersion();

  constructor(private readonly o: SuperviseOptions) {}

  say(step: string): void {
    this.step = step;
    this.o.progress?.(step);
    this.write();
  }
  readonly write = (): void => {
    const part = (name: string, kind: Part['kind'], k: ServicePart['keeper'], log: string, version: string, address?: string): readonly Part[] => {
      if (this.phase === 'stopping' && k.instance === undefined) return []; // it has stopped
      const process_ = k.instance === undefined ? this.#self : recordOf(k.instance.pid, name === 'Postgres' ? 'SIGINT' : 'SIGTERM');
      if (process_ === undefined) return [];
      const state = this.phase === 'stopping' ? 'stopping' : k.instance === undefined ? 'restarting' : 'ready';
      return [{ name, kind, process: process_, state, since: k.since.toISOString(), version, restarts: k.restarts, log, ...(address === undefined ? {} : { address }), ...(k.problem === undefined ? {} : { problem: k.problem }) }];
    };
    writeState(this.o.places.state, {
      supervisor: this.#self, mode: this.o.mode, phase: this.phase, step: this.step, startedAt: this.#startedAt, version: this.#version, apiUrl: this.apiUrl, testCommand: this.testCommand, notes: this.notes,
      parts: [
        ...this.servers.flatMap((s) => part(s.name, 'server', s.keeper, s.log, s.version, s.address)),
        ...this.services.flatMap((s) => part(s.name, 'service', s.keeper, s.log, this.#version, s.name === 'api' && this.apiUrl !== null ? this.apiUrl : undefined)),
      ],
      ...(this.failure === undefined ? {} : { failure: this.failure }),
    });
  };

  async start(secrets: Secrets, settings: StackSettings): Promise<Site> {
    const { places: p } = this.o;
    this.testCommand = settings.testCommandLine ?? null;
    await refuseTakenPort('The API', settings.apiPort, 'N17Q_API_PORT');
    const compileCacheDir = join(ROOT, '.data', 'cache', 'node');
    const warming = this.o.mode === 'separate' ? warmCompileCache(ROOT, compileCacheDir, builtServices().map((s) => serviceProgram(s, 'index'))) : undefined;
    let given = settings.given;
    if (given === undefined) {
      this.say('starting Postgres and NATS');
      const own = await startOwnServers(p, secrets, settings, this.write, this.o.observer);
      this.servers.push(...own.parts);
      given = { natsUrl: own.natsUrl, ownerUrl: own.ownerUrl, busPasswords: secrets.bus };
    }
    this.say('preparing database and streams');
    const bus = { natsUrl: given.natsUrl, busPasswords: given.busPasswords, ...(given.busUser === undefined ? {} : { busUser: given.busUser }) };
    const [{ databases }] = await Promise.all([fitDatabase(given.ownerUrl, secrets.roles), fitBus(bus)]);
    const { incarnation } = await checkSchema(databases.store);
    writeFileSync(p.tokens, `${JSON.stringify([{ token: secrets.apiToken, tenant: LOCAL_TENANT, person: 'operator' }, ...personTokens(p.people), ...demoTokens(p.demos)], null, 2)}\n`, { mode: 0o600 });
    const apiPort = settings.apiPort === 0 ? await freePort() : settings.apiPort;
    const site: Site = {
      ...bus, databases, artifactsDir: p.artifacts, scratchDir: p.scratch, credentialsDir: p.credentials, toolCredentialsDir: p.toolCredentials,
      continuationKey: secrets.continuationKey, scopeKey: secrets.scopeKey, ...(secrets.receiptKey === undefined ? {} : { receiptKey: secrets.receiptKey }), tokensFile: p.tokens, apiPort, compileCacheDir, settings: settings.tuning,
    };
    if ((await warming) === 'failed') this.o.progress?.('the services could not be compiled ahead; their first start and stop take longer');
    this.say(this.o.mode === 'separate' ? 'starting the services, each as its own process' : 'starting the services in one process');
    await startFleet({
      mode: this.o.mode, site, logs: p.logs, once: this.o.once ?? new Map(), changed: this.write, parts: this.services,
      afterStore: () => seedTenant(site, settings, p.seeded, incarnation),
    });
    this.apiUrl = `http://127.0.0.1:${apiPort}`;
    rememberTestCommand(p, settings.testCommandLine);
    const isolation = await probeIsolation();
    this.notes = isolation.isolation === 'none' ? [isolationNotice(isolation)] : [];
    this.phase = 'ready';
    this.say('ready');
    return site;
  }

  async stop(progress: (step: string) => void): Promise<void> {
    const wasReady = this.phase === 'ready';
    this.phase = 'stopping';
    this.write();
    const end = async (parts: readonly { readonly name: string; readonly keeper: ServicePart['keeper'] }[]): Promise<void> => {
      for (const outcome of await Promise.allSettled(parts.map((s) => s.keeper.stop()))) if (outcome.status === 'rejected') progress(sentenceOf(outcome.reason));
    };
    progress('stopping the services');
    await end(this.services.filter((s) => s.name !== 'event-store')); // drained while the store still answers them
    await end(this.services.filter((s) => s.name === 'event-store'));
    this.services.length = 0;
    this.write();
    for (const name of ['NATS', 'Postgres']) {
      const found = this.servers.filter((s) => s.name === name);
      if (found.length === 0) continue;
      progress(`stopping ${name}`);
      await end(found);
      this.servers.splice(this.servers.indexOf(found[0] as ServerPart), 1);
      this.write();
    }
    if (wasReady) removeState(this.o.places.state);
  }
  fail(sentence: string): void {
    this.phase = 'failed';
    this.failure = sentence;
    this.write();
  }
}

function recordOf(pid: number, stopSignal: ProcessRecord['stopSignal']): ProcessRecord | undefined {
  try { return recordProcess(pid, stopSignal); } catch { return undefined; } // it ended this very moment; the next change says so
}

/** Throws AlreadySupervised, or what stopped the start; nothing is left running then. */
export async function supervise(o: SuperviseOptions): Promise<Supervised> {
  const { places } = o;
  makePlaces(places);
  const secrets = secretsIn(places.secrets);
  const settings = stackSettings(places, secrets, o.env);
  takeLock(places.lock); // keeps V1
  const supervisor = new Supervisor(o);
  let stopping: Promise<void> | undefined;
  const stop = (progress: (step: string) => void = () => undefined): Promise<void> => (stopping ??= supervisor.stop(progress).finally(() => rmSync(places.lock, { force: true })));
  try {
    const before = readState(places.state);
    for (const p of before === undefined ? [] : leftovers(before)) await stopRecorded(p.process, 20_000);
    turnLogs(places, ['postgres.log', ...['event-store', 'checkpoint-sealer', 'policy-gate', 'context-compiler', 'provider-gateway', 'effect-reconciler', 'api'].flatMap((n) => [`${n}.out`, `${n}.err`])]);
    const site = await supervisor.start(secrets, settings);
    return { site, secrets, apiUrl: supervisor.apiUrl as string, services: supervisor.services, stop };
  } catch (e) {
    await stop();
    const sentence = sentenceOf(e);
    supervisor.fail(sentence);
    throw e instanceof Trouble ? e : new Trouble(sentence);
  }
}
