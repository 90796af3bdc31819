/** Makes a pair of servers fit for the services: schema, roles, stream and consumers. Each step may be repeated. Rows: SVC-1, SVC-4. */
import { connectBus, provision, type BusUser } from '@n17q/bus';
import { migrate, roles, type RolePasswords, type RoleUrls } from '@n17q/event-log';

export interface ServersToFit {
  /** Of the database's owner. */
  readonly ownerUrl: string;
  readonly rolePasswords: RolePasswords;
  readonly natsUrl: string;
  readonly busPasswords: Readonly<Record<BusUser, string>>;
  readonly busUser?: string;
}
export interface FittedServers { readonly databases: RoleUrls; readonly migrated: readonly string[]; readonly provisioned: readonly string[] }

/** Throws what the step throws that could not be done; what was done before stays, and a repeat goes on from there. */
export async function fitServers(s: ServersToFit): Promise<FittedServers> {
  const migrated = await migrate(s.ownerUrl);
  const databases = await roles(s.ownerUrl, s.rolePasswords);
  const bus = await connectBus({ service: 'provisioner', url: s.natsUrl, password: s.busPasswords.provisioner, signal: AbortSignal.timeout(20_000), ...(s.busUser === undefined ? {} : { user: s.busUser }) });
  try {
    const report = await provision(bus);
    return { databases, migrated, provisioned: [...report.created, ...report.updated] };
  } finally {
    await bus.close();
  }
}
