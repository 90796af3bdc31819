/**
 * A request that comes twice with one idempotency key is one append, however long the run went on in between.
 *
 * K1. Before the append that a key stands for, it is on record where in the stream it can be: a repeat looks there, in the log itself.
 * K2. A key belongs to one person and one request; with another request it is refused.
 * K3. What is kept are digests: the key is their secret, so that nothing can be guessed from them (D2 of the commitments).
 *
 * Rows: RUN-1, RUN-4.
 */
import { createHash, createHmac } from 'node:crypto';
import { LessThan, type DataSource } from 'typeorm';
import { canonical } from '@n17q/contracts';
import type { EventEnvelope, StreamId } from '@n17q/domain';
import type { BusStore } from '@n17q/event-log';
import type { Asking } from '../http/caller.js';
import { Problem } from '../http/problem.js';
import { RequestKey } from '../read-model/entities.js';
import { idFrom } from './run-log.js';

const PAGE = 512;
export const KEY_LIFE_MS = 24 * 60 * 60 * 1000;

export const appendIdOf = (a: Asking & { readonly key: string }): string => idFrom('append', a.tenant, a.person, a.key);
const keyDigest = (a: Asking & { readonly key: string }): string => createHash('sha256').update(canonical([a.tenant, a.person, a.key])).digest('hex');
const requestDigest = (a: Asking & { readonly key: string }): string => createHmac('sha256', a.key).update(canonical([a.operation, a.body ?? null])).digest('hex');

export class RequestKeys {
  constructor(private readonly database: DataSource, private readonly store: BusStore) {}

  /** The event that this request led to before, or undefined. Throws IDEMPOTENCY_KEY_REUSED. */
  async find(a: Asking & { readonly key: string }): Promise<EventEnvelope | undefined> {
    const known = await this.database.getRepository(RequestKey).findOneBy({ key: keyDigest(a) });
    if (known === null) return undefined;
    this.check(a, known);
    for (let after = known.fromRevision; ; ) {
      const page = await this.store.readEvents(a.tenant, known.stream as StreamId, after, PAGE);
      const found = page.find((e) => e.appendId === known.appendId);
      if (found !== undefined) return found;
      const last = page.at(-1);
      if (last === undefined) return undefined;
      after = last.revision;
    }
  }

  /** Records where the append will be, at the earliest. A repeat changes nothing. */
  async claim(a: Asking & { readonly key: string }, stream: StreamId, fromRevision: number): Promise<void> {
    const row = { key: keyDigest(a), request: requestDigest(a), tenant: a.tenant, stream, fromRevision, appendId: appendIdOf(a), createdAt: new Date() };
    await this.database.getRepository(RequestKey).createQueryBuilder().insert().values(row).orIgnore().execute(); // keeps K1
    const known = await this.database.getRepository(RequestKey).findOneByOrFail({ key: row.key });
    this.check(a, known);
  }

  /** Forgets keys whose life is over. */
  async purge(nowMs: number): Promise<void> { await this.database.getRepository(RequestKey).delete({ createdAt: LessThan(new Date(nowMs - KEY_LIFE_MS)) }); }

  private check(a: Asking & { readonly key: string }, known: RequestKey): void {
    if (known.request !== requestDigest(a)) throw new Problem('IDEMPOTENCY_KEY_REUSED', 'This key came with another request before. A new request needs a new key.'); // keeps K2
  }
}
