/**
 * The Nest shell of a service that reacts to run events: its own bus connection, its view of the log, one queue of runs fed by triggers and
 * sweeps, a dead letter in the store at the bound.
 *
 * Rows: SVC-1, RUN-4, SVC-4.
 */
import { Controller, Inject, Module, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Payload, type MicroserviceOptions } from '@nestjs/microservices';
import { context, propagation } from '@opentelemetry/api';
import { BusExceptionFilter, connectBus, OnRunEvent, RunEventsStrategy, RunQueue, startSweep, troubleOf, type Bus, type DeadLetter, type RunEvent } from '@n17q/bus';
import { clip, fact, runOf, runStream, type Reactor, type RunId, type TenantId, type Trace } from '@n17q/domain';
import { BusStore, ServiceLog, type OutsideContent } from '@n17q/event-log';
import { serviceLogger, type Log } from './log.js';
import type { Running } from './main.js';
import { busUser, numberSetting, optionalSetting, setting, type Settings } from './settings.js';

export type React = (tenant: TenantId, run: RunId) => Promise<void>;
export interface ReactorContext { readonly settings: Settings; readonly bus: Bus; readonly store: BusStore; readonly log: ServiceLog; readonly logger: Log }
export interface ReactorSpec {
  readonly service: Reactor;
  /** Bytes outside the store's tables, where this service may read them. */
  readonly outside?: (settings: Settings) => OutsideContent;
  /** Builds what the service does with a run. May answer requests, too, through the endpoints that it registers itself. */
  build(ctx: ReactorContext): React | Promise<React>;
}

const REACT = Symbol('react');

@Controller()
class RunEvents {
  constructor(@Inject(REACT) private readonly react: React) {}
  @OnRunEvent()
  onRunEvent(@Payload() e: RunEvent): Promise<void> { return this.react(e.tenant, e.run); }
}
@Module({})
class ReactorModule {
  static with(react: React): DynamicModule { return { module: ReactorModule, controllers: [RunEvents], providers: [{ provide: REACT, useValue: react }] }; }
}

/** The trace that is active, as the store keeps it beside an event. */
function currentTrace(): Trace | undefined {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  const { traceparent, tracestate } = carrier;
  return traceparent === undefined ? undefined : { traceparent, ...(tracestate ? { tracestate } : {}) };
}

export async function startReactor(spec: ReactorSpec, settings: Settings): Promise<Running> {
  const logger = serviceLogger(spec.service, optionalSetting(settings, 'N17Q_LOG_LEVEL') ?? 'info');
  const bus = await connectBus({
    service: spec.service, ...busUser(settings), url: setting(settings, 'N17Q_NATS_URL', 'where the bus is'), password: setting(settings, 'N17Q_NATS_PASSWORD', `the bus password of ${spec.service}`),
    onNotice: (n) => logger.warn({ notice: n.kind, detail: n.detail }, 'bus'),
  });
  const store = new BusStore(bus, spec.service);
  const log = new ServiceLog(store, spec.outside?.(settings) ?? null, { trace: currentTrace });
  const react = await spec.build({ settings, bus, store, log, logger });
  const queue = new RunQueue({ concurrencyMax: numberSetting(settings, 'N17Q_RUNS_AT_ONCE', 16, 1, 1024) });
  const strategy = new RunEventsStrategy({
    bus, version: '0.1.0', queue, deadLetter: (l) => deadLetter(log, l),
    onNotice: (n) => { if (n.kind === 'delayed') logger.info({ run: n.run, code: n.trouble.code, message: n.trouble.message, delayMs: n.delayMs }, 'trigger delayed'); else if (n.kind !== 'pull') logger.warn({ notice: n }, 'trigger'); },
  });
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(ReactorModule.with(react), { strategy, logger: ['error', 'warn'] });
  app.useGlobalFilters(new BusExceptionFilter());
  await app.listen();
  const sweepMs = numberSetting(settings, 'N17Q_SWEEP_MS', 1_000, 50, 3_600_000);
  const sweep = startSweep({
    service: spec.service, queue, everyMs: sweepMs, olderThanMs: numberSetting(settings, 'N17Q_SWEEP_OLDER_MS', 500, 0, 3_600_000), limit: 200,
    fetch: async ({ olderThanMs, limit, after }) => {
      const due = await store.needsDue(olderThanMs, limit, after === null ? undefined : { ...after, stream: runStream(after.run) });
      return due.map((n) => ({ tenant: n.tenant, run: runOf(n.stream) ?? '', reason: n.reason, dueAt: n.dueAt }));
    },
    handle: (r) => react(r.tenant, r.run),
    onFound: (n) => { if (n > 0) logger.debug({ found: n }, 'found by sweep'); },
    onTrouble: (e, r) => { const t = troubleOf(e); logger.warn({ run: r?.run, code: t.code, message: t.message }, 'sweep'); },
  });
  let stopped: Promise<void> | undefined;
  return {
    lost: bus.closed,
    stop: () => (stopped ??= (async () => { await sweep.stop(); await app.close(); await bus.close(); })()),
  };
}

/** A dead letter is an event of the run itself; a repeat for the same trigger finds it there. */
async function deadLetter(log: ServiceLog, l: DeadLetter): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    const s = await log.state(l.tenant, l.run);
    const o = await log.append(s, { facts: [fact('dead-letter.recorded', { service: log.service, trigger: l.trigger, code: clip(l.errorClass, 200), message: clip(l.message, 1000), deliveries: l.deliveries })] });
    if (o.kind === 'appended') return;
    if (o.kind === 'refused') throw new Error(`the store refused a dead letter: ${o.code}: ${o.message}`);
  }
  throw new Error('a dead letter could not be recorded: the run is too busy');
}
