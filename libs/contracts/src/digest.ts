/**
 * Canonical JSON (RFC 8785), commitments and digests: the formats that freeze with version 1.
 *
 * D1. An event's digest covers what it says, who wrote it, when the store took it in, and its predecessor's digest; never trace context or position.
 * D2. Content enters a digest only as a commitment, SHA-256(salt ‖ bytes) with 16 random bytes of salt.
 *
 * Rows: SEAL-8, RET-1, RUN-1.
 */
import { createHash, randomBytes } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { ContentClass, ContentRef, Digest, EventEnvelope } from '@n17q/domain';

/** RFC 8785 text. Throws TypeError for a value that has no canonical form (undefined at the top, non-finite numbers, lone surrogates). */
export function canonical(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('this value has no canonical JSON form');
  return text;
}

export const sha256 = (bytes: string | Uint8Array): Digest => createHash('sha256').update(bytes).digest('hex') as Digest;
/** SHA-256 over the canonical JSON of `value`. */
export const digestOf = (value: unknown): Digest => sha256(canonical(value));

export const SALT_BYTES = 16;
export const newSalt = (): Buffer => randomBytes(SALT_BYTES);
/** The address of content: `c1.` and the hex of SHA-256(salt ‖ bytes). */
export const commitment = (salt: Uint8Array, bytes: Uint8Array): string => `c1.${createHash('sha256').update(salt).update(bytes).digest('hex')}`;

/** What travels beside an append so that its events may name it. */
export interface ContentUpload { readonly ref: ContentRef; readonly salt: Uint8Array; readonly body: Uint8Array }

/** Commits to `body` under a fresh salt (or the given one). */
export function contentOf(body: string | Uint8Array, cls: ContentClass, media = 'text/plain; charset=utf-8', salt: Uint8Array = newSalt()): ContentUpload {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : Buffer.from(body);
  return { ref: { commitment: commitment(salt, bytes), bytes: bytes.length, class: cls, media }, salt, body: bytes };
}

/** The digest of an event (D1). `prev` is the head's digest, or '' for the first event of a stream. */
export function eventDigest(e: Omit<EventEnvelope, 'digest' | 'position' | 'trace'>): Digest {
  const { tenant, stream, revision, eventId, type, schemaVersion, data, writer, actor, correlation, causation, segment, appendId, recordedAt, previous } = e;
  return digestOf({ v: 1, tenant, stream, revision, eventId, type, schemaVersion, data, writer, actor, correlation, causation, segment, appendId, recordedAt, previous });
}
