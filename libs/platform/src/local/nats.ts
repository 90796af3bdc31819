// A real nats-server with JetStream on loopback, for `up` and for tests.
//
// Not: accounts, users, permissions, streams. The caller gives those as configuration text or makes them through a client.
// 1. Only loopback, client and monitor alike; the server chooses ports and we read them from its ports file.
// 2. JetStream writes through by default (`sync_interval: always`), so that an acknowledged message survives.
// 3. What was started here ends with this process, unless `outlives` says otherwise.

import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LocalServerFault, namingFullDisk } from './local-server-fault.js';
import { findNatsServer } from './nats-binary.js';
import { signal } from './process-tree.js';
import { logText, spawnServer, tailOf, untilReady, type Exit, type ServerProcess } from './server-process.js';

export interface StartNatsOptions {
  /** Holds JetStream's store, the rendered configuration (mode 0600), the ports file and the log. */
  readonly storeDir: string;
  /** Appended to the rendered configuration: users, permissions, limits of connections. */
  readonly configText?: string;
  /** -1 or absent: the server chooses. */
  readonly port?: number;
  readonly serverPath?: string;
  /** "always" (default): fsync before each acknowledgement. Else a duration such as "10s". */
  readonly syncInterval?: string;
  /** Stated explicitly, since the server's own default is a share of the free disk and may be nothing. Default 1 GiB. */
  readonly maxFileStoreBytes?: number;
  readonly maxMemoryStoreBytes?: number;
  /** True: the server goes on when this process ends. Default false. */
  readonly outlives?: boolean;
  readonly readyWithinMs?: number;
}

export interface NatsHandle {
  /** Without credentials. */
  readonly url: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly pid: number;
  readonly storeDir: string;
  readonly logFile: string;
  readonly version: string;
  /** Resolves when the current server process has ended; after restart() there is a new promise. */
  readonly exited: Promise<Exit>;
  /** SIGTERM; kills and throws STOP_TIMED_OUT after 15 s. A repeat does nothing. */
  stop(): Promise<void>;
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Stops when running, then starts with the same port and store. */
  restart(): Promise<void>;
  /** Replaces the caller's configuration text (or keeps it) and has the server read it. Throws RELOAD_FAILED with the server's words. */
  reload(configText?: string): Promise<void>;
  logTail(): string[];
}

interface Ports { readonly client: number; readonly monitor: number }
const ANY: Ports = { client: -1, monitor: -1 };

/**
 * Starts nats-server and resolves when it accepts connections.
 * @throws LocalServerFault SERVER_BINARY_MISSING, SERVER_VERSION_UNSUPPORTED, PORT_IN_USE, NO_DISK_SPACE, START_FAILED,
 *   START_TIMED_OUT; nothing is left running then.
 */
export function startNats(options: StartNatsOptions): Promise<NatsHandle> {
  const storeDir = resolve(options.storeDir);
  return namingFullDisk('nats-server', storeDir, () => start(options, storeDir));
}

