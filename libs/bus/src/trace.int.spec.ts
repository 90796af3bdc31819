import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { context, propagation, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { openSandbox, until, type Sandbox } from '@n17q/testing';
import { RunEventsStrategy } from './strategy.js';
import { RUN_EVENT, storeEndpoint, storeSubject } from './names.js';
import type { RunEvent } from './intake.js';
import { provision } from './provision.js';
import { publishWindow } from './relay.js';
import { request } from './request.js';
import { serve } from './serve.js';
import { natsConfig } from './server-config.js';
import { Users, passwords, runEvent } from './spec-kit.js';
import type { TraceHeaders } from './trace.js';

const activeTrace = (): string | undefined => trace.getActiveSpan()?.spanContext().traceId;

describe('a trace', () => {
  const secrets = passwords();
  const ended: string[] = [];
  const sdk = new NodeSDK({
    autoDetectResources: false, instrumentations: [], metricReaders: [], logRecordProcessors: [],
    spanProcessors: [{ onStart: () => undefined, onEnd: (span) => { ended.push(`${span.name} ${span.spanContext().traceId}`); }, forceFlush: async () => undefined, shutdown: async () => undefined }],
  });
  let sandbox: Sandbox;
  let users: Users;
  let strategy: RunEventsStrategy | undefined;
  beforeAll(async () => {
    sdk.start();
    sandbox = await openSandbox({ nats: { configText: natsConfig({ passwords: secrets }) } });
    users = new Users(() => sandbox.nats.url, secrets);
    await provision(await users.connect('provisioner'));
  }, 60_000);
  afterAll(async () => {
    await strategy?.close();
    await users?.closeAll();
    await sandbox?.close();
    await sdk.shutdown();
  }, 30_000);

  it('[SVC-3] goes from the asker through the responder and the stored event to the service that reacts', async () => {
    const [store, gate, sealer] = [await users.connect('event-store'), await users.connect('policy-gate'), await users.connect('checkpoint-sealer')];
    await serve(store, {
      name: 'event-store', version: '1.0.0',
      endpoints: [{ name: 'append', subject: storeEndpoint('append'), handler: () => {
        const carrier: Record<string, string> = {};
        propagation.inject(context.active(), carrier);
        return carrier; // what the store would keep with the event
      } }],
    });
    const reacted: { event: RunEvent; active: string | undefined }[] = [];
    strategy = new RunEventsStrategy({ bus: sealer, version: '1.0.0', deadLetter: async () => undefined });
    strategy.addHandler(RUN_EVENT, async (event: RunEvent) => { reacted.push({ event, active: activeTrace() }); }, true);
    await strategy.listen((error) => { if (error) throw error; });
    await trace.getTracer('test').startActiveSpan('caller', async (span) => {
      const mine = span.spanContext().traceId;
      const kept = await request<TraceHeaders>(gate, storeSubject('append', 'policy-gate'), {}, { timeoutMs: 3_000 });
      if (kept.kind !== 'answered') throw new Error(`expected an answer, got ${kept.kind}`);
      expect(kept.value.traceparent).toContain(mine);
      await context.with(trace.deleteSpan(context.active()), async () => { // the relay runs outside of any request
        await publishWindow(store, [runEvent({ wake: 'checkpoint-sealer', trace: kept.value })]);
      });
      await until(() => reacted.length === 1, { withinMs: 5_000, what: 'the reaction' });
      expect(reacted[0]).toMatchObject({ active: mine, event: { trace: { traceparent: kept.value.traceparent } } });
      span.end();
      await until(() => ended.filter((s) => s.endsWith(mine)).length === 4, { withinMs: 3_000, what: 'four spans' });
      expect(ended.filter((s) => s.endsWith(mine)).map((s) => s.slice(0, -33)).sort()).toEqual(
        ['caller', 'process effect.intended', 'request n17q.v1.store.append.policy-gate', 'serve n17q.v1.store.append.*']);
    });
  });
});
