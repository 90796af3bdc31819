import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openSandbox, type Sandbox } from '@n17q/testing';
import type { JetStreamManager } from 'nats';
import type { Bus } from './connection.js';
import { RUN_EVENTS_STREAM } from './names.js';
import { provision } from './provision.js';
import { WINDOW_MAX, lastMessage, publishWindow } from './relay.js';
import { Users, passwords, runEvent, withRoot } from './spec-kit.js';

describe('the relay\'s window', () => {
  const secrets = passwords();
  let sandbox: Sandbox;
  let users: Users;
  let store: Bus;
  let provisioner: Bus;
  let jsm: JetStreamManager;
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
  });
  afterAll(async () => {
    await users?.closeAll();
    await sandbox?.close();
  }, 30_000);

  const stored = async (): Promise<string[]> => {
    const { state } = await jsm.streams.info(RUN_EVENTS_STREAM);
    const ids: string[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq++) ids.push((await jsm.streams.getMessage(RUN_EVENTS_STREAM, { seq })).header.get('ce-id'));
    return ids;
  };

  it('[RUN-4] stores a full window in order, and a repeat stores nothing new', async () => {
    const events = Array.from({ length: WINDOW_MAX }, () => runEvent());
    expect(await publishWindow(store, events)).toEqual({ acked: WINDOW_MAX });
    expect(await stored()).toEqual(events.map((e) => e.eventId));
    expect(await publishWindow(store, events)).toEqual({ acked: WINDOW_MAX });
    expect(await stored()).toHaveLength(WINDOW_MAX);
  });

  it('[RUN-4] stops at the first message that was not stored and never lets a later one overtake it', async () => {
    const events = Array.from({ length: 20 }, () => runEvent());
    // The stream no longer takes the class of the eleventh message: nobody acknowledges it.
    await jsm.streams.update(RUN_EVENTS_STREAM, { subjects: ['run.v1.*.effect.*'] });
    const broken = events.map((e, i) => (i === 10 ? { ...e, class: 'budget' as const } : e));
    const first = await publishWindow(store, broken, 1_000);
    expect(first).toMatchObject({ acked: 10, failure: { index: 10, code: 'STREAM_MISSING' } });
    expect(await stored()).toEqual(broken.slice(0, 10).map((e) => e.eventId));
    await provision(provisioner);
    expect(await publishWindow(store, broken.slice(first.acked))).toEqual({ acked: 10 });
    expect(await stored()).toEqual(broken.map((e) => e.eventId));
  });

  it('[RUN-4] says that nothing was acknowledged when the stream is missing or the server is away', async () => {
    await jsm.streams.delete(RUN_EVENTS_STREAM);
    expect(await publishWindow(store, [runEvent()])).toMatchObject({ acked: 0, failure: { index: 0, code: 'STREAM_MISSING' } });
    expect(await lastMessage(store)).toEqual({ kind: 'stream-missing' });
  });

  it('[OPS-2] tells the tail of the stream, and an empty stream from a missing one', async () => {
    expect(await lastMessage(store)).toEqual({ kind: 'empty' });
    const events = [runEvent(), runEvent({ position: '0:77', revision: 9 })];
    await publishWindow(store, events);
    const last = await lastMessage(store);
    expect(last).toMatchObject({ kind: 'message', head: { position: '0:77', revision: 9, eventId: events[1]?.eventId, run: 'run-1' } });
  });

  it('[RUN-4] keeps order and loses nothing over kills of the server, going on from what was acknowledged', async () => {
    const events = Array.from({ length: 600 }, () => runEvent());
    let cursor = 0;
    let failures = 0;
    let kills = 0;
    const deadlineMs = performance.now() + 40_000;
    while (cursor < events.length && performance.now() < deadlineMs) {
      const due = kills < 2 && cursor >= 200 * (kills + 1) - 100;
      if (due && kills === 0) await sandbox.nats.kill(); // the first time before the window, the second time under it
      const window = publishWindow(store, events.slice(cursor, cursor + 100), 1_000);
      if (due && kills === 1) await sandbox.nats.kill();
      if (due) kills++;
      if (due && kills === 1) await window;
      if (due) await sandbox.nats.restart();
      const { acked, failure } = await window;
      cursor += acked;
      if (failure) failures++;
      if (failure) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect({ cursor, kills }).toEqual({ cursor: 600, kills: 2 });
    expect(failures).toBeGreaterThan(0);
    const ids = await stored();
    expect([...new Set(ids)]).toEqual(events.map((e) => e.eventId));
  }, 60_000);
});
