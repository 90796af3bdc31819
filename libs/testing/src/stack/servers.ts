/** Makes a pair of servers fit for the services: schemas, roles, stream and consumers. Each step may be repeated. Rows: SVC-1, SVC-4. */
import { pathToFileURL } from 'node:url';
import { connectBus, provision, type BusUser } from '@n17q/bus';
import { migrate, roles, type RolePasswords, type RoleUrls } from '@n17q/event-log';
import { serviceProgram } from './services.js';

export interface BusToFit {
  readonly natsUrl: string;
  readonly busPasswords: Readonly<Record<BusUser, string>>;
  readonly busUser?: string;
}
export interface FittedDatabase { readonly databases: RoleUrls; readonly migrated: readonly string[] }

/** `ownerUrl`: of the database's owner. Brings the store's schema up to date, makes the run-time roles with these passwords, then lets the api bring its own schema up to date in its role. */
export async function fitDatabase(ownerUrl: string, passwords: RolePasswords): Promise<FittedDatabase> {
  const migrated = await migrate(ownerUrl);
  const databases = await roles(ownerUrl, passwords);
  const { migrateApi } = await import(pathToFileURL(serviceProgram('api', 'index')).href) as { migrateApi(url: string): Promise<readonly string[]> };
  return { databases, migrated: [...migrated, ...(await migrateApi(databases.api))] };
}

/** Makes the server hold the stream and the consumers; gives what was made or changed. */
export async function fitBus(s: BusToFit): Promise<readonly string[]> {
  const bus = await connectBus({ service: 'provisioner', url: s.natsUrl, password: s.busPasswords.provisioner, signal: AbortSignal.timeout(20_000), ...(s.busUser === undefined ? {} : { user: s.busUser }) });
  try {
    const report = await provision(bus);
    return [...report.created, ...report.updated];
  } finally {
    await bus.close();
  }
}
