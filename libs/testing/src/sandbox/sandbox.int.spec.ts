import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'nats';
import pg from 'pg';
import { descendantsOf, isAlive } from '@n17q/platform';
import { openSandbox, until, type Sandbox } from './index.js';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('a sandbox', () => {
  let sandbox: Sandbox;
  beforeAll(async () => { sandbox = await openSandbox({ postgres: true, nats: {} }); }, 60_000);
  afterAll(() => sandbox.close(), 30_000);

  it('gives each caller of database() an empty database of its own', async () => {
    const [one, two] = [await sandbox.database(), await sandbox.database()];
    expect(one).not.toBe(two);
    await query(one, 'CREATE TABLE only_here (x int)');
    await expect(query(two, 'SELECT * FROM only_here')).rejects.toThrow('does not exist');
  });

  it('gives a NATS server with JetStream', async () => {
    const client = await connect({ servers: sandbox.nats.url });
    const info = await (await client.jetstreamManager()).getAccountInfo();
    expect(info.streams).toBe(0);
    await client.close();
  });

  it('runs beside another sandbox, which leaves no process and no folder when closed, also when closed twice', async () => {
    const other = await openSandbox({ postgres: true, nats: {} });
    const client = new pg.Client({ connectionString: await other.database() });
    client.on('error', () => undefined); // close() cuts it
    await client.connect();
    const pids = [other.nats.pid, other.postgres.pid, ...descendantsOf(other.postgres.pid)];
    expect(pids.length).toBeGreaterThan(5);
    expect(pids.filter((pid) => !isAlive(pid))).toEqual([]);
    expect(other.postgres.port).not.toBe(sandbox.postgres.port);
    await Promise.all([other.close(), other.close()]);
    await other.close();
    expect(pids.filter(isAlive)).toEqual([]);
    expect(existsSync(other.dir)).toBe(false);
    expect(await query(sandbox.postgres.url(), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('closes while its servers are paused', async () => {
    const other = await openSandbox({ postgres: true, nats: {} });
    const pids = [other.nats.pid, other.postgres.pid, ...descendantsOf(other.postgres.pid)];
    other.postgres.pause();
    other.nats.pause();
    await other.close();
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('runs a program, sees its lines, and kills, pauses and stops it', async () => {
    const entry = join(sandbox.dir, 'ticker.mjs');
    writeFileSync(entry, `
      let n = 0; console.log('ready', process.env.COLOUR, process.env.NODE_ENV ?? 'clean'); console.error('to stderr');
      setInterval(() => console.log('tick', ++n), 5);
      process.on('SIGTERM', () => { console.log('bye'); process.exit(0); });`);
    const service = await sandbox.spawnService({ entry, env: { COLOUR: 'green' }, name: 'ticker' });
    expect((await service.waitForLine(/^ready (\w+) (\w+)$/, 5_000)).slice(1)).toEqual(['green', 'clean']);
    await service.waitForLine(/to stderr/, 1_000);
    service.pause();
    let before = -1;
    const quiet = await until(() => {
      const now = service.stdout().length;
      const same = now === before;
      before = now;
      return same ? now : undefined;
    }, { withinMs: 2_000, everyMs: 40, what: 'the paused program to fall silent' });
    service.resume();
    await until(() => service.stdout().length > quiet, { withinMs: 2_000, what: 'the resumed program to speak' });
    await service.stop();
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(service.tail()).toContain('bye');
    const second = await sandbox.spawnService({ entry, env: {}, name: 'ticker' });
    await second.waitForLine(/tick 3$/, 5_000);
    expect(second.stdout()).not.toContain('bye');
    await second.kill();
    expect(await second.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await expect(second.waitForLine(/never/, 5_000)).rejects.toThrow('ended (SIGKILL) without a line that matches /never/');
  }, 20_000);
});
