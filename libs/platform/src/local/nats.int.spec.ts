import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type NatsConnection } from 'nats';
import { findNatsServer } from './nats-binary.js';
import { startNats, type NatsHandle } from './nats.js';
import { isAlive } from './process-tree.js';
import { unwatchDirectory, watchDirectory } from './watchdog.js';

const USERS = (password: string): string => `authorization { users: [ { user: "tester", password: "${password}" } ] }`;

describe('the NATS launcher', () => {
  const dir = mkdtempSync(join(tmpdir(), 'n17q-nats-test-'));
  let nats: NatsHandle;
  const connections: NatsConnection[] = [];
  const client = async (pass = 'first'): Promise<NatsConnection> => {
    const made = await connect({ servers: nats.url, user: 'tester', pass, reconnect: false, timeout: 2_000 });
    connections.push(made);
    return made;
  };
  beforeAll(async () => {
    watchDirectory(dir);
    nats = await startNats({ storeDir: join(dir, 'store'), configText: USERS('first') });
  }, 30_000);
  afterAll(async () => {
    await Promise.allSettled(connections.map((one) => one.close()));
    await nats.kill();
    rmSync(dir, { recursive: true, force: true });
    unwatchDirectory(dir);
  }, 30_000);

  it('chooses its ports, answers on the monitor, and applies the configuration given', async () => {
    expect(nats.port).toBeGreaterThan(0);
    const answer = (await (await fetch(`http://127.0.0.1:${String(nats.monitorPort)}/jsz?config=1`)).json()) as { config: { max_storage: number; sync_always?: boolean } };
    expect(answer.config.max_storage).toBe(1024 ** 3);
    expect(answer.config.sync_always).toBe(true);
    await expect(client('wrong')).rejects.toMatchObject({ code: 'AUTHORIZATION_VIOLATION' });
    expect(statSync(join(nats.storeDir, 'nats.conf')).mode & 0o077).toBe(0);
  });

  it('keeps acknowledged messages over SIGKILL and restarts on the same port', async () => {
    const before = await client();
    await (await before.jetstreamManager()).streams.add({ name: 'KEPT', subjects: ['kept.>'] });
    await before.jetstream().publish('kept.one', 'payload');
    const { pid, port } = nats;
    await nats.kill();
    expect(isAlive(pid)).toBe(false);
    expect(await nats.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await nats.restart();
    expect(nats.port).toBe(port);
    const after = await client();
    expect((await (await after.jetstreamManager()).streams.info('KEPT')).state.messages).toBe(1);
    expect(readdirSync(join(nats.storeDir, 'ports'))).toEqual([`nats-server_${String(nats.pid)}.ports`]);
  }, 30_000);

  it('makes a client time out while paused and answers when resumed', async () => {
    const connected = await client();
    const manager = await connected.jetstreamManager({ timeout: 200 });
    nats.pause();
    await expect(manager.streams.info('KEPT')).rejects.toMatchObject({ code: 'TIMEOUT' });
    nats.resume();
    expect((await manager.streams.info('KEPT')).config.name).toBe('KEPT');
  }, 30_000);

  it('reloads users without a restart, and keeps the old text when the new one is refused', async () => {
    const { pid } = nats;
    await nats.reload(USERS('second'));
    await client('second');
    await expect(client('first')).rejects.toMatchObject({ code: 'AUTHORIZATION_VIOLATION' });
    await expect(nats.reload('authorization {')).rejects.toMatchObject({ code: 'RELOAD_FAILED' });
    await nats.reload();
    await client('second');
    expect(nats.pid).toBe(pid);
    await nats.restart();
    await nats.reload(USERS('third')); // ports are fixed now: still the same ones
    await client('third');
  }, 30_000);

  it('says that a port is taken in one sentence', async () => {
    await expect(startNats({ storeDir: join(dir, 'second'), port: nats.port })).rejects.toMatchObject({
      code: 'PORT_IN_USE',
      message: expect.stringMatching(/^nats-server cannot listen on port \d+ because another program uses it: end that program or choose another port\.\n/),
    });
  });

  it('gives the server\'s own words when the configuration is broken', async () => {
    await expect(startNats({ storeDir: join(dir, 'third'), configText: 'no_such_thing: 3' })).rejects.toMatchObject({
      code: 'START_FAILED', message: expect.stringContaining('unknown field "no_such_thing"'),
    });
  });

  it('stops on request, and a repeat does nothing', async () => {
    await nats.stop();
    await nats.stop();
    await expect(nats.reload()).rejects.toMatchObject({ code: 'RELOAD_FAILED' });
    expect(existsSync(nats.logFile)).toBe(true);
  });

  it('refuses a server that is too old or missing by name, and says how to provide one', () => {
    const old = join(dir, 'nats-server-old');
    writeFileSync(old, '#!/bin/sh\necho "nats-server: v2.9.10"\n');
    chmodSync(old, 0o755);
    expect(() => findNatsServer(old)).toThrow(/^nats-server 2\.10 or newer is needed \(.*nats-server-old is 2\.9\.10\): run \.\/n17q up, .*N17Q_NATS_SERVER.*N17Q_NATS_URL/);
    expect(() => findNatsServer(join(dir, 'nowhere'))).toThrow(/is not a nats-server that starts here: .*N17Q_NATS_SERVER.*N17Q_NATS_URL/);
  });
});
