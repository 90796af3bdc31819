import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { openSandbox, until, type Sandbox } from '@n17q/testing';
import type { Bus } from './connection.js';
import { BusFault, refuse } from './faults.js';
import { serviceSubject, storeEndpoint, storeSubject } from './names.js';
import { request } from './request.js';
import { serve, type RequestHandler, type ServeOptions, type Serving } from './serve.js';
import { natsConfig } from './server-config.js';
import { Users, passwords } from './spec-kit.js';

describe('request and reply', () => {
  const secrets = passwords();
  let sandbox: Sandbox;
  let users: Users;
  let store: Bus;
  let gate: Bus;
  let serving: Serving | undefined;
  beforeAll(async () => {
    sandbox = await openSandbox({ nats: { configText: natsConfig({ passwords: secrets }) } });
    users = new Users(() => sandbox.nats.url, secrets);
    store = await users.connect('event-store');
    gate = await users.connect('policy-gate');
  }, 60_000);
  afterEach(async () => {
    await serving?.close(500);
    serving = undefined;
  });
  afterAll(async () => {
    await users?.closeAll();
    await sandbox?.close();
  }, 30_000);

  const answering = async (handler: RequestHandler, more: Partial<ServeOptions> = {}): Promise<Serving> =>
    (serving = await serve(store, { name: 'event-store', version: '1.0.0', endpoints: [{ name: 'append', subject: storeEndpoint('append'), handler }], ...more }));
  const ask = (body: unknown = {}, timeoutMs = 3_000) => request(gate, storeSubject('append', 'policy-gate'), body, { timeoutMs });

  it('[SVC-1] carries an answer, a refusal and a fault apart, and tells the responder who asks and in which trace', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await answering((body, ctx) => {
      const { want } = body as { want: string };
      if (want === 'refusal') return refuse({ code: 'WRONG_OWNER', facts: { type: 'x' } });
      if (want === 'known fault') throw Object.assign(new Error('store is away'), { code: 'STORE_AWAY', mayHaveActed: false });
      if (want === 'bug') throw new TypeError('oops');
      return { caller: ctx.caller, trace: ctx.trace };
    });
    expect(await request(gate, storeSubject('append', 'policy-gate'), { want: 'answer' }, { timeoutMs: 3_000, traceHeaders: { traceparent } }))
      .toEqual({ kind: 'answered', value: { caller: 'policy-gate', trace: { traceparent } } });
    expect(await ask({ want: 'refusal' })).toEqual({ kind: 'refused', refusal: { code: 'WRONG_OWNER', facts: { type: 'x' } } });
    expect(await ask({ want: 'known fault' })).toMatchObject({ kind: 'fault', mayHaveActed: false, remote: { code: 'STORE_AWAY', message: 'store is away' } });
    expect(await ask({ want: 'bug' })).toMatchObject({ kind: 'fault', code: 'HANDLER_FAILED', mayHaveActed: true });
  });

  it('[RUN-4] says that nothing left when nobody listens, when it may not ask, and when the body is too large', async () => {
    expect(await ask()).toMatchObject({ kind: 'fault', code: 'NO_RESPONDERS', mayHaveActed: false });
    let calls = 0;
    await answering(() => { calls++; });
    expect(await request(gate, storeSubject('append', 'api'), {}, { timeoutMs: 3_000 })).toMatchObject({ kind: 'fault', code: 'PERMISSION_REFUSED', mayHaveActed: false });
    expect(await ask('x'.repeat(1_000_000))).toMatchObject({ kind: 'fault', code: 'PAYLOAD_TOO_LARGE', mayHaveActed: false });
    expect(calls).toBe(0);
    expect(await ask('x'.repeat(999_990))).toMatchObject({ kind: 'answered' });
  });

  it('[RUN-4] says that something may have happened when no answer comes in time or the answer is too large', async () => {
    let calls = 0;
    let release: () => void = () => undefined;
    await answering((body) => {
      calls++;
      return body === 'large' ? 'x'.repeat(1_000_001) : new Promise<void>((resolve) => { release = resolve; });
    });
    expect(await ask({}, 150)).toMatchObject({ kind: 'fault', code: 'TIMEOUT', mayHaveActed: true });
    release();
    expect(await ask('large')).toMatchObject({ kind: 'fault', code: 'REPLY_TOO_LARGE', mayHaveActed: true });
    expect(calls).toBe(2);
  });

  it('[RUN-4] says so at once when the connection is lost while waiting, and sends nothing while it is away', async () => {
    let calls = 0;
    await answering(() => { calls++; return new Promise<void>(() => undefined); });
    const pending = ask({}, 30_000);
    await until(() => calls === 1, { withinMs: 3_000, what: 'the request to arrive' });
    await sandbox.nats.kill();
    expect(await pending).toMatchObject({ kind: 'fault', code: 'DISCONNECTED', mayHaveActed: true });
    expect(await ask()).toMatchObject({ kind: 'fault', code: 'NOT_CONNECTED', mayHaveActed: false });
    expect(gate.status().state).toBe('disconnected');
    await sandbox.nats.restart();
    await until(() => gate.status().state === 'connected' && store.status().state === 'connected', { withinMs: 10_000, what: 'both to be back' });
    void ask({}, 500);
    await until(() => calls === 2, { withinMs: 3_000, what: 'service to go on after the outage' });
  });

  it('[SVC-4] runs a bounded number of handlers, lets a bounded number wait, and turns the rest away unharmed', async () => {
    let active = 0;
    let peak = 0;
    const gates: (() => void)[] = [];
    await answering(async () => {
      peak = Math.max(peak, ++active);
      await new Promise<void>((resolve) => gates.push(resolve));
      active--;
    }, { concurrencyMax: 2, queueMax: 3 });
    const asked = Array.from({ length: 9 }, () => ask());
    await until(() => serving?.load().overloaded === 4, { withinMs: 3_000, what: 'four to be turned away' });
    expect(serving?.load()).toEqual({ active: 2, waiting: 3, overloaded: 4 });
    const done = Promise.all(asked);
    const opener = setInterval(() => gates.splice(0).forEach((open) => open()), 5);
    const outcomes = await done.finally(() => clearInterval(opener));
    expect(peak).toBe(2);
    expect(outcomes.filter((o) => o.kind === 'answered')).toHaveLength(5);
    expect(outcomes.filter((o) => o.kind === 'fault' && o.code === 'OVERLOADED' && !o.mayHaveActed)).toHaveLength(4);
  });

  it('[RUN-4] never begins what nobody waits for any more', async () => {
    const seen: unknown[] = [];
    let open: () => void = () => undefined;
    await answering((body) => {
      seen.push(body);
      return body === 'first' ? new Promise<void>((resolve) => { open = resolve; }) : undefined;
    }, { concurrencyMax: 1 });
    const first = ask('first');
    await until(() => seen.length === 1, { withinMs: 3_000, what: 'the first to begin' });
    expect(await ask('late', 100)).toMatchObject({ code: 'TIMEOUT' });
    const last = ask('last');
    await until(() => serving?.load().waiting === 2, { withinMs: 3_000, what: 'two to wait' });
    open();
    await Promise.all([first, last]);
    expect(seen).toEqual(['first', 'last']);
  });

  it('[SVC-4] finishes what is in work when it stops, and takes nothing new', async () => {
    const gates: (() => void)[] = [];
    await answering(() => new Promise<string>((resolve) => gates.push(() => resolve('done'))));
    const asked = ask({}, 10_000);
    await until(() => gates.length === 1, { withinMs: 3_000, what: 'the request to begin' });
    const closing = serving?.close(8_000);
    await until(async () => { const o = await ask({}, 200); return o.kind === 'fault' && o.code === 'NO_RESPONDERS'; }, { withinMs: 5_000, what: 'the service to be gone' });
    gates.forEach((open) => open());
    await closing;
    expect(await asked).toEqual({ kind: 'answered', value: 'done' });
  });

  it('[SVC-4] shares requests among replicas', async () => {
    const second = await users.connect('event-store');
    const counts = [0, 0];
    await answering(() => { counts[0] = (counts[0] ?? 0) + 1; });
    const other = await serve(second, { name: 'event-store', version: '1.0.0', endpoints: [{ name: 'append', subject: storeEndpoint('append'), handler: () => { counts[1] = (counts[1] ?? 0) + 1; } }] });
    await Promise.all(Array.from({ length: 100 }, () => ask()));
    expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe(100);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    await other.close();
  });

  it('[SVC-1] is found and described by ordinary NATS tools', async () => {
    await answering(() => null);
    const gateServing = await serve(gate, { name: 'policy-gate', version: '1.2.3', endpoints: [{ name: 'explain', subject: serviceSubject('policy-gate', 'explain'), handler: () => null }] });
    const provisioner = await users.connect('provisioner');
    const client = provisioner.nc.services.client({ strategy: 'timer' as never, maxWait: 500 });
    const names: string[] = [];
    for await (const found of await client.ping()) names.push(`${found.name} ${found.version}`);
    expect(names.sort()).toEqual(['event-store 1.0.0', 'policy-gate 1.2.3']);
    const subjects: string[] = [];
    for await (const info of await client.info('event-store')) subjects.push(...info.endpoints.map((e) => e.subject));
    expect(subjects).toEqual(['n17q.v1.store.append.*']);
    await gateServing.close();
  });

  it('[SVC-4] refuses to serve where the user may not listen', async () => {
    await expect(serve(gate, { name: 'policy-gate', version: '1.0.0', endpoints: [{ name: 'append', subject: storeEndpoint('append'), handler: () => null }] }))
      .rejects.toMatchObject({ code: 'PERMISSION_REFUSED' } satisfies Partial<BusFault>);
  });
});
