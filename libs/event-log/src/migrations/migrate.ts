/**
 * Migrations are an explicit act of the owner. A service only looks whether the schema fits, and never migrates.
 *
 * Rows: SVC-4.
 */
import 'reflect-metadata';
import pg from 'pg';
import { StoreFault } from '../store-fault.js';
import { FORMAT_VERSION, STEPS } from './steps.js';

// one number for the whole of N17Q's migrations in a database
const MIGRATION_LOCK = '5625301774';

async function withClient<T>(databaseUrl: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'n17q-migrations', connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined); // the query in flight reports it
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Brings the schema `n17q` up to date as its owner; returns the names of the steps that were applied, oldest first. A repeat applies none; two at once wait for each other. */
export function migrate(databaseUrl: string): Promise<readonly string[]> {
  return withClient(databaseUrl, async (client) => {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]); // ends with the connection
    await client.query('create schema if not exists n17q');
    const { DataSource } = await import('typeorm'); // large, and no service needs it
    const source = new DataSource({ type: 'postgres', url: databaseUrl, schema: 'n17q', migrations: STEPS, migrationsTableName: 'migrations', migrationsTransactionMode: 'each', logging: false, poolSize: 2 });
    await source.initialize();
    try {
      return (await source.runMigrations()).map((m) => m.name);
    } finally {
      await source.destroy();
    }
  });
}

/** Throws StoreFault SCHEMA_MISSING, SCHEMA_OLD or FORMAT_UNKNOWN unless this program can work with the database. Newer steps of the same format are accepted, so that an update can roll. */
export function checkSchema(databaseUrl: string): Promise<{ readonly incarnation: string; readonly steps: readonly string[] }> {
  return withClient(databaseUrl, (client) => schemaOf(client));
}

export async function schemaOf(client: Pick<pg.Client, 'query'>): Promise<{ readonly incarnation: string; readonly steps: readonly string[] }> {
  const present = await client.query<{ there: boolean }>(`select to_regclass('n17q.migrations') is not null and to_regclass('n17q.store') is not null as there`);
  if (present.rows[0]?.there !== true) throw new StoreFault('SCHEMA_MISSING', 'The database has no N17Q schema: run the migrations first.', false);
  const applied = (await client.query<{ name: string }>('select name from n17q.migrations order by id')).rows.map((r) => r.name);
  const missing = STEPS.map((S) => new S().name).filter((name) => !applied.includes(name));
  if (missing.length > 0) throw new StoreFault('SCHEMA_OLD', `The database lacks ${missing.join(', ')}: run the migrations.`, false);
  const store = (await client.query<{ incarnation: string; format_version: number }>('select incarnation::text, format_version from n17q.store')).rows[0];
  if (store?.format_version !== FORMAT_VERSION) throw new StoreFault('FORMAT_UNKNOWN', `The database holds format ${String(store?.format_version)}, this program knows ${String(FORMAT_VERSION)}.`, false);
  return { incarnation: store.incarnation, steps: applied };
}
