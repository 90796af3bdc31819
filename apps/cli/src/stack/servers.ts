/** The stack's own Postgres and NATS, on loopback, kept running; or the caller's. Rows: SVC-4. */
import { createServer } from 'node:net';
import pg from 'pg';
import { natsConfig } from '@n17q/bus';
import { LocalServerFault, reachableDataDir, startNats, startPostgres, type NatsHandle, type PostgresHandle } from '@n17q/platform';
import { Keeper, type Instance } from './keeper.js';
import type { Places } from './places.js';
import type { Secrets } from './secrets.js';
import type { StackSettings } from './settings.js';

const DATABASE = 'n17q';

export interface ServerPart { readonly name: string; readonly keeper: Keeper; readonly version: string; readonly address: string; readonly log: string }
export interface OwnServers { readonly natsUrl: string; readonly ownerUrl: string; readonly parts: readonly ServerPart[] }

const howEnded = (e: { readonly code: number | null; readonly signal: string | null }): string => `ended with ${e.signal ?? `code ${String(e.code)}`}`;

/** First start, then restarts on the same port and data. */
function kept(handle: PostgresHandle | NatsHandle, changed: () => void): Keeper {
  let first = true;
  const start = async (): Promise<Instance> => {
    if (!first) await handle.restart();
    first = false;
    return { pid: handle.pid, ended: handle.exited.then(howEnded), stop: () => handle.stop(), kill: () => handle.kill() };
  };
  return new Keeper(start, changed);
}

/** Throws PORT_IN_USE when `port` is taken on loopback. */
export async function refuseTakenPort(name: string, port: number, setting: string): Promise<void> {
  if (port === 0) return;
  const probe = createServer();
  await new Promise<void>((resolve, reject) => { probe.once('error', reject); probe.listen(port, '127.0.0.1', resolve); }).catch((e: NodeJS.ErrnoException) => {
    if (e.code === 'EADDRINUSE') throw new LocalServerFault('PORT_IN_USE', `${name} cannot listen on port ${port} because another program uses it: end that program or choose another port with ${setting}.`);
    throw e;
  });
  await new Promise<void>((resolve) => { probe.close(() => resolve()); });
}

/** `observer`: password of one more bus user that hears everything and says nothing; the demo looks for leaks with it. */
export async function startOwnServers(p: Places, secrets: Secrets, settings: StackSettings, changed: () => void, observer?: string): Promise<OwnServers> {
  await refuseTakenPort('nats-server', settings.natsPort, 'N17Q_NATS_PORT');
  await refuseTakenPort('Postgres', settings.postgresPort, 'N17Q_POSTGRES_PORT');
  const users = natsConfig({ passwords: secrets.bus });
  const configText = observer === undefined ? users : users.replace('users: [', `users: [\n    { user: "observer", password: "${observer}", permissions { publish { deny: [">"] }, subscribe { allow: [">"] } } }`);
  const started = await Promise.allSettled([
    startPostgres({ dataDir: reachableDataDir(p.postgres), superuserPassword: secrets.superuser, port: settings.postgresPort, logFile: `${p.logs}/postgres.log` }),
    startNats({ storeDir: p.nats, configText, ...(settings.natsPort === 0 ? {} : { port: settings.natsPort }) }),
  ]);
  const [postgres, nats] = started;
  if (postgres.status === 'rejected' || nats.status === 'rejected') {
    await Promise.allSettled(started.map((s) => (s.status === 'fulfilled' ? s.value.stop() : undefined)));
    throw postgres.status === 'rejected' ? postgres.reason : (nats as PromiseRejectedResult).reason;
  }
  const parts: ServerPart[] = [
    { name: 'Postgres', keeper: kept(postgres.value, changed), version: postgres.value.version, address: `127.0.0.1:${postgres.value.port}`, log: postgres.value.logFile },
    { name: 'NATS', keeper: kept(nats.value, changed), version: nats.value.version, address: nats.value.url, log: nats.value.logFile },
  ];
  for (const part of parts) await part.keeper.open();
  try {
    await makeDatabase(postgres.value.url());
  } catch (e) {
    await Promise.allSettled(parts.map((part) => part.keeper.stop()));
    throw e;
  }
  return { natsUrl: nats.value.url, ownerUrl: postgres.value.url(undefined, undefined, DATABASE), parts };
}

async function makeDatabase(superuserUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: superuserUrl, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined); // the query in flight reports it
  await client.connect();
  try {
    const there = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (there.rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}
