/** The api's own schema. Made by an explicit act, in the role that owns it; the service only looks whether it fits. Rows: SVC-4. */
import 'reflect-metadata';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { Projection, RequestKey, RunView } from './entities.js';

const TABLES = `
create table n17q_api.run_views (
  tenant text not null,
  run text not null,
  title text not null,
  status text not null,
  move text not null,
  segment integer not null,
  model text,
  unresolved integer not null,
  revision integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant, run)
);
create index run_views_newest on n17q_api.run_views (tenant, created_at, run);
create table n17q_api.projections (
  name text primary key,
  version integer not null,
  caught_up_at timestamptz,
  runs integer not null
);
create table n17q_api.request_keys (
  key text primary key,
  request text not null,
  tenant text not null,
  stream text not null,
  from_revision integer not null,
  append_id uuid not null,
  created_at timestamptz not null
);
create index request_keys_age on n17q_api.request_keys (created_at);
`;

export class ApiTables1798000000101 implements MigrationInterface {
  readonly name = 'ApiTables1798000000101';
  async up(runner: QueryRunner): Promise<void> { await runner.query(TABLES); }
  down(): Promise<void> { return Promise.reject(new Error(`${this.name} cannot be undone: drop the schema and migrate again, all but request keys is derived`)); }
}
const STEPS = [ApiTables1798000000101];
const LOCK = '5625301776';

/** A pool for the api's role. Nothing is ever synchronised from the entities. */
export const apiDatabase = (url: string, poolSize = 4): DataSource => new DataSource({
  type: 'postgres', url, schema: 'n17q_api', entities: [RunView, Projection, RequestKey], migrations: STEPS, migrationsTableName: 'migrations', migrationsTransactionMode: 'each', synchronize: false, logging: false, poolSize,
  applicationName: 'n17q-api', connectTimeoutMS: 5_000, extra: { statement_timeout: 10_000 },
});

/** Brings the schema `n17q_api` up to date; returns the steps that were applied. `url` is in the role n17q_api, which owns the tables. A repeat applies none. */
export async function migrateApi(url: string): Promise<readonly string[]> {
  const source = await apiDatabase(url, 1).initialize(); // one connection: the session lock holds for what follows
  try {
    await source.query('select pg_advisory_lock($1)', [LOCK]);
    return (await source.runMigrations()).map((m) => m.name);
  } finally {
    await source.destroy();
  }
}

/** Throws unless the schema has every step. */
export async function checkApiSchema(source: DataSource): Promise<void> {
  const there = (await source.query(`select to_regclass('n17q_api.migrations') is not null as there`)) as readonly { there: boolean }[];
  const applied = there[0]?.there === true ? ((await source.query('select name from n17q_api.migrations')) as readonly { name: string }[]).map((r) => r.name) : [];
  const missing = STEPS.map((S) => new S().name).filter((n) => !applied.includes(n));
  if (missing.length > 0) throw new Error(`the schema n17q_api lacks ${missing.join(', ')}: run the migrations`);
}
