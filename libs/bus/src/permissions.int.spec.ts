import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SERVICES } from '@n17q/domain';
import { openSandbox, type Sandbox } from '@n17q/testing';
import { NatsError, headers } from 'nats';
import type { Bus } from './connection.js';
import { BUS_USERS, REACTORS, RUN_EVENTS_STREAM, inboxPrefix, type BusUser } from './names.js';
import { provision } from './provision.js';
import { natsConfig } from './server-config.js';
import { Users, passwords } from './spec-kit.js';
import { CONSUMERS, durablesOf } from './topology.js';

const S = RUN_EVENTS_STREAM;

/** Publishes, and waits until the server has either taken it or said no. */
async function mayPublish(bus: Bus, refusals: string[], subject: string): Promise<boolean> {
  const before = refusals.length;
  bus.nc.publish(subject, new TextEncoder().encode('{}'), { headers: headers() });
  await bus.flush();
  await new Promise((resolve) => setImmediate(resolve)); // the refusal precedes the pong, its notice is one turn behind
  return !refusals.slice(before).some((r) => r.includes(subject));
}

async function maySubscribe(bus: Bus, subject: string): Promise<boolean> {
  let refused = false;
  const sub = bus.nc.subscribe(subject, { callback: (error) => { refused ||= error instanceof NatsError; } });
  await bus.flush();
  await new Promise((resolve) => setImmediate(resolve));
  if (!refused) sub.unsubscribe();
  return !refused;
}

describe('the rights of bus users', () => {
  const secrets = passwords();
  let sandbox: Sandbox;
  let users: Users;
  const buses = new Map<BusUser, Bus>();
  const refusals = new Map<BusUser, string[]>();

  beforeAll(async () => {
    sandbox = await openSandbox({ nats: { configText: natsConfig({ passwords: secrets }) } });
    users = new Users(() => sandbox.nats.url, secrets);
    for (const user of BUS_USERS) {
      const list: string[] = [];
      refusals.set(user, list);
      buses.set(user, await users.connect(user, { onNotice: (n) => { if (n.kind === 'permission-refused') list.push(n.detail); } }));
    }
    await provision(buses.get('provisioner') as Bus);
  }, 60_000);
  afterAll(async () => {
    await users?.closeAll();
    await sandbox?.close();
  }, 30_000);

  const bus = (user: BusUser): Bus => buses.get(user) as Bus;
  const publishes = (user: BusUser, subject: string): Promise<boolean> => mayPublish(bus(user), refusals.get(user) as string[], subject);

  it.each(SERVICES)('[SVC-4] lets %s ask the store under its own name and under no other', async (service) => {
    for (const other of SERVICES) {
      for (const verb of ['append', 'read']) {
        expect({ other, verb, may: await publishes(service, `n17q.v1.store.${verb}.${other}`) }).toEqual({ other, verb, may: other === service && service !== 'event-store' });
      }
    }
  });

  it.each(BUS_USERS)('[SVC-4] lets %s publish run events only if it is the event store', async (user) => {
    expect(await publishes(user, 'run.v1.acme.effect.none')).toBe(user === 'event-store');
  });

  it.each(BUS_USERS)('[SVC-4] lets %s listen to store requests only if it is the event store, and to nobody else\'s inbox', async (user) => {
    expect(await maySubscribe(bus(user), 'n17q.v1.store.>')).toBe(user === 'event-store');
    expect(await maySubscribe(bus(user), 'n17q.v1.store.append.*')).toBe(user === 'event-store');
    expect(await maySubscribe(bus(user), 'run.v1.>')).toBe(false);
    expect(await maySubscribe(bus(user), '>')).toBe(false);
    for (const other of BUS_USERS) expect({ other, may: await maySubscribe(bus(user), `${inboxPrefix(other)}.x.*`) }).toEqual({ other, may: other === user });
  });

  it.each([...REACTORS, 'api'] as const)('[SVC-4] lets %s pull and acknowledge its own consumers, in both forms of the ack subject, and no other', async (service) => {
    for (const other of CONSUMERS.map((c) => c.durable_name)) {
      const own = durablesOf(service).includes(other);
      for (const subject of [
        `$JS.API.CONSUMER.INFO.${S}.${other}`, `$JS.API.CONSUMER.MSG.NEXT.${S}.${other}`,
        `$JS.ACK.${S}.${other}.1.1.1.1.0`, `$JS.ACK._.hash.${S}.${other}.1.1.1.1.0.r`,
      ]) expect({ subject, may: await publishes(service, subject) }).toEqual({ subject, may: own });
    }
  });

  it.each(SERVICES)('[SVC-4] lets %s change or read nothing of JetStream itself', async (service) => {
    for (const subject of [
      '$JS.API.INFO', `$JS.API.STREAM.DELETE.${S}`, `$JS.API.STREAM.PURGE.${S}`, `$JS.API.STREAM.UPDATE.${S}`, '$JS.API.STREAM.CREATE.OTHER',
      `$JS.API.CONSUMER.DURABLE.CREATE.${S}.mine`, `$JS.API.CONSUMER.CREATE.${S}.mine`, `$JS.API.CONSUMER.DELETE.${S}.policy-gate`, `$JS.API.DIRECT.GET.${S}`,
      '$SYS.REQ.SERVER.PING',
    ]) expect({ subject, may: await publishes(service, subject) }).toEqual({ subject, may: false });
    expect(await publishes(service, `$JS.API.STREAM.MSG.GET.${S}`)).toBe(service === 'event-store');
  });

  it.each(REACTORS)('[SVC-1] lets the api ask %s, which alone may listen there, and nobody else ask', async (service) => {
    const subject = `n17q.v1.${service}.explain`;
    for (const user of BUS_USERS) {
      expect({ user, ask: await publishes(user, subject) }).toEqual({ user, ask: user === 'api' });
      expect({ user, listen: await maySubscribe(bus(user), subject) }).toEqual({ user, listen: user === service });
    }
  });

  it('[SVC-4] lets a responder answer only those who may ask it', async () => {
    for (const asker of BUS_USERS) {
      expect({ asker, may: await publishes('event-store', `${inboxPrefix(asker)}.a.b`) }).toEqual({ asker, may: asker !== 'event-store' });
      expect({ asker, may: await publishes('policy-gate', `${inboxPrefix(asker)}.a.b`) }).toEqual({ asker, may: asker === 'api' || asker === 'provisioner' });
      expect({ asker, may: await publishes('api', `${inboxPrefix(asker)}.a.b`) }).toEqual({ asker, may: asker === 'provisioner' });
    }
  });

  it('[SVC-4] refuses a wrong password at once and by name', async () => {
    await expect(users.connect('api', { password: 'wrong-but-long-enough' })).rejects.toMatchObject({ code: 'CREDENTIALS_REFUSED' });
    await expect(users.connect('api', { password: '' })).rejects.toMatchObject({ code: 'CREDENTIALS_REFUSED' });
  });
});
