/**
 * One connection that appends, and what became of a batch that was sent on it.
 *
 * W1. A batch whose answer was lost is not judged again before the backend that may still hold it is gone: each connection has a name of its own
 *     under which it can be found and ended. Only then is "nothing was taken in" certain.
 * W2. The server gives up before we do: lock, statement and idle timeouts are set on the connection, and shorter than the client's.
 *
 * Rows: RUN-4.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { failpoint } from '@n17q/platform';
import { APPEND_STATEMENT, batchArguments, type EncodedAppend, type OutcomeRow } from './encode.js';

export interface WriterOptions { readonly url: string; readonly lane: number; readonly foldSchema: string; readonly statementMs: number; readonly lockMs: number; readonly connectMs: number; /** How much longer than the server we wait for its answer. */ readonly graceMs: number }

/** What one execution of a batch came to. */
export type Sent =
  | { readonly kind: 'done'; readonly rows: readonly OutcomeRow[] }
  /** The transaction was rolled back. `transient`: another time it may pass. */
  | { readonly kind: 'failed'; readonly transient: boolean; readonly error: Error }
  /** The connection could not be had: nothing was sent. */
  | { readonly kind: 'unsent'; readonly error: Error }
  /** It was sent, and nobody knows. */
  | { readonly kind: 'lost'; readonly error: Error };

// A plan that was made while the tables were small must still be right when they are large: always by primary key. Compilation would cost more than it saves.
const PLAN_BY_KEYS = ['jit', 'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_material'].map((s) => `set ${s} = off`).concat('set plan_cache_mode = force_generic_plan').join('; ');

const sqlState = (error: unknown): string => (error instanceof pg.DatabaseError ? (error.code ?? '') : '');
/** The session is over, whatever was said: crash, shutdown, termination, protocol. */
const endsSession = (code: string): boolean => code === '' || code.startsWith('08') || code.startsWith('57P') || code === '25P03';
/** Lock and statement timeouts, deadlocks, resources, read-only standby. */
const isTransient = (code: string): boolean => ['55P03', '57014', '40001', '40P01', '25006'].includes(code) || code.startsWith('53');

export class Writer {
  #client: pg.Client | undefined;
  #name = '';
  /** Names of connections whose batch may still be running on the server. */
  readonly #doubtful = new Set<string>();

  constructor(private readonly options: WriterOptions) {}

  async send(batch: readonly EncodedAppend[]): Promise<Sent> {
    const { lane, foldSchema } = this.options;
    let client: pg.Client;
    try {
      client = await this.#connected();
    } catch (error) {
      return { kind: 'unsent', error: error as Error };
    }
    failpoint('store.before-begin');
    try {
      const answer = await client.query<OutcomeRow>({ name: 'append_batch', text: APPEND_STATEMENT, values: batchArguments(batch, lane, foldSchema) });
      failpoint('store.after-commit-before-reply');
      return { kind: 'done', rows: answer.rows };
    } catch (error) {
      const code = sqlState(error);
      if (!endsSession(code)) return { kind: 'failed', transient: isTransient(code), error: error as Error };
      this.#doubtful.add(this.#name); // keeps W1
      this.#drop();
      return { kind: 'lost', error: error as Error };
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  async #connected(): Promise<pg.Client> {
    if (this.#client === undefined) {
      const { url, statementMs, lockMs, connectMs, graceMs } = this.options;
      const name = `n17q-writer-${randomUUID()}`;
      const client = new pg.Client({
        connectionString: url, application_name: name, keepAlive: true, connectionTimeoutMillis: connectMs, query_timeout: statementMs + graceMs,
        statement_timeout: statementMs, lock_timeout: lockMs, idle_in_transaction_session_timeout: statementMs,
      });
      client.on('error', () => { if (this.#client === client) this.#drop(); });
      try {
        await client.connect();
        await client.query(`select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local')`);
        await client.query(PLAN_BY_KEYS);
      } catch (error) {
        destroy(client);
        throw error;
      }
      this.#client = client;
      this.#name = name;
    }
    if (this.#doubtful.size > 0) await this.#endDoubtful(this.#client);
    return this.#client;
  }

  /** Ends the backends of lost connections and waits until they are gone; throws when one will not go. */
  async #endDoubtful(client: pg.Client): Promise<void> {
    const left = await client.query(`select pid, pg_terminate_backend(pid, 3000) as gone from pg_stat_activity where application_name = any($1)`, [[...this.#doubtful]]);
    if (left.rows.some((r: { gone: boolean }) => !r.gone)) throw new Error('a backend that may still hold a lost batch does not end');
    this.#doubtful.clear();
  }

  #drop(): void {
    if (this.#client !== undefined) destroy(this.#client);
    this.#client = undefined;
  }
}

/** Closes the socket without a farewell, which could wait for ever on a dead peer. */
function destroy(client: pg.Client): void {
  client.on('error', () => undefined);
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
