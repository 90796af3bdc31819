/**
 * The api: one Nest application that answers HTTP and is on the bus as user `api`. It appends what people and systems ask for, and reads; it judges nothing.
 *
 * Rows: SVC-1, SVC-4, RUN-4.
 */
import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Module, StandardSchemaValidationPipe, type DynamicModule, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FolderArtifactStore } from '@n17q/artifacts';
import { BusExceptionFilter, connectBus, RunEventsStrategy, RunQueue, type Bus, type DeadLetter } from '@n17q/bus';
import { clip, fact } from '@n17q/domain';
import { BusStore, type ServiceLog } from '@n17q/event-log';
import { serviceLogger, type Log, type Running, type Settings } from '@n17q/reactor';
import { receiptKey, Workspaces } from '@n17q/tools';
import { intake } from './http/intake.js';
import { Problem } from './http/problem.js';
import { ProblemFilter } from './http/problem-filter.js';
import { readTokens, type Tokens } from './http/tokens.js';
import { apiDatabase, checkApiSchema } from './read-model/migrations.js';
import { RunViews } from './read-model/projection.js';
import { RunList } from './read-model/run-list.js';
import { EventStreams } from './reading/event-stream.js';
import { RunIndex } from './reading/run-index.js';
import { RunReader } from './reading/run-reader.js';
import { CreateRun } from './requests/create-run.js';
import { RequestKeys } from './requests/request-keys.js';
import { RunLog } from './requests/run-log.js';
import { RunRequests } from './requests/run-requests.js';
import { ReceiptsController } from './receipts.controller.js';
import { RunEventsController } from './run-events.controller.js';
import { RunRequestsController } from './run-requests.controller.js';
import { RunsController } from './runs.controller.js';
import { CHECKS, ServiceController, type Checks } from './service.controller.js';
import { apiSettings, type ApiSettings } from './settings.js';
import { PolicyController } from './policy.controller.js';
import { Delegations } from './tenant/delegations.js';
import { TenantDocuments } from './tenant/documents.js';
import { Policies } from './tenant/policies.js';
import { RecordedDecisions } from './tenant/recorded-decisions.js';
import { TenantController } from './tenant.controller.js';
import { startUpkeep } from './upkeep.js';

/** `port`: where it listens; the system's choice when 0 was asked for. */
export type ApiRunning = Running & { readonly port: number };

@Module({})
class ApiModule {
  static with(providers: Provider[]): DynamicModule {
    return { module: ApiModule, controllers: [ServiceController, RunsController, RunRequestsController, ReceiptsController, TenantController, PolicyController, RunEventsController], providers };
  }
}

type Parts = ReturnType<typeof partsOf>;
function partsOf(o: ApiSettings, bus: Bus, database: ReturnType<typeof apiDatabase>) {
  const store = new BusStore(bus, 'api');
  const artifacts = new FolderArtifactStore(o.artifactsDir);
  const log = new RunLog(store, artifacts);
  const scratchDir = join(o.scratchDir, 'api');
  const workspaces = new Workspaces(artifacts, scratchDir);
  const keys = new RequestKeys(database, store);
  const requests = new RunRequests(log, store, keys, artifacts);
  const list = new RunList(database);
  const index = new RunIndex(store);
  const documents = new TenantDocuments(store, requests);
  const delegations = new Delegations(documents, () => log.now());
  return {
    store, log, keys, requests, views: new RunViews(database, log, store), list, reader: new RunReader(log, store, workspaces, index), index, delegations,
    streams: new EventStreams(store, { heartbeatMs: o.heartbeatMs, pollMs: o.streamPollMs }), creation: new CreateRun(requests, workspaces, delegations, { scratchDir, allowLocalRepos: o.allowLocalRepos }), documents, policies: new Policies(documents, store, new RecordedDecisions(list, store, log)),
  };
}
const providersOf = (p: Parts, checks: Checks): Provider[] => [
  { provide: RunRequests, useValue: p.requests }, { provide: RunViews, useValue: p.views }, { provide: RunList, useValue: p.list }, { provide: RunReader, useValue: p.reader }, { provide: EventStreams, useValue: p.streams },
  { provide: CreateRun, useValue: p.creation }, { provide: TenantDocuments, useValue: p.documents }, { provide: Policies, useValue: p.policies }, { provide: Delegations, useValue: p.delegations }, { provide: RunIndex, useValue: p.index }, { provide: CHECKS, useValue: checks },
];

