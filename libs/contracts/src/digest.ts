/**
 * Canonical JSON (RFC 8785), commitments and digests: the formats that freeze with version 1.
 *
 * D1. An event's digest covers what it says, who wrote it, when the store took it in, and its predecessor's digest; never trace context or position.
 * D2. Content enters a digest only as a commitment, SHA-256(salt ‖ bytes) with 16 random bytes of salt.
 *
 * Rows: SEAL-8, RET-1, RUN-1.
 */
import { createHash, hash, randomBytes } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { ContentClass, ContentRef, Digest, EventEnvelope } from '@n17q/domain';

const DEPTH_MAX = 100;
const PLAIN_KEY = /^[A-Za-z0-9_.-]*$/;

/** The text of plain JSON, or undefined for whatever is not plain or has no canonical form: the library decides about that. */
function plainText(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? JSON.stringify(value) : undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : undefined;
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (value === null) return 'null';
  if (typeof value !== 'object' || depth > DEPTH_MAX) return undefined;
  if (Array.isArray(value)) {
    let text = '[';
    for (let i = 0; i < value.length; i++) {
      const item = plainText(value[i], depth + 1);
      if (item === undefined) return undefined;
      text += i === 0 ? item : `,${item}`;
    }
    return `${text}]`;
  }
  const of: unknown = Object.getPrototypeOf(value);
  if ((of !== Object.prototype && of !== null) || typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  let text = '{';
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    const memberText = plainText(member, depth + 1);
    const plain = PLAIN_KEY.test(key);
    if (memberText === undefined || !(plain || key.isWellFormed())) return undefined;
    text += `${text.length === 1 ? '' : ','}${plain ? `"${key}"` : JSON.stringify(key)}:${memberText}`;
  }
  return `${text}}`;
}

/** RFC 8785 text. Throws TypeError or Error for a value that has no canonical form (undefined at the top, non-finite numbers, lone surrogates). */
export function canonical(value: unknown): string {
  const text = plainText(value, 0) ?? canonicalize(value); // the same text, several times as fast for what nearly everything is
  if (text === undefined) throw new TypeError('this value has no canonical JSON form');
  return text;
}

const TEXTS = new WeakMap<object, string>();
/** The same for a value that never changes: its text is made once. */
export function canonicalOnce(value: object): string {
  let text = TEXTS.get(value);
  if (text === undefined) TEXTS.set(value, (text = canonical(value)));
  return text;
}

export const sha256 = (bytes: string | Uint8Array): Digest => hash('sha256', bytes, 'hex') as Digest;
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
  // the canonical text of { v: 1, … } with its members in their order, so that the data's own text is made only once
  const [before, after] = [canonical({ actor, appendId, causation, correlation }), canonical({ eventId, previous, recordedAt, revision, schemaVersion, segment, stream, tenant, type, v: 1, writer })];
  return sha256(`${before.slice(0, -1)},"data":${canonicalOnce(data)},${after.slice(1)}`);
}
