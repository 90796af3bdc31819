/**
 * Who relays a lane, and how far it came: one row with owner, lease, fencing epoch and cursor.
 *
 * L1. Every write names the epoch that the writer was given. Whoever takes over raises it, so that a deposed relay's write changes nothing.
 * L2. An epoch is durable before it is used. A cursor need not be: one that a crash of the database forgets stands further back, and what was published
 *     is published again. So a move waits for no disk, and does not compete with the appends for it.
 *
 * Rows: RUN-4, SVC-4.
 */
import pg from 'pg';

export interface Held { readonly epoch: number; readonly cursor: number }
export interface RelayLedger {
  /** Takes the lane when nobody holds it (any more); null when somebody does. */
  acquire(owner: string, leaseMs: number): Promise<Held | null>;
  /** Moves the cursor (also back) and prolongs the lease; false when the epoch is not the lane's any more. */
  put(epoch: number, cursor: number, leaseMs: number): Promise<boolean>;
  /** Lets another take over at once. */
  release(epoch: number): Promise<void>;
}

/** Lock: the lane's row of `relay`, one statement each. */
const ACQUIRE = `update n17q.relay set owner = $2, lease_until = n17q.now_ms() + $3::bigint, epoch = epoch + 1 where lane = $1 and lease_until <= n17q.now_ms() returning epoch::text as epoch, cursor_position::text as cursor`;
const PUT = `update n17q.relay set cursor_position = $3::bigint, lease_until = n17q.now_ms() + $4::bigint where lane = $1 and epoch = $2::bigint`;
const RELEASE = `update n17q.relay set lease_until = 0 where lane = $1 and epoch = $2::bigint`;

export class PostgresRelayLedger implements RelayLedger {
  readonly #pool: pg.Pool;
  readonly #moves: pg.Pool;
  constructor(url: string, private readonly lane = 0) {
    const settings = { connectionString: url, application_name: 'n17q-relay', max: 1, connectionTimeoutMillis: 3000, statement_timeout: 5000, query_timeout: 6000, keepAlive: true };
    this.#pool = new pg.Pool(settings);
    this.#moves = new pg.Pool({ ...settings, options: '-c synchronous_commit=off' }); // keeps L2
    for (const pool of [this.#pool, this.#moves]) pool.on('error', () => undefined); // the next statement connects anew
  }
  async acquire(owner: string, leaseMs: number): Promise<Held | null> {
    const row = (await this.#pool.query<{ epoch: string; cursor: string }>(ACQUIRE, [this.lane, owner, leaseMs])).rows[0];
    return row === undefined ? null : { epoch: Number(row.epoch), cursor: Number(row.cursor) };
  }
  async put(epoch: number, cursor: number, leaseMs: number): Promise<boolean> {
    return (await this.#moves.query(PUT, [this.lane, epoch, cursor, leaseMs])).rowCount === 1;
  }
  async release(epoch: number): Promise<void> { await this.#pool.query(RELEASE, [this.lane, epoch]); }
  async close(): Promise<void> { for (const pool of [this.#pool, this.#moves]) if (!pool.ended) await pool.end(); }
}

/** The same in memory, for the simulation: pass one object to every relay that shares the lane. */
export class MemoryRelayLedger implements RelayLedger {
  cursor = 0;
  epoch = 0;
  #leaseUntil = 0;
  constructor(private readonly clock: () => number) {}
  async acquire(_owner: string, leaseMs: number): Promise<Held | null> {
    if (this.clock() < this.#leaseUntil) return null;
    this.#leaseUntil = this.clock() + leaseMs;
    return { epoch: ++this.epoch, cursor: this.cursor };
  }
  async put(epoch: number, cursor: number, leaseMs: number): Promise<boolean> {
    if (epoch !== this.epoch) return false;
    this.cursor = cursor;
    this.#leaseUntil = this.clock() + leaseMs;
    return true;
  }
  async release(epoch: number): Promise<void> { if (epoch === this.epoch) this.#leaseUntil = 0; }
}
