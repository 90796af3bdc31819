/**
 * Keeps one row a run in step with the log.
 *
 * P1. A trigger only says where to look: the row is made from the run's state, loaded from the store. Lost, repeated and reordered triggers change nothing.
 * P2. A row is never replaced by one of an older revision, whoever is slower.
 * P3. What triggers miss, catching up finds: it compares every run's revision with its row, at the start and from time to time.
 *
 * Rows: RUN-4, SVC-1.
 */
import type { DataSource } from 'typeorm';
import { runOf, runStream, unresolvedOf, type RunId, type RunState, type StreamId, type TenantId } from '@n17q/domain';
import type { BusStore, ServiceLog } from '@n17q/event-log';
import { whoOf } from '../view/words.js';
import { Projection } from './entities.js';

export const PROJECTION_VERSION = 2;
const NAME = 'run-views';
const PAGE = 500;

/** $1.. tenant, run, title, status, move, segment, model, unresolved, revision, created, updated. Primary key; keeps P2. */
const PUT = `
insert into n17q_api.run_views as v (tenant, run, title, status, move, segment, model, unresolved, revision, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
on conflict (tenant, run) do update set title = excluded.title, status = excluded.status, move = excluded.move, segment = excluded.segment, model = excluded.model,
  unresolved = excluded.unresolved, revision = excluded.revision, updated_at = excluded.updated_at
where v.revision < excluded.revision`;
/** Rows of named runs. Primary key. */
const REVISIONS = `select run, revision from n17q_api.run_views where tenant = $1 and run = any($2::text[])`;

export class RunViews {
  #caughtUp = false;
  constructor(private readonly database: DataSource, private readonly log: ServiceLog, private readonly store: BusStore) {}

  get caughtUp(): boolean { return this.#caughtUp; }

  /** Makes the run's row from its state now. */
  async refresh(tenant: TenantId, run: RunId, createdAt?: number): Promise<void> {
    const s = await this.log.state(tenant, run);
    if (s.revision === 0) return;
    await this.put(s, createdAt ?? (await this.createdAt(tenant, run)));
  }

  /** Compares every run of these tenants with its row. Returns how many rows were made anew. */
  async catchUp(tenants: readonly TenantId[]): Promise<number> {
    await this.checkVersion();
    let made = 0;
    let runs = 0;
    for (const tenant of tenants) {
      let after: StreamId | '' = '';
      for (;;) {
        const page = await this.store.listRuns(tenant, after, PAGE);
        const known = new Map(((await this.database.query(REVISIONS, [tenant, page.map((r) => runOf(r.stream) ?? '')])) as readonly { run: string; revision: number }[]).map((r) => [r.run, r.revision]));
        for (const r of page) {
          const run = runOf(r.stream) ?? '';
          if ((known.get(run) ?? 0) >= r.revision) continue;
          await this.refresh(tenant, run, r.createdAt);
          made++;
        }
        runs += page.length;
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) break;
        after = last.stream;
      }
    }
    await this.database.getRepository(Projection).upsert({ name: NAME, version: PROJECTION_VERSION, caughtUpAt: new Date(), runs }, ['name']);
    this.#caughtUp = true;
    return made;
  }

  /** Rows that another version of this program made are thrown away. */
  private async checkVersion(): Promise<void> {
    const found = await this.database.getRepository(Projection).findOneBy({ name: NAME });
    if (found !== null && found.version < PROJECTION_VERSION) await this.database.query('delete from n17q_api.run_views');
  }

  private async createdAt(tenant: TenantId, run: RunId): Promise<number> {
    const [first] = await this.store.readEvents(tenant, runStream(run), 0, 1);
    if (first === undefined) throw new Error(`run ${run} has a state and no first event`);
    return first.recordedAt;
  }

  private async put(s: RunState, createdAt: number): Promise<void> {
    const route = s.segmentRoute ?? s.route;
    await this.database.query(PUT, [s.tenant, s.run, s.task?.title ?? '', s.status, whoOf(s), s.segment, route?.model ?? null, unresolvedOf(s).length, s.revision, new Date(createdAt), new Date(s.lastAt)]);
  }
}
