/** The event store on Postgres: group commit for appends, a small pool for reads, the database's clock. */
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import type { AppendOutcome } from '@n17q/contracts';
import type { PreparedAppend } from '../ports.js';
import { flawOf } from '../prepared.js';
import { schemaOf } from '../migrations/migrate.js';
import { positioned } from '../row.js';
import { FOLD_SCHEMA, type EventStorePort, type PositionedEvent } from '../store-port.js';
import { AppendBatcher, type BatcherOptions } from './batcher.js';
import { StoreClock } from './clock.js';
import { encode, type EncodedAppend } from './encode.js';
import { PostgresReads } from './reads.js';
import type { LastPack } from './section-pack.js';
import { RunCache } from '../run-cache.js';

export interface PostgresStoreOptions extends Partial<Omit<BatcherOptions, 'url'>> {
  readonly url: string;
  readonly readersMax?: number;
}

/** What is measured to be right on small machines; all of it can be set. */
export const STORE_DEFAULTS = {
  writers: 1, lane: 0, foldSchema: FOLD_SCHEMA, queueMax: 4096, queueBytesMax: 64 * 1024 * 1024, batchMin: 32, batchMax: 200, batchBytesMax: 1024 * 1024, queueMs: 10_000, unknownMs: 20_000,
  statementMs: 5000, lockMs: 3000, connectMs: 3000, graceMs: 3000,
} as const;

const PACKS_BYTES_MAX = 32 * 1024 * 1024;

export class PostgresEventStore extends PostgresReads implements EventStorePort {
  readonly #listeners = new Set<(events: readonly PositionedEvent[]) => void>();
  readonly #lastPacks = new RunCache(new LRUCache<string, LastPack>({ maxSize: PACKS_BYTES_MAX, sizeCalculation: (p) => p.text.length + 100 * p.held.size }));
  readonly #batcher: AppendBatcher;
  readonly #pool: pg.Pool;
  readonly clock: StoreClock;

  private constructor(options: PostgresStoreOptions, pool: pg.Pool) {
    const { readersMax: _, ...given } = options;
    const settings: BatcherOptions = { ...STORE_DEFAULTS, ...given };
    super(pool, settings.foldSchema);
    this.#pool = pool;
    this.clock = new StoreClock(() => this.now());
    this.#batcher = new AppendBatcher(settings, {
      committed: (appends) => {
        if (this.#listeners.size === 0) return;
        const events = appends.flatMap((a) => positioned(a.prepared, settings.lane, a.last));
        for (const tell of this.#listeners) tell(events);
      },
      skewed: () => void this.clock.sync().catch(() => undefined),
    });
  }

  /** Checks the schema (and never migrates), synchronises the clock. Throws StoreFault or the driver's error; nothing is left open then. */
  static async open(options: PostgresStoreOptions): Promise<PostgresEventStore> {
    const pool = new pg.Pool({
      connectionString: options.url, application_name: 'n17q-reads', max: options.readersMax ?? 6, connectionTimeoutMillis: 3000, idleTimeoutMillis: 30_000, keepAlive: true,
      statement_timeout: 10_000, query_timeout: 12_000, idle_in_transaction_session_timeout: 10_000,
    });
    pool.on('error', () => undefined); // an idle connection died; the next read makes another
    let store: PostgresEventStore | undefined;
    try {
      await schemaOf(pool as never);
      store = new PostgresEventStore(options, pool);
      await store.clock.start();
      return store;
    } catch (error) {
      if (store === undefined) await pool.end();
      else await store.close();
      throw error;
    }
  }

  get queued(): number { return this.#batcher.queued; }
  /** Called after each commit of this process with what it took in, in the order of the lane. Returns the way to stop it. */
  onCommit(tell: (events: readonly PositionedEvent[]) => void): () => void {
    this.#listeners.add(tell);
    return () => this.#listeners.delete(tell);
  }

  append(prepared: PreparedAppend): Promise<AppendOutcome> {
    const flaw = flawOf(prepared);
    if (flaw !== undefined) return Promise.resolve(flaw);
    const key = `${prepared.tenant} ${prepared.stream}`;
    let encoded: EncodedAppend;
    try {
      encoded = encode(prepared, this.#lastPacks.get(key));
    } catch (error) {
      return Promise.resolve({ kind: 'refused', code: 'MALFORMED', message: (error as Error).message, facts: {} });
    }
    return encoded.packed === null && !prepared.rests ? this.#batcher.append(encoded) : this.#remembered(key, encoded, prepared.rests);
  }

  async #remembered(key: string, encoded: EncodedAppend, rests: boolean): Promise<AppendOutcome> {
    const outcome = await this.#batcher.append(encoded);
    if (outcome.kind !== 'appended' || !outcome.fresh) return outcome;
    if (encoded.packed !== null) this.#lastPacks.set(key, encoded.packed.next, rests);
    else this.#lastPacks.move(key, rests);
    return outcome;
  }

  /** Finishes what is queued, then closes all connections. A repeat does nothing more. */
  async close(): Promise<void> {
    this.clock.stop();
    await this.#batcher.close();
    if (!this.#pool.ended) await this.#pool.end();
  }
}
