// A real Postgres on loopback, for `up` and for tests.
//
// Not: roles, databases, migrations. Those belong to the owner's connection.
// 1. Durable unless told otherwise: fsync, synchronous_commit and full_page_writes stay on.
// 2. Only loopback, only scram-sha-256, no unix socket.
// 3. What was started here ends with this process, unless `outlives` says otherwise.
// 4. kill() leaves no backend behind, so that restart() never meets one.

import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.js';
import { LocalServerFault, namingFullDisk } from './local-server-fault.js';
import { findPostgres, serverEnv, type PostgresBinaries } from './postgres-binaries.js';
import { checkClusterVersion, clearForeignLock, createCluster, hasCluster, prepareFolder, SUPERUSER } from './postgres-cluster.js';
import { spawnServer, tailOf, untilReady, type Exit, type ServerProcess } from './server-process.js';

export interface StartPostgresOptions {
  /** Created (initdb) when it holds no cluster yet; opened when it does, with the same password as then. */
  readonly dataDir: string;
  /** 0 or absent: any free port. */
  readonly port?: number;
  readonly superuserPassword: string;
  /** Further server settings, for example `{ max_connections: '50' }`. They win over the defaults here. */
  readonly settings?: Readonly<Record<string, string>>;
  /** True: the server goes on when this process ends. Default false. */
  readonly outlives?: boolean;
  /** Default: `dataDir` + ".log". */
  readonly logFile?: string;
  readonly readyWithinMs?: number;
}

export interface PostgresHandle {
  readonly port: number;
  readonly pid: number;
  readonly dataDir: string;
  readonly logFile: string;
  readonly version: string;
  /** Resolves when the current server process has ended; after restart() there is a new promise. */
  readonly exited: Promise<Exit>;
  /** Connection URL; by default the superuser on database "postgres". */
  url(user?: string, password?: string, database?: string): string;
  /** Fast shutdown (SIGINT): open transactions are rolled back. Kills and throws STOP_TIMED_OUT after 30 s. A repeat does nothing. */
  stop(): Promise<void>;
  /** SIGKILL to postmaster and backends; resolves when none is left. A repeat does nothing. */
  kill(): Promise<void>;
  /** SIGSTOP to postmaster and backends: connections stay open and silent. */
  pause(): void;
  resume(): void;
  /** Stops when running, then starts on the same port and data. */
  restart(): Promise<void>;
  /** The last lines of the log. */
  logTail(): string[];
}

const PORT_TRIES = 10;
const DEFAULTS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_connections: '200',
  logging_collector: 'off',
  log_timezone: 'UTC',
};

/**
 * Starts Postgres and resolves when it accepts connections.
 * @throws LocalServerFault SERVER_BINARY_MISSING, SERVER_VERSION_UNSUPPORTED, PORT_IN_USE (fixed port only), NO_DISK_SPACE,
 *   DATA_DIR_IN_USE, DATA_DIR_UNREACHABLE, START_FAILED, START_TIMED_OUT; nothing is left running then.
 */
export function startPostgres(options: StartPostgresOptions): Promise<PostgresHandle> {
  const dataDir = resolve(options.dataDir);
  return namingFullDisk('Postgres', dataDir, () => start(options, dataDir));
}

async function start(options: StartPostgresOptions, dataDir: string): Promise<PostgresHandle> {
  const binaries = findPostgres();
  if (hasCluster(dataDir)) {
    prepareFolder(dataDir, binaries.account);
    checkClusterVersion(binaries, dataDir);
    clearForeignLock(dataDir);
  } else {
    createCluster(binaries, dataDir, options.superuserPassword);
  }
  const logFile = options.logFile ?? `${dataDir}.log`;
  const launch = (port: number): Promise<ServerProcess> => launchOn(binaries, { ...options, dataDir, logFile }, port);
  const { server, port } = await launchOnFreePort(options.port ?? 0, launch);
  return handleOf(binaries, { ...options, dataDir, logFile }, server, port, launch);
}

async function launchOnFreePort(wanted: number, launch: (port: number) => Promise<ServerProcess>): Promise<{ server: ServerProcess; port: number }> {
  if (wanted !== 0) return { server: await launch(wanted), port: wanted };
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      return { server: await launch(port), port };
    } catch (error) {
      const taken = error instanceof LocalServerFault && error.code === 'PORT_IN_USE';
      if (!taken || attempt === PORT_TRIES) throw error;
    }
  }
}

type Resolved = StartPostgresOptions & { readonly dataDir: string; readonly logFile: string };

async function launchOn(binaries: PostgresBinaries, options: Resolved, port: number): Promise<ServerProcess> {
  const withinMs = options.readyWithinMs ?? 60_000;
  const deadlineMs = performance.now() + 10_000;
  for (;;) {
    const logOffset = statSync(options.logFile, { throwIfNoEntry: false })?.size ?? 0;
    const server = await spawnServer({
      name: 'Postgres',
      command: binaries.postgres,
      args: ['-D', options.dataDir, '-p', String(port), ...settingsArgs({ ...DEFAULTS, ...options.settings })],
      logFile: options.logFile,
      env: serverEnv(),
      account: binaries.account,
      outlives: options.outlives ?? false,
    });
    try {
      await untilReady(server, () => (saysReady(options.dataDir, server.pid) ? true : undefined), { name: 'Postgres', logFile: options.logFile, logOffset, port, withinMs });
      return server;
    } catch (error) {
      // Backends of a killed postmaster need a moment to notice; Postgres refuses until the last one is gone.
      const orphans = error instanceof LocalServerFault && error.logTail.some((line) => line.includes('pre-existing shared memory block'));
      if (!orphans || performance.now() > deadlineMs) throw error;
      await delay(100);
    }
  }
}

// The lock file's eighth line is the postmaster's own word on its state; the first one tells a stale file from ours.
function saysReady(dataDir: string, pid: number): boolean {
  try {
    const lines = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function settingsArgs(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

function handleOf(binaries: PostgresBinaries, options: Resolved, first: ServerProcess, port: number, launch: (port: number) => Promise<ServerProcess>): PostgresHandle {
  let server = first;
  const stop = (): Promise<void> => server.stop('SIGINT', 30_000);
  return {
    port,
    dataDir: options.dataDir,
    logFile: options.logFile,
    version: binaries.version,
    get pid() { return server.pid; },
    get exited() { return server.exited; },
    url: (user = SUPERUSER, password = options.superuserPassword, database = 'postgres') =>
      `postgres://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${String(port)}/${encodeURIComponent(database)}`,
    stop,
    kill: () => server.kill(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    restart: async () => {
      await stop();
      server = await launch(port);
    },
    logTail: () => tailOf(options.logFile),
  };
}