async function start(options: StartNatsOptions, storeDir: string): Promise<NatsHandle> {
  const binary = findNatsServer(options.serverPath);
  mkdirSync(join(storeDir, 'ports'), { recursive: true, mode: 0o700 });
  const files = { storeDir, config: join(storeDir, 'nats.conf'), log: join(storeDir, 'nats.log') };
  let configText = options.configText ?? '';
  let rendered = ANY; // a reload must repeat the ports as they were configured, chosen or not: the server refuses any change there
  const launch = (wanted: Ports): Promise<{ server: ServerProcess; ports: Ports }> => {
    rendered = wanted;
    writeFileSync(files.config, renderConfig(options, storeDir, wanted, configText), { mode: 0o600 });
    return launchWith(binary.path, options, files, wanted);
  };
  let { server, ports } = await launch({ ...ANY, client: options.port === undefined || options.port === 0 ? -1 : options.port });
  const stop = (): Promise<void> => server.stop('SIGTERM', 15_000);
  return {
    url: `nats://127.0.0.1:${String(ports.client)}`,
    port: ports.client,
    monitorPort: ports.monitor,
    storeDir,
    logFile: files.log,
    version: binary.version,
    get pid() { return server.pid; },
    get exited() { return server.exited; },
    stop,
    kill: () => server.kill(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    restart: async () => {
      await stop();
      ({ server, ports } = await launch(ports));
    },
    reload: async (text) => {
      if (server.exit() !== undefined) throw new LocalServerFault('RELOAD_FAILED', 'nats-server is not running: start it again, which reads the configuration too.');
      const write = (content: string): void => writeFileSync(files.config, renderConfig(options, storeDir, rendered, content), { mode: 0o600 });
      write(text ?? configText);
      try {
        await reload(server.pid, files.log);
        configText = text ?? configText;
      } catch (error) {
        write(configText); // a refused text must not wait in the file for the next start
        throw error;
      }
    },
    logTail: () => tailOf(files.log),
  };
}

async function launchWith(path: string, options: StartNatsOptions, files: { storeDir: string; config: string; log: string }, wanted: Ports): Promise<{ server: ServerProcess; ports: Ports }> {
  const logOffset = statSync(files.log, { throwIfNoEntry: false })?.size ?? 0;
  const server = await spawnServer({
    name: 'nats-server',
    command: path,
    args: ['-c', files.config],
    logFile: files.log,
    cwd: files.storeDir,
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', TZ: 'UTC' },
    outlives: options.outlives ?? false,
  });
  const portsFile = join(files.storeDir, 'ports', `nats-server_${String(server.pid)}.ports`);
  const ports = await untilReady(server, () => readPorts(portsFile), {
    name: 'nats-server', logFile: files.log, logOffset, port: wanted.client, withinMs: options.readyWithinMs ?? 30_000,
  });
  void server.exited.then(() => rmSync(portsFile, { force: true })); // after SIGKILL the server could not do it itself
  return { server, ports };
}

function readPorts(file: string): Ports | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  if (!text.trimEnd().endsWith('}')) return undefined; // being written
  const listed = JSON.parse(text) as { nats?: string[]; monitoring?: string[] };
  const portOf = (urls: string[] | undefined): number => Number(new URL(urls?.[0] ?? 'none:').port);
  return { client: portOf(listed.nats), monitor: portOf(listed.monitoring) };
}

function renderConfig(options: StartNatsOptions, storeDir: string, ports: Ports, configText: string): string {
  const quoted = (text: string): string => JSON.stringify(text);
  return [
    `listen: ${quoted(`127.0.0.1:${String(ports.client)}`)}`,
    `http: ${quoted(`127.0.0.1:${String(ports.monitor)}`)}`,
    `ports_file_dir: ${quoted(join(storeDir, 'ports'))}`,
    'jetstream {',
    `  store_dir: ${quoted(storeDir)}`,
    `  max_file_store: ${String(options.maxFileStoreBytes ?? 1024 ** 3)}`,
    `  max_memory_store: ${String(options.maxMemoryStoreBytes ?? 64 * 1024 ** 2)}`,
    `  sync_interval: ${options.syncInterval ?? 'always'}`,
    '}',
    configText,
    '',
  ].join('\n');
}

async function reload(pid: number, logFile: string): Promise<void> {
  const offset = statSync(logFile).size;
  signal(pid, 'SIGHUP');
  const deadlineMs = performance.now() + 5_000;
  for (;;) {
    const log = logText(logFile, offset);
    if (log.includes('Reloaded server configuration')) return;
    if (/failed to reload/i.test(log)) throw new LocalServerFault('RELOAD_FAILED', 'nats-server kept its old configuration, since it refused the new one.', tailOf(logFile, offset));
    if (performance.now() > deadlineMs) throw new LocalServerFault('RELOAD_FAILED', 'nats-server did not answer the reload within 5000 ms.', tailOf(logFile, offset));
    await delay(10);
  }
}
