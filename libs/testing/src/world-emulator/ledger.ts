/**
 * The world's own memory: what the ticket service accepted, in an append-only file, on the disk before any reply.
 *
 * L1. An accepted request is on the disk before it can be answered; killing the process loses no acceptance.
 * L2. A torn last line (killed while writing) is dropped at the next start: it was never answered.
 */
import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { digestOf } from '@n17q/contracts';
import type { Json } from '@n17q/domain';

export interface LedgerEntry {
  /** `repeated`: a known key came again, and the first result was given again. `read`: a document was looked at. Only `accepted` made or changed something. */
  readonly what: 'accepted' | 'repeated' | 'refused' | 'read';
  readonly seq: number;
  readonly ticket: string | null;
  readonly key: string | null;
  /** SHA-256 of the canonical body. */
  readonly content: string;
  readonly body: Json;
  readonly at: string;
}

export interface LedgerView {
  /** Tickets made. */
  readonly accepted: number;
  /** Requests that were read in full, whatever became of them. */
  readonly arrived: number;
  readonly acceptedPerKey: Readonly<Record<string, number>>;
  readonly acceptedPerContent: Readonly<Record<string, number>>;
  readonly entries: readonly LedgerEntry[];
}

export const contentDigest = (body: Json): string => digestOf(body);

export class Ledger {
  readonly #fd: number;
  readonly #entries: LedgerEntry[] = [];

  constructor(path: string) {
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    for (const line of whole.split('\n')) if (line !== '') this.#entries.push(JSON.parse(line) as LedgerEntry);
    this.#fd = openSync(path, 'a', 0o600);
    ftruncateSync(this.#fd, Buffer.byteLength(whole)); // keeps L2
  }

  record(what: LedgerEntry['what'], key: string | null, body: Json, first?: LedgerEntry): LedgerEntry {
    const seq = this.#entries.length + 1;
    const ticket = what === 'refused' || what === 'read' ? null : (first?.ticket ?? `T-${seq}`);
    const entry: LedgerEntry = { what, seq, ticket, key, content: contentDigest(body), body, at: new Date().toISOString() };
    writeSync(this.#fd, `${JSON.stringify(entry)}\n`);
    fsyncSync(this.#fd); // keeps L1
    this.#entries.push(entry);
    return entry;
  }

  withKey(key: string): LedgerEntry[] { return this.#entries.filter((e) => e.what === 'accepted' && e.key === key); }

  #writes(name: string): LedgerEntry[] { return this.#entries.filter((e) => e.what === 'accepted' && (e.body as { readonly name?: Json } | null)?.name === name && e.key === null); }
  /** The entity tag of a document: it counts how often that was written. */
  versionOf(name: string): string { return `"v${this.#writes(name).length}"`; }
  documentOf(name: string): Json { return (this.#writes(name).at(-1)?.body as { readonly body: Json } | undefined)?.body ?? null; }

  view(): LedgerView {
    const accepted = this.#entries.filter((e) => e.what === 'accepted');
    const count = (of: (e: LedgerEntry) => string | null): Record<string, number> => {
      const counts: Record<string, number> = {};
      for (const e of accepted) { const k = of(e); if (k !== null) counts[k] = (counts[k] ?? 0) + 1; }
      return counts;
    };
    return { accepted: accepted.length, arrived: this.#entries.length, acceptedPerKey: count((e) => e.key), acceptedPerContent: count((e) => e.content), entries: [...this.#entries] };
  }

  close(): void { closeSync(this.#fd); }
}
