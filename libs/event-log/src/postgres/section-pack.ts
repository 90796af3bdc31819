/**
 * How checkpoints lie in Postgres: one row each, with the sections that changed and the manifest in one compressed text. A section that did not
 * change is where an earlier checkpoint of the run has it. What is stored depends on what changed, not on how long the run is.
 *
 * G1. A pack is deflate (RFC 1951) of a line of JSON and the texts that it announces; its dictionary is the text of the run's pack before it, which most of it repeats. After PACKS_IN_CHAIN
 *     packs one stands alone, so that reading any of them takes a bounded number of rows.
 * G2. What is remembered here of a run is only ever used for what the transaction checks again: that the base is there, and that each earlier
 *     checkpoint that is named holds the section. Nothing remembered: everything is packed.
 *
 * Rows: SEAL-2, SEAL-7, SEAL-8.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Digest } from '@n17q/domain';
import type { PreparedAppend } from '../ports.js';

export const PACKS_IN_CHAIN = 16;
const DEFLATE = { level: 4, memLevel: 6 } as const;

/** What is known of a run's last checkpoint that was taken in. */
export interface LastPack { readonly cut: number; readonly text: Buffer; readonly depth: number; readonly held: ReadonlyMap<string, number> }
export interface PackText { readonly manifest: string; readonly sections: { readonly [digest: string]: string }; /** Where earlier checkpoints hold the rest, by cut. */ readonly held: { readonly [digest: string]: number }; /** Held by some earlier checkpoint. */ readonly sought: readonly string[] }

export interface Packed {
  /** Cut of the checkpoint whose text is the dictionary; null: none is needed. */
  readonly base: number | null;
  readonly body: Buffer;
  /** Heads of the digests that are in `body`, as the transaction compares them. */
  readonly holds: readonly string[];
  readonly held: { readonly [digest: string]: number };
  /** Cited, not brought along and not known here: the transaction looks through the run's checkpoints. */
  readonly sought: readonly Digest[];
  /** To be remembered when the append was taken in. */
  readonly next: LastPack;
}

/** In memory of its own: it is kept for long, and a slice of the shared pool would keep the whole slab of it alive. */
function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text, 'utf8'));
  bytes.write(text, 'utf8');
  return bytes;
}

/** A line of JSON that says how long what follows is, then manifest and sections as they are: they are JSON themselves, and quoting it again would double it. */
function textOf(p: PackText): Buffer {
  const bodies = Object.entries(p.sections);
  const head = { manifest: p.manifest.length, sections: bodies.map(([digest, body]) => [digest, body.length]), held: p.held, sought: p.sought };
  return ownBytes(`${JSON.stringify(head)}\n${p.manifest}${bodies.map(([, body]) => body).join('')}`);
}
function parseText(text: string): PackText {
  let at = text.indexOf('\n') + 1;
  const head = JSON.parse(text.slice(0, at)) as { readonly manifest: number; readonly sections: readonly (readonly [string, number])[]; readonly held: PackText['held']; readonly sought: PackText['sought'] };
  const next = (length: number): string => text.slice(at, (at += length));
  return { manifest: next(head.manifest), sections: Object.fromEntries(head.sections.map(([digest, length]) => [digest, next(length)])), held: head.held, sought: head.sought };
}

/** The first eight bytes of a digest as a signed number, as `n17q.digest_head` makes it. */
export const digestHead = (digest: string): string => BigInt.asIntN(64, BigInt(`0x${digest.slice(0, 16)}`)).toString();

export function pack(c: NonNullable<PreparedAppend['checkpoint']>, last: LastPack | undefined): Packed {
  const sections: Record<string, string> = {};
  const held: Record<string, number> = {};
  const sought: Digest[] = [];
  for (const [digest, body] of Object.entries(c.sections)) {
    const at = last?.held.get(digest);
    if (at === undefined) sections[digest] = body;
    else held[digest] = at;
  }
  for (const digest of c.citesSections) {
    if (digest in sections || digest in held) continue;
    const at = last?.held.get(digest);
    if (at === undefined) sought.push(digest);
    else held[digest] = at;
  }
  const text = textOf({ manifest: c.manifest, sections, held, sought });
  const base = last !== undefined && last.depth < PACKS_IN_CHAIN ? last : undefined;
  return {
    base: base?.cut ?? null, held, sought, holds: Object.keys(sections).map(digestHead),
    body: deflateRawSync(text, base === undefined ? DEFLATE : { ...DEFLATE, dictionary: base.text }),
    next: { cut: c.cut, text, depth: base === undefined ? 1 : base.depth + 1, held: new Map([...Object.entries(held), ...Object.keys(sections).map((d) => [d, c.cut] as const)]) },
  };
}

export interface PackRow { readonly cut: number; readonly base: number | null; readonly body: Buffer }

/** The packs among `rows`, which hold the bases of all that is asked for. Throws when one cannot be read. */
export function unpacker(rows: readonly PackRow[]): (cut: number) => PackText {
  const byCut = new Map(rows.map((r) => [r.cut, r]));
  const texts = new Map<number, Buffer>();
  const textAt = (cut: number): Buffer => {
    const done = texts.get(cut);
    if (done !== undefined) return done;
    const row = byCut.get(cut);
    if (row === undefined) throw new Error(`the checkpoint of cut ${String(cut)} is missing, on which others rest`);
    const text = row.base === null ? inflateRawSync(row.body) : inflateRawSync(row.body, { dictionary: textAt(row.base) });
    texts.set(cut, text);
    return text;
  };
  return (cut) => parseText(textAt(cut).toString('utf8'));
}
