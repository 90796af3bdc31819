/** What is stored for what is new, by table: logical (the values) and on disk (heap and TOAST; indexes apart). */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

const TABLES = ['events', 'contents', 'checkpoints', 'snapshots', 'streams', 'needs', 'open_effects', 'accounts', 'lanes', 'relay'];

export async function tableSizes(ownerUrl) {
  const c = new pg.Client({ connectionString: ownerUrl });
  await c.connect();
  try {
    await c.query('vacuum');
    const sizes = {};
    for (const t of TABLES) {
      const columns = (await c.query('select column_name from information_schema.columns where table_schema = $1 and table_name = $2', ['n17q', t])).rows.map((r) => r.column_name);
      const logical = columns.map((k) => `coalesce(octet_length(${c.escapeIdentifier(k)}::text), 0)`).join(' + ').replaceAll(/octet_length\("(body|salt|packed)"::text\)/g, 'octet_length("$1")');
      const r = (await c.query(`select count(*)::int as rows, coalesce(sum(${logical}), 0)::bigint as logical, pg_table_size('n17q.${t}')::bigint as disk, pg_indexes_size('n17q.${t}')::bigint as indexes from n17q.${t}`)).rows[0];
      sizes[t] = { rows: r.rows, logical: Number(r.logical), disk: Number(r.disk), indexes: Number(r.indexes) };
    }
    return sizes;
  } finally {
    await c.end();
  }
}

export function folderBytes(dir) {
  let bytes = 0;
  for (const e of readdirSync(dir, { recursive: true, withFileTypes: true })) if (e.isFile()) bytes += statSync(join(e.parentPath, e.name)).size;
  return bytes;
}

/** After minus before, per table and in sum. */
export function grown(before, after) {
  const tables = Object.fromEntries(Object.keys(after).map((t) => [t, Object.fromEntries(['rows', 'logical', 'disk', 'indexes'].map((k) => [k, after[t][k] - before[t][k]]))]));
  const sum = (k) => Object.values(tables).reduce((n, t) => n + t[k], 0);
  return { tables, logical: sum('logical'), disk: sum('disk'), indexes: sum('indexes') };
}

/** JSON of all messages of the conversation, as the provider was sent it at the end, and its last word. */
export function newBytes(provider) {
  const { entries } = provider.ledger();
  const last = entries.filter((e) => e.executed).at(-1);
  const { contents } = JSON.parse(provider.requestBody(last.order));
  return Buffer.byteLength(JSON.stringify([...contents, { role: 'model', parts: [{ text: 'That was all.' }] }]));
}
