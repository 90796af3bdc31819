import { Controller, Module, type INestMicroservice } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openSandbox, until, type Sandbox } from '@n17q/testing';
import { nanos, type ConsumerInfo, type JetStreamManager } from 'nats';
import { EMPTY, from, throwError, concatMap, of } from 'rxjs';
import type { Bus } from './connection.js';
import { RunEventTrouble, refuse } from './faults.js';
import type { DeadLetter, RunEvent } from './intake.js';
import { RUN_EVENT, RUN_EVENTS_STREAM, serviceSubject } from './names.js';
import { provision } from './provision.js';
import { publishWindow } from './relay.js';
import { request } from './request.js';
import { Users, passwords, runEvent, withRoot } from './spec-kit.js';
import { BusContext, BusExceptionFilter, OnRunEvent, RunEventsStrategy, type StrategyNotice, type StrategyOptions } from './strategy.js';
import { startSweep } from './sweep.js';
import { durablesOf } from './topology.js';

/** What the handler under test does; each test sets it. */
let react: (event: RunEvent) => unknown = () => undefined;

@Controller()
class Reactor {
  @OnRunEvent()
  onRunEvent(@Payload() event: RunEvent, @Ctx() ctx: BusContext): unknown {
    expect(ctx.getArgByIndex(0)).toBe(event);
    return react(event);
  }

  @MessagePattern(serviceSubject('policy-gate', 'explain'))
  explain(@Payload() body: { no?: boolean; fault?: boolean }): unknown {
    if (body.fault) throw Object.assign(new Error('away'), { mayHaveActed: false });
    return body.no ? refuse('NO') : of('first', 'yes');
  }
}

@Module({ controllers: [Reactor] })
class ReactorModule {}

