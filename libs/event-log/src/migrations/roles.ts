/**
 * The run-time roles: least rights, made by the owner, never by a service.
 *
 * R1. Nobody here may insert, update or delete events; the store's role appends through the function alone.
 *
 * Rows: SVC-4.
 */
import pg from 'pg';

export interface RolePasswords { readonly store: string; readonly api: string; readonly reader: string }
export interface RoleUrls { readonly store: string; readonly api: string; readonly reader: string }

const PASSWORD = /^[\x21-\x7e]{16,256}$/;

const grants = (database: string): string => `
revoke all on schema n17q from public;
grant connect on database ${database} to n17q_store, n17q_api, n17q_reader;
grant usage on schema n17q to n17q_store, n17q_reader;
grant select on all tables in schema n17q to n17q_store, n17q_reader;
grant execute on function n17q.append_batch, n17q.register_artifact, n17q.mark_suspect, n17q.clear_suspect, n17q.now_ms to n17q_store;
grant execute on function n17q.now_ms to n17q_reader;
grant update on n17q.relay to n17q_store;
create schema if not exists n17q_api;
grant usage, create on schema n17q_api to n17q_api;
grant usage on schema n17q_api to n17q_reader;
alter role n17q_store set synchronous_commit = on;
alter role n17q_reader set default_transaction_read_only = on;
`;

/** Creates or updates the roles with the given passwords and returns their URLs. Idempotent. Throws TypeError for a weak or shared password; there are no defaults. */
export async function roles(databaseUrl: string, passwords: RolePasswords): Promise<RoleUrls> {
  const named = [['n17q_store', passwords.store], ['n17q_api', passwords.api], ['n17q_reader', passwords.reader]] as const;
  for (const [role, password] of named) if (!PASSWORD.test(password ?? '')) throw new TypeError(`The database password of ${role} must be 16 to 256 printable characters; generate one.`);
  if (new Set(named.map(([, p]) => p)).size !== named.length) throw new TypeError('Two database roles share a password: each needs its own.');
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'n17q-roles', connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock(5625301775)`);
    for (const [role, password] of named) {
      const there = (await client.query('select from pg_roles where rolname = $1', [role])).rowCount === 1;
      await client.query(`${there ? 'alter' : 'create'} role ${role} login password ${pg.escapeLiteral(password)} nosuperuser nocreatedb nocreaterole noinherit`);
    }
    const database = (await client.query<{ name: string }>('select current_database() as name')).rows[0]?.name ?? '';
    await client.query(grants(pg.escapeIdentifier(database)));
    await client.query('commit');
  } finally {
    await client.end();
  }
  const urlOf = (role: string, password: string): string => {
    const url = new URL(databaseUrl);
    url.username = role;
    url.password = encodeURIComponent(password);
    return url.href;
  };
  return { store: urlOf('n17q_store', passwords.store), api: urlOf('n17q_api', passwords.api), reader: urlOf('n17q_reader', passwords.reader) };
}