const malformed = (issues: readonly { readonly message: string; readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined }[]): Problem => {
  const at = (i: (typeof issues)[number]): string => (i.path ?? []).map((p) => `/${String(typeof p === 'object' ? p.key : p)}`).join('');
  return new Problem('MALFORMED', issues.slice(0, 5).map((i) => `${at(i) || '(top)'}: ${i.message}`).join('; ').slice(0, 1000), { path: issues[0] === undefined ? '' : at(issues[0]) });
};

async function listen(o: ApiSettings, tokens: Tokens, providers: Provider[], strategy: RunEventsStrategy, logger: Log): Promise<{ readonly app: NestExpressApplication; readonly port: number }> {
  const app = await NestFactory.create<NestExpressApplication>(ApiModule.with(providers), { bodyParser: false, logger: ['error', 'warn'], abortOnError: false });
  app.disable('x-powered-by');
  app.set('etag', false);
  for (const step of intake(tokens, o.receiptKey)) app.use(step);
  app.useGlobalPipes(new StandardSchemaValidationPipe({ exceptionFactory: malformed }));
  app.useGlobalFilters(new ProblemFilter(logger));
  const onBus = app.connectMicroservice<MicroserviceOptions>({ strategy }, { inheritAppConfig: false, deferInitialization: true });
  onBus.useGlobalFilters(new BusExceptionFilter());
  try {
    await app.startAllMicroservices();
    await app.listen(o.port, o.host);
  } catch (e) {
    await app.close();
    if ((e as NodeJS.ErrnoException).code === 'EADDRINUSE') throw new Error(`port ${o.port} on ${o.host} is taken: set N17Q_API_PORT to another one, or to 0`);
    throw e;
  }
  return { app, port: (app.getHttpServer() as { address(): AddressInfo }).address().port };
}

export async function startApi(settings: Settings): Promise<ApiRunning> {
  const o = apiSettings(settings);
  const logger = serviceLogger('api', o.logLevel);
  const tokens = await readTokens(o.tokensFile);
  if (o.receiptKey !== undefined) receiptKey(o.receiptKey);
  const database = await apiDatabase(o.databaseUrl).initialize();
  let bus: Bus | undefined;
  try {
    await checkApiSchema(database);
    bus = await connectBus({ service: 'api', ...o.natsUser, url: o.natsUrl, password: o.natsPassword, onNotice: (n) => logger.warn({ notice: n.kind, detail: n.detail }, 'bus') });
    const onBus = bus;
    const parts = partsOf(o, onBus, database);
    const queue = new RunQueue({ concurrencyMax: 8 });
    const strategy = new RunEventsStrategy({
      bus, version: '0.1.0', queue, deadLetter: (l) => deadLetter(parts.log, l),
      onNotice: (n) => { if (n.kind === 'delayed') logger.info({ run: n.run, code: n.trouble.code, delayMs: n.delayMs }, 'trigger delayed'); else if (n.kind !== 'pull') logger.warn({ notice: n }, 'trigger'); },
    });
    const checks: Checks = async () => ({
      bus: onBus.status().state === 'connected' ? 'ok' : onBus.status().state,
      database: await database.query('select 1').then(() => 'ok', () => 'out of reach'),
      store: await parts.store.listRuns(tokens.tenants[0] ?? '', '', 1).then(() => 'ok', () => 'out of reach'),
      readModel: parts.views.caughtUp ? 'ok' : 'catching up',
    });
    const { app, port } = await listen(o, tokens, providersOf(parts, checks), strategy, logger);
    const upkeep = startUpkeep({ everyMs: o.catchUpMs, work: async () => { await parts.views.catchUp(tokens.tenants); await parts.keys.purge(Date.now()); }, onTrouble: (e) => logger.warn({ message: e instanceof Error ? e.message.slice(0, 300) : 'unknown' }, 'catching up') });
    let stopped: Promise<void> | undefined;
    return {
      port, lost: bus.closed,
      stop: () => (stopped ??= (async () => { await upkeep.stop(); parts.streams.close(); await app.close(); await onBus.close(); await database.destroy(); })()),
    };
  } catch (e) {
    await bus?.close();
    await database.destroy();
    throw e;
  }
}

/** What the read model could not take in is recorded in the run itself. */
async function deadLetter(log: ServiceLog, l: DeadLetter): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    const o = await log.append(await log.state(l.tenant, l.run), { facts: [fact('dead-letter.recorded', { service: 'api', trigger: l.trigger, code: clip(l.errorClass, 200), message: clip(l.message, 1000), deliveries: l.deliveries })] });
    if (o.kind === 'appended') return;
    if (o.kind === 'refused') throw new Error(`the store refused a dead letter: ${o.code}: ${o.message}`);
  }
  throw new Error('a dead letter could not be recorded: the run is too busy');
}
