import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { LocalServerFault } from './local-server-fault.js';
import { findPostgres } from './postgres-binaries.js';
import { descendantsOf, isAlive } from './process-tree.js';
import { startPostgres, type PostgresHandle } from './postgres.js';
import { tailOf } from './server-process.js';
import { unwatchDirectory, watchDirectory } from './watchdog.js';

const PASSWORD = 'p/a:s s@w%rd';

describe('the Postgres launcher', () => {
  const dir = mkdtempSync(join(tmpdir(), 'n17q-pg-test-'));
  const dataDir = join(dir, 'data');
  let postgres: PostgresHandle;
  const clients: pg.Client[] = [];
  const client = async (url = postgres.url()): Promise<pg.Client> => {
    const made = new pg.Client({ connectionString: url });
    made.on('error', () => undefined); // servers are killed under it
    clients.push(made);
    await made.connect();
    return made;
  };
  beforeAll(async () => {
    chmodSync(dir, 0o711);
    watchDirectory(dir);
    postgres = await startPostgres({ dataDir, superuserPassword: PASSWORD });
    await (await client()).query('CREATE TABLE kept (x int)');
  }, 60_000);
  afterAll(async () => {
    await Promise.allSettled(clients.map((one) => one.end()));
    await postgres.kill();
    rmSync(dir, { recursive: true, force: true });
    unwatchDirectory(dir);
  }, 30_000);

  it('is durable, checks pages, speaks UTF-8 in the C locale and listens on loopback alone', async () => {
    const names = ['fsync', 'synchronous_commit', 'full_page_writes', 'data_checksums', 'server_encoding', 'listen_addresses', 'unix_socket_directories', 'password_encryption'];
    const { rows } = await (await client()).query<{ name: string; setting: string }>('SELECT name, setting FROM pg_settings WHERE name = ANY($1)', [names]);
    expect(Object.fromEntries(rows.map((row) => [row.name, row.setting]))).toEqual({
      fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on', data_checksums: 'on', server_encoding: 'UTF8',
      listen_addresses: '127.0.0.1', unix_socket_directories: '', password_encryption: 'scram-sha-256',
    });
  });

  it('lets nobody in without the password', async () => {
    await expect(client(postgres.url('postgres', 'wrong'))).rejects.toThrow('password authentication failed');
  });

  it('leaves no process when killed, and has what was committed after restart on the same port', async () => {
    await (await client()).query('INSERT INTO kept VALUES (41)');
    const { pid, port } = postgres;
    const tree = [pid, ...descendantsOf(pid)];
    expect(tree.length).toBeGreaterThan(4);
    await postgres.kill();
    expect(tree.filter(isAlive)).toEqual([]);
    expect(await postgres.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(existsSync(join(dataDir, 'postmaster.pid'))).toBe(true);
    await postgres.restart();
    expect(postgres.port).toBe(port);
    expect(postgres.pid).not.toBe(pid);
    expect((await (await client()).query('SELECT x FROM kept')).rows).toEqual([{ x: 41 }]);
  }, 30_000);

  it('starts when a stale lock file names a living stranger', async () => {
    await postgres.kill();
    const lock = join(dataDir, 'postmaster.pid');
    // Under Postgres's own account, and not its parent: any other stranger Postgres recognises by itself.
    const stranger = spawn('sleep', ['600'], { stdio: 'ignore', ...findPostgres().account });
    try {
      await once(stranger, 'spawn');
      writeFileSync(lock, readFileSync(lock, 'utf8').replace(/^\d+/, String(stranger.pid)));
      const { port } = postgres;
      postgres = await startPostgres({ dataDir, superuserPassword: PASSWORD, port });
      expect((await (await client()).query('SELECT count(*)::int AS n FROM kept')).rows).toEqual([{ n: 1 }]);
    } finally {
      stranger.kill('SIGKILL');
    }
  }, 30_000);

  it('makes a client time out while paused, backends included, and answers when resumed', async () => {
    const connected = await client();
    const tree = [postgres.pid, ...descendantsOf(postgres.pid)];
    postgres.pause();
    if (existsSync('/proc/self/stat')) {
      expect(tree.map((pid) => readFileSync(`/proc/${String(pid)}/stat`, 'utf8').split(') ')[1]?.[0])).toEqual(tree.map(() => 'T'));
    }
    const late = connected.query('SELECT 1 AS one');
    const fresh = new pg.Client({ connectionString: postgres.url(), connectionTimeoutMillis: 200 });
    await expect(fresh.connect()).rejects.toThrow('timeout');
    expect(await Promise.race([late.then(() => 'answered'), Promise.resolve('silent')])).toBe('silent');
    postgres.resume();
    expect((await late).rows).toEqual([{ one: 1 }]);
  }, 30_000);

  it('stops by request even while paused, and a repeat does nothing', async () => {
    postgres.pause();
    await postgres.stop();
    await postgres.stop();
    await postgres.kill();
    expect(await postgres.exited).toEqual({ code: 0, signal: null });
    await postgres.restart();
  }, 30_000);

  it('refuses a data folder in which a Postgres already works', async () => {
    await expect(startPostgres({ dataDir, superuserPassword: PASSWORD })).rejects.toMatchObject({
      code: 'DATA_DIR_IN_USE', message: expect.stringMatching(/^A Postgres with process id \d+ already works in .*: stop it first\.$/),
    });
    expect((await (await client()).query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('says that a port is taken, in one sentence with the last lines of the log', async () => {
    const failure = await startPostgres({ dataDir: join(dir, 'second'), superuserPassword: 'x', port: postgres.port }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LocalServerFault);
    const fault = failure as LocalServerFault;
    expect(fault.code).toBe('PORT_IN_USE');
    expect(fault.message.split('\n')[0]).toBe(`Postgres cannot listen on port ${String(postgres.port)} because another program uses it: end that program or choose another port.`);
    expect(fault.logTail.join('\n')).toContain('Address already in use');
  }, 30_000);

  it('gives the last lines when the configuration is broken', async () => {
    await expect(startPostgres({ dataDir: join(dir, 'third'), superuserPassword: 'x', settings: { no_such_setting: '1' } })).rejects.toMatchObject({
      code: 'START_FAILED', message: expect.stringContaining('unrecognized configuration parameter'),
    });
  }, 30_000);

  it('refuses data of another major version', async () => {
    const other = join(dir, 'fourth');
    const made = await startPostgres({ dataDir: other, superuserPassword: 'x' });
    await made.stop();
    writeFileSync(join(other, 'PG_VERSION'), '9\n');
    await expect(startPostgres({ dataDir: other, superuserPassword: 'x' })).rejects.toMatchObject({ code: 'SERVER_VERSION_UNSUPPORTED' });
  }, 30_000);

  it('shows only what was written since in a tail with an offset', () => {
    const file = join(dir, 'some.log');
    appendFileSync(file, 'old\n');
    appendFileSync(file, 'new\n');
    expect(tailOf(file, 4)).toEqual(['new']);
  });
});
