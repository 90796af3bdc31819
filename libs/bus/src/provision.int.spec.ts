import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openSandbox, type Sandbox } from '@n17q/testing';
import { nanos } from 'nats';
import type { Bus } from './connection.js';
import { RUN_EVENTS_STREAM } from './names.js';
import { inspectProvisioning, provision } from './provision.js';
import { Users, passwords, withRoot } from './spec-kit.js';
import { CONSUMERS, STREAM } from './topology.js';

describe('provisioning', () => {
  const secrets = passwords();
  let sandbox: Sandbox;
  let users: Users;
  let provisioner: Bus;
  let root: Bus;
  beforeAll(async () => {
    sandbox = await openSandbox({ nats: { configText: withRoot(secrets, 'root-of-this-test') } });
    users = new Users(() => sandbox.nats.url, secrets);
    provisioner = await users.connect('provisioner');
    root = await users.connect('provisioner', { user: 'root', password: 'root-of-this-test' });
  }, 60_000);
  afterAll(async () => {
    await users?.closeAll();
    await sandbox?.close();
  }, 30_000);

  it('[SVC-1] makes the stream and every consumer with the provisioner\'s rights, and a repeat changes nothing', async () => {
    expect((await inspectProvisioning(provisioner)).missing).toHaveLength(1 + CONSUMERS.length);
    const first = await provision(provisioner);
    expect(first.created).toEqual([`stream ${STREAM.name}`, ...CONSUMERS.map((c) => `consumer ${c.durable_name}`)]);
    expect(first).toMatchObject({ updated: [], drift: [], unexpected: [] });
    expect(await provision(provisioner)).toEqual({ created: [], updated: [], drift: [], unexpected: [] });
    const jsm = await root.nc.jetstreamManager();
    const kept = (await jsm.streams.info(RUN_EVENTS_STREAM)).config;
    expect(kept).toMatchObject({ ...STREAM, subjects: ['run.v1.>'] });
    const gate = (await jsm.consumers.info(RUN_EVENTS_STREAM, 'policy-gate')).config;
    expect(gate).toMatchObject({ filter_subject: 'run.v1.*.*.policy-gate', max_deliver: 32, max_ack_pending: 256, ack_wait: nanos(10_000) });
  });

  it('[SVC-1] reports what somebody changed and puts it right, and names consumers that nobody asked for', async () => {
    const jsm = await root.nc.jetstreamManager();
    await jsm.streams.update(RUN_EVENTS_STREAM, { max_age: nanos(1000 * 3600) });
    await jsm.consumers.update(RUN_EVENTS_STREAM, 'api', { max_ack_pending: 7 });
    await jsm.consumers.update(RUN_EVENTS_STREAM, 'policy-gate', { filter_subject: undefined, filter_subjects: ['run.v1.a.>', 'run.v1.b.>'] } as never);
    await jsm.consumers.add(RUN_EVENTS_STREAM, { durable_name: 'stranger' });
    const seen = await inspectProvisioning(provisioner);
    expect(seen.drift.map((d) => `${d.asset} ${d.field}`).sort()).toEqual([
      `stream ${RUN_EVENTS_STREAM} max_age`, 'consumer policy-gate filter_subject', 'consumer policy-gate filter_subjects', 'consumer api max_ack_pending',
    ].sort());
    expect(seen.unexpected).toEqual(['stranger']);
    const repaired = await provision(provisioner);
    expect(repaired.updated).toEqual([`stream ${RUN_EVENTS_STREAM}`, 'consumer policy-gate', 'consumer api']);
    expect(repaired.drift).toContainEqual({ asset: 'consumer api', field: 'max_ack_pending', wanted: 256, found: 7 });
    expect((await inspectProvisioning(provisioner)).drift).toEqual([]);
    await jsm.consumers.delete(RUN_EVENTS_STREAM, 'stranger');
  });

  it('[RUN-4] makes what is missing after a stop between stream and consumers', async () => {
    const jsm = await root.nc.jetstreamManager();
    await jsm.consumers.delete(RUN_EVENTS_STREAM, 'context-compiler');
    expect((await provision(provisioner)).created).toEqual(['consumer context-compiler']);
  });

  it('[SVC-1] says what the server refused instead of going on', async () => {
    await expect(provision(provisioner, { streamBytesMax: 1024 ** 4 })).rejects.toMatchObject({ code: 'PROVISIONING_FAILED' });
  });
});
