// Real Postgres and NATS for one suite, on ports of their own, gone when the suite is.
//
// 1. close() ends everything that was started through the sandbox and removes its folder, also after a failure.
// 2. When the test process dies without close(), the watchdog does the same.
// 3. Two sandboxes share nothing but the read-only template of a data folder.

import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startNats, startPostgres, unwatchDirectory, watchDirectory, type NatsHandle, type PostgresHandle, type StartNatsOptions } from '@n17q/platform';
import { spawnService, type ServiceHandle, type SpawnServiceOptions } from './service.js';
import { copyTemplateCluster } from './template-cluster.js';

export interface OpenSandboxOptions {
  /** Absent or false: no NATS. */
  readonly nats?: boolean | Pick<StartNatsOptions, 'configText' | 'syncInterval' | 'maxFileStoreBytes' | 'serverPath'>;
  /** Absent or false: no Postgres. `ownIdentity` runs initdb instead of copying: only then two sandboxes differ in system identifier. */
  readonly postgres?: boolean | { readonly settings?: Readonly<Record<string, string>>; readonly ownIdentity?: boolean };
}

export interface Sandbox {
  /** A folder of this sandbox; removed by close(). */
  readonly dir: string;
  /** Throws when the sandbox was opened without it. */
  readonly postgres: PostgresHandle;
  /** Throws when the sandbox was opened without it. */
  readonly nats: NatsHandle;
  /** Creates an empty database (a fresh name unless given) and returns its URL for the superuser. */
  database(name?: string): Promise<string>;
  /** Runs a program of ours; close() ends it. Output goes to `dir` unless given. */
  spawnService(options: Omit<SpawnServiceOptions, 'dir'> & { readonly dir?: string }): Promise<ServiceHandle>;
  /** Ends everything and removes the folder. May be called at any time and any number of times. */
  close(): Promise<void>;
}

export async function openSandbox(options: OpenSandboxOptions = {}): Promise<Sandbox> {
  const dir = mkdtempSync(join(tmpdir(), 'n17q-sandbox-'));
  chmodSync(dir, 0o711); // the account that Postgres runs under must pass through; it cannot list
  watchDirectory(dir);
  const services: ServiceHandle[] = [];
  let postgres: PostgresHandle | undefined;
  let nats: NatsHandle | undefined;
  let closing: Promise<void> | undefined;
  const isClosed = (): boolean => closing !== undefined;
  const close = (): Promise<void> => (closing ??= endAll(dir, [...services, postgres, nats]));
  try {
    // Settled, not raced: when one fails, the other must be known before it can be ended.
    const [natsResult, postgresResult] = await Promise.allSettled([
      options.nats ? startNats({ storeDir: join(dir, 'nats'), ...(options.nats === true ? {} : options.nats) }) : undefined,
      options.postgres ? startCluster(dir, options.postgres === true ? {} : options.postgres) : undefined,
    ]);
    if (natsResult.status === 'fulfilled') nats = natsResult.value;
    if (postgresResult.status === 'fulfilled') postgres = postgresResult.value;
    for (const result of [natsResult, postgresResult]) if (result.status === 'rejected') throw result.reason;
  } catch (error) {
    await close();
    throw error;
  }
  return {
    dir,
    get postgres() { return postgres ?? missing('postgres'); },
    get nats() { return nats ?? missing('nats'); },
    database: (name) => createDatabase(postgres ?? missing('postgres'), name ?? `t_${randomBytes(6).toString('hex')}`),
    spawnService: async (service) => {
      if (isClosed()) throw new Error('this sandbox is closed');
      const handle = await spawnService({ dir, ...service });
      services.push(handle);
      if (isClosed()) { // closed while the program was starting: nobody else would end it
        await handle.kill();
        throw new Error('this sandbox was closed meanwhile');
      }
      return handle;
    },
    close,
  };
}

function missing(what: 'postgres' | 'nats'): never {
  throw new Error(`this sandbox was opened without ${what}`);
}

async function startCluster(dir: string, options: { readonly settings?: Readonly<Record<string, string>>; readonly ownIdentity?: boolean }): Promise<PostgresHandle> {
  const dataDir = join(dir, 'postgres');
  const superuserPassword = options.ownIdentity === true ? randomBytes(18).toString('base64url') : copyTemplateCluster(dataDir);
  return startPostgres({ dataDir, superuserPassword, ...(options.settings === undefined ? {} : { settings: options.settings }) });
}

async function createDatabase(postgres: PostgresHandle, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: postgres.url(), connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
  return postgres.url(undefined, undefined, name);
}

// SIGKILL throughout: nothing here is kept, and a paused or wedged process must not hold up the suite.
async function endAll(dir: string, running: readonly ({ kill(): Promise<void> } | undefined)[]): Promise<void> {
  const ended = await Promise.allSettled(running.map((one) => one?.kill()));
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  unwatchDirectory(dir);
  const failed = ended.filter((result) => result.status === 'rejected').map((result) => result.reason as unknown);
  if (failed.length > 0) throw new AggregateError(failed, 'the sandbox could not end everything it had started');
}
