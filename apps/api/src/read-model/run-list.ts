/** The tenant's runs, newest first, a page at a time. The cursor is opaque to callers. */
import type { DataSource } from 'typeorm';
import type { http } from '@n17q/contracts';
import { Problem } from '../http/problem.js';
import { RunView } from './entities.js';

const rowOf = (v: RunView): http.RunRow => ({ run: v.run, title: v.title, status: v.status, move: v.move, segment: v.segment, model: v.model, unresolved: v.unresolved, revision: v.revision, createdAt: v.createdAt.toISOString(), updatedAt: v.updatedAt.toISOString() });
const cursorOf = (v: RunView): string => Buffer.from(JSON.stringify([v.createdAt.getTime(), v.run])).toString('base64url');

function placeOf(cursor: string): { readonly at: Date; readonly run: string } {
  try {
    const [at, run] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as [unknown, unknown];
    if (typeof at === 'number' && Number.isSafeInteger(at) && Math.abs(at) <= 8.64e15 && typeof run === 'string' && /^[A-Za-z0-9-]{1,64}$/.test(run)) return { at: new Date(at), run };
  } catch (e) {
    if (!(e instanceof SyntaxError) && !(e instanceof TypeError)) throw e;
  }
  throw new Problem('MALFORMED', '`after` is not a cursor of this list.', { path: '/after' });
}

export class RunList {
  constructor(private readonly database: DataSource) {}

  async page(tenant: string, after: string | undefined, limit: number): Promise<http.RunsPage> {
    const q = this.database.getRepository(RunView).createQueryBuilder('v').where('v.tenant = :tenant', { tenant }).orderBy('v.createdAt', 'DESC').addOrderBy('v.run', 'DESC').take(limit + 1);
    if (after !== undefined) {
      const place = placeOf(after);
      q.andWhere('(v.created_at, v.run) < (:at, :run)', place);
    }
    const rows = await q.getMany();
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return { runs: page.map(rowOf), next: rows.length > limit && last !== undefined ? cursorOf(last) : null };
  }
}
