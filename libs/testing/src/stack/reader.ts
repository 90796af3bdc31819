/** What judges read: the store's own tables, in the role that can only read. Rows: RUN-1, CON-3. */
import pg from 'pg';
import type { EventEnvelope, RunId, TenantId } from '@n17q/domain';
import { EVENT_COLUMNS, eventFrom, unpacker, type EventColumns, type PackRow } from '@n17q/event-log';

export interface ReadContent { readonly commitment: string; readonly class: string; readonly body: Buffer | null }
export interface StoreReader {
  /** Events of a run after a revision (0: all), oldest first. */
  events(tenant: TenantId, run: RunId, after?: number): Promise<readonly EventEnvelope[]>;
  /** Everything that the tenant's tables hold as text: events, sections, snapshots, checkpoints. */
  texts(tenant: TenantId): Promise<readonly string[]>;
  contents(tenant: TenantId): Promise<readonly ReadContent[]>;
  close(): Promise<void>;
}

/** `url`: of the reader's role. */
export function openReader(url: string): StoreReader {
  const pool = new pg.Pool({ connectionString: url, application_name: 'n17q-judge', max: 2, connectionTimeoutMillis: 5_000 });
  pool.on('error', () => undefined); // the server was killed; the next read makes another connection
  return {
    events: async (tenant, run, after = 0) => (await pool.query<EventColumns>(`select ${EVENT_COLUMNS} from n17q.events e where e.tenant = $1 and e.stream = $2 and e.revision > $3 order by e.revision`, [tenant, `run/${run}`, after])).rows.map(eventFrom),
    texts: async (tenant) => {
      const found: string[] = [];
      for (const [table, column] of [['events', 'data'], ['events', 'meta'], ['events', 'trace'], ['snapshots', 'state']] as const) {
        found.push(...(await pool.query<{ t: string }>(`select ${column} as t from n17q.${table} where tenant = $1 and ${column} is not null`, [tenant])).rows.map((r) => r.t));
      }
      const packs = await pool.query<PackRow & { readonly stream: string }>('select stream, cut, base, body from n17q.checkpoints where tenant = $1', [tenant]);
      for (const rows of Map.groupBy(packs.rows, (r) => r.stream).values()) {
        const unpacked = unpacker(rows);
        found.push(...rows.map((r) => JSON.stringify(unpacked(r.cut))));
      }
      return found;
    },
    contents: async (tenant) => (await pool.query<ReadContent>('select commitment, class, body from n17q.contents where tenant = $1', [tenant])).rows,
    close: () => pool.end(),
  };
}
