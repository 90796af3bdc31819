import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { openSandbox, until, type Sandbox } from '@n17q/testing';
import type { Bus, BusNotice } from './connection.js';
import { delivered } from './delivery.js';
import { storeEndpoint, storeSubject } from './names.js';
import { provision } from './provision.js';
import { PullLoop, type PullState } from './pull.js';
import { publishWindow } from './relay.js';
import { request } from './request.js';
import { serve } from './serve.js';
import { natsConfig } from './server-config.js';
import { Users, passwords, runEvent } from './spec-kit.js';

// The client's own defaults give up after ten attempts two seconds apart.
const OUTAGE_MS = 25_000;

describe('an outage of NATS', () => {
  const secrets = passwords();
  let sandbox: Sandbox;
  let users: Users;
  let store: Bus;
  let gate: Bus;
  const notices: BusNotice[] = [];
  const states: PullState[] = [];
  const taken: string[] = [];
  let pull: PullLoop;
  beforeAll(async () => {
    sandbox = await openSandbox({ nats: { configText: natsConfig({ passwords: secrets }) } });
    users = new Users(() => sandbox.nats.url, secrets);
    await provision(await users.connect('provisioner'));
    store = await users.connect('event-store');
    gate = await users.connect('policy-gate', { reconnectWaitMs: 500, onNotice: (n) => notices.push(n) });
    pull = new PullLoop({
      bus: gate, durable: 'policy-gate', room: () => 8, onState: (s) => states.push(s), heartbeatMs: 500,
      onMessage: (msg) => { const d = delivered(msg); taken.push(d.head?.eventId ?? '?'); d.ack(); },
    });
    pull.start();
  }, 60_000);
  afterAll(async () => {
    await pull?.stop();
    await users?.closeAll();
    await sandbox?.close();
  }, 30_000);

  it('[RUN-4] longer than a client\'s usual patience is survived by itself: events, requests and acknowledgements go on', async () => {
    await serve(store, { name: 'event-store', version: '1.0.0', endpoints: [{ name: 'read', subject: storeEndpoint('read'), handler: () => 'here' }] });
    const before = runEvent();
    await publishWindow(store, [before]);
    await until(() => taken.includes(before.eventId), { withinMs: 5_000, what: 'the first event' });
    await sandbox.nats.kill();
    const killedAtMs = Date.now();
    await until(() => gate.status().state === 'disconnected', { withinMs: 2_000, what: 'the loss to be seen' });
    expect(gate.status().sinceMs).toBeGreaterThanOrEqual(killedAtMs - 50);
    await delay(OUTAGE_MS); // the length of the outage is what is tested
    expect(await publishWindow(store, [runEvent()])).toMatchObject({ acked: 0, failure: { code: 'NOT_CONNECTED' } });
    await sandbox.nats.restart();
    const after = runEvent();
    await until(async () => (await publishWindow(store, [after])).acked === 1, { withinMs: 10_000, what: 'the relay to go on' });
    await until(() => taken.includes(after.eventId), { withinMs: 10_000, what: 'the event after the outage' });
    await until(async () => (await request(gate, storeSubject('read', 'policy-gate'), {}, { timeoutMs: 1_000 })).kind === 'answered', { withinMs: 5_000, what: 'an answer' });
    expect(notices.map((n) => n.kind).filter((k) => k === 'disconnected' || k === 'reconnected')).toEqual(['disconnected', 'reconnected']);
    expect(states.filter((s) => s.state === 'trouble').map((s) => s.code)).toEqual(['DISCONNECTED']);
  }, 60_000);

  it('[RUN-4] that is a server standing still is noticed by missing heartbeats, and deliveries go on when it moves again', async () => {
    const aliveBefore = pull.aliveAtMs;
    sandbox.nats.pause();
    await until(() => states.some((s) => s.state === 'trouble' && s.code === 'NO_HEARTBEAT'), { withinMs: 10_000, what: 'the silence to be told' });
    sandbox.nats.resume();
    const event = runEvent();
    await until(async () => (await publishWindow(store, [event], 1_000)).acked === 1, { withinMs: 10_000, what: 'the relay to go on' });
    await until(() => taken.includes(event.eventId), { withinMs: 10_000, what: 'the event' });
    expect(pull.aliveAtMs).toBeGreaterThan(aliveBefore);
  }, 40_000);
});