describe('the Nest strategy', () => {
  const secrets = passwords();
  let sandbox: Sandbox;
  let users: Users;
  let provisioner: Bus;
  let store: Bus;
  let jsm: JetStreamManager;
  let app: INestMicroservice | undefined;
  let strategy: RunEventsStrategy;
  let notices: StrategyNotice[] = [];
  let letters: DeadLetter[] = [];
  let seen: RunEvent[] = [];

  beforeAll(async () => {
    sandbox = await openSandbox({ nats: { configText: withRoot(secrets, 'root-of-this-test') } });
    users = new Users(() => sandbox.nats.url, secrets);
    provisioner = await users.connect('provisioner');
    store = await users.connect('event-store');
    jsm = await (await users.connect('provisioner', { user: 'root', password: 'root-of-this-test' })).nc.jetstreamManager();
  }, 60_000);
  beforeEach(async () => {
    await jsm.streams.delete(RUN_EVENTS_STREAM).catch(() => undefined);
    await provision(provisioner);
    [notices, letters, seen] = [[], [], []];
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });
  afterAll(async () => {
    await users?.closeAll();
    await sandbox?.close();
  }, 30_000);

  const start = async (handler: (event: RunEvent) => unknown, more: Partial<StrategyOptions> = {}): Promise<void> => {
    react = (event) => { seen.push(event); return handler(event); };
    const bus = await users.connect('policy-gate');
    strategy = new RunEventsStrategy({
      bus, version: '1.0.0', deadLetter: async (letter) => { letters.push(letter); }, onNotice: (n) => notices.push(n), delayUnitMs: 10, closeMsMax: 2_000, ...more,
    });
    app = await NestFactory.createMicroservice(ReactorModule, { strategy, logger: false });
    app.useGlobalFilters(new BusExceptionFilter());
    await app.listen();
  };
  const publish = async (...events: ReturnType<typeof runEvent>[]): Promise<void> => {
    expect(await publishWindow(store, events)).toMatchObject({ acked: events.length });
  };
  const consumer = (): Promise<ConsumerInfo> => jsm.consumers.info(RUN_EVENTS_STREAM, 'policy-gate');
  const allAcked = () => until(async () => { const c = await consumer(); return c.num_pending === 0 && c.num_ack_pending === 0; }, { withinMs: 10_000, what: 'every trigger to be settled' });

  it('[SVC-1] hands a service the run events that wake it, with run, revision, type and trace, and no others', async () => {
    await start(() => undefined);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const mine = runEvent({ trace: { traceparent }, run: 'a' });
    await publish(mine, runEvent({ wake: 'several', run: 'b' }), runEvent({ wake: 'none' }), runEvent({ wake: 'effect-reconciler' }));
    await until(() => seen.length === 2, { withinMs: 5_000, what: 'two events' });
    await allAcked();
    expect(seen.find((e) => e.run === 'a')).toEqual({
      tenant: 'acme', run: 'a', revision: mine.revision, type: mine.type, class: 'effect', wake: 'policy-gate', eventId: mine.eventId, position: mine.position,
      trace: { traceparent }, redelivery: 0,
    });
    expect(seen.map((e) => e.run).sort()).toEqual(['a', 'b']);
    await until(() => strategy.health().state.state === 'pulling' && strategy.health().inHand === 0, { withinMs: 5_000, what: 'health' });
    expect(Date.now() - strategy.health().aliveAtMs).toBeLessThan(5_000);
  });

  it('[RUN-4] acknowledges only after the handler has succeeded, Observables included', async () => {
    let finish: () => void = () => undefined;
    await start(() => from(new Promise<void>((resolve) => { finish = resolve; })).pipe(concatMap(() => EMPTY)));
    await publish(runEvent());
    await until(() => seen.length === 1, { withinMs: 5_000, what: 'the event' });
    expect((await consumer()).num_ack_pending).toBe(1);
    finish();
    await allAcked();
    expect(seen).toHaveLength(1);
  });

  it.each([
    ['a rejected promise', () => Promise.reject(new Error('x'))], ['an Observable that errors', () => throwError(() => new Error('x'))],
    ['an Observable that errors after a value', () => of(1).pipe(concatMap(() => throwError(() => new Error('x'))))],
    ['an exception', () => { throw new Error('x'); }],
  ])('[RUN-4] does not acknowledge %s, and delivers again', async (_what, fail) => {
    await start((event) => (event.redelivery < 2 ? fail() : undefined));
    await publish(runEvent());
    await until(() => seen.length === 3, { withinMs: 5_000, what: 'the third delivery' });
    await allAcked();
    expect(seen.map((e) => e.redelivery)).toEqual([0, 1, 2]);
    expect(letters).toEqual([]);
    expect(notices.filter((n) => n.kind === 'delayed')).toHaveLength(2);
  });

  it('[RUN-4] records one dead letter at the bound, and only then lets go of the trigger; the next run is not held up', async () => {
    let storeIsAway = true;
    await start((event) => { if (event.run === 'poison') throw new TypeError('cannot'); }, {
      deliveriesMax: 3,
      deadLetter: async (letter) => {
        if (storeIsAway) { storeIsAway = false; throw new Error('the store is away'); }
        letters.push(letter);
      },
    });
    const poison = runEvent({ run: 'poison' });
    await publish(poison, runEvent({ run: 'healthy' }));
    await until(() => letters.length === 1, { withinMs: 5_000, what: 'the dead letter' });
    await allAcked();
    expect(letters).toEqual([{
      tenant: 'acme', run: 'poison', revision: poison.revision, trigger: poison.eventId, service: 'policy-gate', errorClass: 'TypeError', message: 'cannot', deliveries: 4,
    }]);
    expect(notices.filter((n) => n.kind === 'dead-letter-unrecorded')).toHaveLength(1);
    expect(seen.filter((e) => e.run === 'healthy')).toHaveLength(1);
    expect(seen.filter((e) => e.run === 'poison')).toHaveLength(4);
  });

  it('[RUN-4] makes no dead letter of a run whose store was away for longer than the bound', async () => {
    await start((event) => { if (event.redelivery < 5) throw new RunEventTrouble('transient', 'STORE_AWAY', 'the store is away'); }, { deliveriesMax: 2, delayUnitMs: 1 });
    await publish(runEvent());
    await until(() => seen.length === 6, { withinMs: 5_000, what: 'the sixth delivery' });
    await allAcked();
    expect(letters).toEqual([]);
  });

  it('[RUN-4] works on one run at a time and serves all that came meanwhile by one more pass', async () => {
    const gates: (() => void)[] = [];
    await start(() => new Promise<void>((resolve) => gates.push(resolve)));
    await publish(runEvent());
    await until(() => gates.length === 1, { withinMs: 5_000, what: 'the first pass' });
    await publish(...Array.from({ length: 20 }, () => runEvent()), runEvent({ run: 'other' }));
    await until(() => strategy.health().inHand === 22, { withinMs: 5_000, what: 'all to be in hand' });
    expect(seen.map((e) => e.run)).toEqual(['run-1', 'other']);
    gates.forEach((open) => open());
    await until(() => gates.length === 3, { withinMs: 5_000, what: 'the pass for the rest' });
    expect((await consumer()).num_ack_pending).toBe(20);
    gates[2]?.();
    await allAcked();
    expect(seen).toHaveLength(3);
  });

  it('[SVC-4] vouches for long work so that nobody else gets it, but not for ever', async () => {
    await jsm.consumers.update(RUN_EVENTS_STREAM, 'policy-gate', { ack_wait: nanos(600) });
    let finish: () => void = () => undefined;
    await start(() => new Promise<void>((resolve) => { finish = resolve; }), { ackWaitMs: 600, workingMsMax: 3_000 });
    await publish(runEvent());
    await until(() => seen.length === 1, { withinMs: 5_000, what: 'the event' });
    const begunAtMs = performance.now();
    await until(async () => (await consumer()).num_redelivered === 1, { withinMs: 10_000, what: 'the server to give up on the handler' });
    expect(performance.now() - begunAtMs).toBeGreaterThan(2_500);
    expect(seen).toHaveLength(1); // the same run waits for its own worker
    finish();
    await until(() => seen.length === 2, { withinMs: 5_000, what: 'the pass for the repeat' });
    finish();
    await allAcked();
  }, 20_000);

  it('[SVC-4] takes no more than it has room for', async () => {
    const gates: (() => void)[] = [];
    await start(() => new Promise<void>((resolve) => gates.push(resolve)), { inHandMax: 10, concurrencyMax: 2 });
    await publish(...Array.from({ length: 30 }, (_, i) => runEvent({ run: `run-${i}` })));
    await until(() => gates.length === 2 && strategy.health().inHand === 5, { withinMs: 5_000, what: 'the room to be full' });
    const c = await consumer();
    expect({ taken: c.num_ack_pending, left: c.num_pending }).toEqual({ taken: 5, left: 25 });
    const opener = setInterval(() => gates.splice(0).forEach((open) => open()), 2);
    await until(() => seen.length === 30, { withinMs: 10_000, what: 'all runs' }).finally(() => clearInterval(opener));
    gates.forEach((open) => open());
    await allAcked();
  });

  it.each(['consumer', 'stream'] as const)('[RUN-4] says that its %s was deleted, and goes on when provisioning made it again', async (what) => {
    await start(() => undefined);
    await publish(runEvent());
    await until(() => seen.length === 1, { withinMs: 5_000, what: 'the first event' });
    if (what === 'consumer') await jsm.consumers.delete(RUN_EVENTS_STREAM, 'policy-gate');
    else await jsm.streams.delete(RUN_EVENTS_STREAM);
    await until(() => strategy.health().state.state === 'trouble' || strategy.health().state.state === 'binding', { withinMs: 15_000, what: 'the trouble to be told' });
    expect(notices).toContainEqual(expect.objectContaining({ kind: 'pull', state: expect.objectContaining({ state: 'trouble', code: 'CONSUMER_MISSING' }) }));
    await provision(provisioner);
    const after = runEvent({ run: 'after' });
    await publish(after);
    await until(() => seen.some((e) => e.eventId === after.eventId), { withinMs: 10_000, what: 'the event after provisioning' });
    await until(() => strategy.health().state.state === 'pulling', { withinMs: 10_000, what: 'both consumers to be bound again' });
  }, 40_000);

  it('[SVC-1] waits for provisioning when it is started first', async () => {
    await jsm.streams.delete(RUN_EVENTS_STREAM);
    await start(() => undefined);
    await until(() => notices.some((n) => n.kind === 'pull' && n.state.state === 'trouble' && n.state.code === 'STREAM_MISSING'), { withinMs: 5_000, what: 'the missing stream to be told' });
    await provision(provisioner);
    await publish(runEvent());
    await until(() => seen.length === 1, { withinMs: 10_000, what: 'the event' });
  }, 20_000);

  it('[SVC-4] lets work end when it closes, takes nothing new, and leaves what did not end to others', async () => {
    let finish: () => void = () => undefined;
    await start((event) => (event.run === 'stuck' ? new Promise<void>(() => undefined) : new Promise<void>((resolve) => { finish = resolve; })), { closeMsMax: 300 });
    await publish(runEvent({ run: 'good' }), runEvent({ run: 'stuck' }));
    await until(() => seen.length === 2, { withinMs: 5_000, what: 'both to begin' });
    const closing = app?.close();
    finish();
    await closing;
    app = undefined;
    await publish(runEvent({ run: 'later' }));
    const c = await consumer();
    expect({ inWork: c.num_ack_pending, left: c.num_pending, seen: seen.length }).toEqual({ inWork: 1, left: 1, seen: 2 });
  });

  it('[SVC-4] shares the work among replicas, and what a dead one held comes to a living one', async () => {
    for (const durable of durablesOf('policy-gate')) await jsm.consumers.update(RUN_EVENTS_STREAM, durable, { ack_wait: nanos(600) });
    const doomedBus = await users.connect('policy-gate');
    const doomed = new RunEventsStrategy({ bus: doomedBus, version: '1.0.0', deadLetter: async () => undefined, ackWaitMs: 600, closeMsMax: 100 });
    const held: string[] = [];
    doomed.addHandler(RUN_EVENT, (event: RunEvent) => { held.push(event.run); return new Promise<void>(() => undefined); }, true);
    await doomed.listen((error) => { if (error) throw error; });
    await start(() => undefined, { ackWaitMs: 600 });
    const all = Array.from({ length: 200 }, (_, i) => runEvent({ run: `run-${i}` }));
    await publish(...all);
    await until(() => held.length > 0 && seen.length > 0, { withinMs: 5_000, what: 'both replicas to have work' });
    expect(seen.some((e) => held.includes(e.run))).toBe(false);
    await doomedBus.nc.close(); // as when its process dies: nothing more is said
    await allAcked();
    expect(new Set(seen.map((e) => e.run)).size).toBe(200);
    expect(seen.filter((e) => e.redelivery > 0).map((e) => e.run)).toEqual(expect.arrayContaining(held));
    await doomed.close();
  }, 30_000);

  it('[SVC-1] answers requests through @MessagePattern with answers, refusals and faults', async () => {
    await start(() => undefined);
    const api = await users.connect('api');
    const ask = (body: unknown) => request(api, serviceSubject('policy-gate', 'explain'), body, { timeoutMs: 3_000 });
    expect(await ask({})).toEqual({ kind: 'answered', value: 'yes' });
    expect(await ask({ no: true })).toEqual({ kind: 'refused', refusal: 'NO' });
    expect(await ask({ fault: true })).toMatchObject({ kind: 'fault', mayHaveActed: false, detail: 'away' });
  });

  it('[RUN-4] lets a sweep and triggers share one worker per run', async () => {
    let active = 0;
    let peak = 0;
    let finish: () => void = () => undefined;
    const work = async (): Promise<void> => {
      peak = Math.max(peak, ++active);
      await new Promise<void>((resolve) => { finish = resolve; });
      active--;
    };
    await start(work);
    await publish(runEvent({ run: 'shared' }));
    await until(() => active === 1, { withinMs: 5_000, what: 'the trigger to be in work' });
    const found: number[] = [];
    let handled = 0;
    const sweep = startSweep({
      service: 'policy-gate', queue: strategy.queue, everyMs: 20, olderThanMs: 0,
      fetch: async () => (handled === 0 ? [{ tenant: 'acme', run: 'shared', reason: 'work', dueAt: 1 }] : []),
      handle: async () => { handled++; await work(); }, onFound: (n) => found.push(n), onTrouble: (error) => { throw error; },
    });
    await until(() => found.length > 0, { withinMs: 3_000, what: 'the sweep' });
    expect(handled).toBe(0);
    finish();
    await until(() => handled === 1, { withinMs: 3_000, what: 'the sweep\'s pass' });
    finish();
    await sweep.stop();
    expect(peak).toBe(1);
  });

  it('[RUN-4] terminates a message that is no run event, and goes on', async () => {
    await start(() => undefined);
    store.nc.publish('run.v1.acme.effect.policy-gate', new TextEncoder().encode('garbage'));
    await publish(runEvent());
    await until(() => seen.length === 1, { withinMs: 5_000, what: 'the good event' });
    await allAcked();
    expect(notices.filter((n) => n.kind === 'malformed')).toHaveLength(1);
  });
});
