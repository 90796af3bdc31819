/**
 * The emulator's own book: every request that arrived, and what was executed, whatever the client saw of it.
 *
 * L1. An entry is written when a request has arrived, before its answer.
 * L2. No API key stands in it; bodies are kept for tests, apart from the entries.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { sha256 } from './signatures.js';

export interface LedgerEntry {
  /** From 1, in order of arrival. */
  readonly order: number;
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bodyDigest: string;
  readonly bodyBytes: number;
  account?: string;
  model?: string;
  executed: boolean;
  /** A value that turns the signature check off was seen. */
  bypassed: boolean;
  fault?: string;
  refusal?: { readonly code: number; readonly status: string; readonly message: string };
  /** The whole answer was handed to the connection. */
  answered: boolean;
}

export interface LedgerView {
  readonly entries: readonly Readonly<LedgerEntry>[];
  readonly requests: number;
  readonly executed: number;
  readonly refused: number;
  readonly byAccountAndModel: Readonly<Record<string, { readonly requests: number; readonly executed: number }>>;
}

const SECRET_HEADERS = new Set(['x-goog-api-key', 'authorization', 'cookie']);
const BODIES_BYTES_MAX = 256 * 1024 * 1024;

export class Ledger {
  readonly #entries: LedgerEntry[] = [];
  readonly #bodies = new Map<number, string>();
  #bodiesBytes = 0;

  arrived(method: string, path: string, headers: IncomingHttpHeaders, body: Buffer): LedgerEntry {
    const entry: LedgerEntry = {
      order: this.#entries.length + 1, at: new Date().toISOString(), method, path,
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !SECRET_HEADERS.has(name))), // keeps L2
      bodyDigest: sha256(body), bodyBytes: body.length, executed: false, bypassed: false, answered: false,
    };
    this.#entries.push(entry);
    this.#bodiesBytes += body.length;
    if (this.#bodiesBytes <= BODIES_BYTES_MAX) this.#bodies.set(entry.order, body.toString('utf8'));
    return entry;
  }

  /** Body of a request, undefined if there is none or the room for bodies was used up. */
  body(order: number): string | undefined {
    return this.#bodies.get(order);
  }

  view(): LedgerView {
    const byAccountAndModel: Record<string, { requests: number; executed: number }> = {};
    for (const { account, model, executed } of this.#entries) {
      const count = byAccountAndModel[`${account ?? '-'}/${model ?? '-'}`] ??= { requests: 0, executed: 0 };
      count.requests += 1;
      if (executed) count.executed += 1;
    }
    return {
      entries: this.#entries.map((entry) => ({ ...entry })), requests: this.#entries.length, byAccountAndModel,
      executed: this.#entries.filter((entry) => entry.executed).length, refused: this.#entries.filter((entry) => entry.refusal !== undefined).length,
    };
  }
}
