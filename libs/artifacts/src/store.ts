/**
 * The port of artifact storage: bytes by salted commitment, within one tenant.
 *
 * A1. A reference is returned only for bytes that are complete and durable; one still uploading has no address that anybody could cite.
 * A2. What is read was verified by digest in that read; altered bytes are never handed out.
 * A3. Nothing is ever replaced. The same bytes put twice are two artifacts with two salts, unless the caller gives the salt: then the second put changes nothing.
 * A4. Erasing takes bytes and salt together and leaves a tombstone under the same address; it cannot be undone by a later put.
 * A5. Tenants are apart: another tenant's commitment answers as if it did not exist.
 *
 * Both implementations pass `ARTIFACT_STORE_CONFORMANCE`.
 *
 * Rows: SEAL-3, SEAL-7, SEAL-8, RET-1, RET-4, SEC-1.
 */
import type { ContentClass, ContentRef } from '@n17q/domain';
import type { Tombstone } from './errors.js';

export type Bytes = Uint8Array | AsyncIterable<Uint8Array>;

export interface About {
  readonly class: ContentClass;
  readonly media: string;
  /** For content that was already committed under this salt; absent: a fresh one. */
  readonly salt?: Uint8Array;
  /** More bytes than this reject with ArtifactTooLarge and leave nothing. */
  readonly bytesMax?: number;
}

export interface ArtifactStat {
  readonly ref: ContentRef;
  readonly tombstone?: Tombstone;
}

export interface ArtifactStore {
  /** Resolves when the bytes are durable. A rejection leaves nothing visible, whenever it comes. */
  put(tenant: string, content: Bytes, about: About): Promise<ContentRef>;
  /** Exactly the bytes that the commitment names. Rejects with ArtifactMissing, ArtifactErased or ArtifactAltered. */
  get(tenant: string, commitment: string): Promise<Buffer>;
  /** As `get`, with bounded memory and without the bytes: the reference, once all of it was read and its digest matched (SEAL-3). */
  verify(tenant: string, commitment: string): Promise<ContentRef>;
  /** Without reading the bytes; promises nothing about their digest. Undefined: never seen here. */
  stat(tenant: string, commitment: string): Promise<ArtifactStat | undefined>;
  /** A repeat returns the first tombstone. Rejects with ArtifactMissing if there never was one. */
  erase(tenant: string, commitment: string, why: Tombstone): Promise<Tombstone>;
  /** All artifacts and tombstones of the tenant, in no order, uploads in progress excluded. */
  list(tenant: string): AsyncIterable<ArtifactStat>;
}

export class ArtifactTooLarge extends Error {
  readonly code = 'ARTIFACT_TOO_LARGE';
  constructor(readonly bytesMax: number) {
    super(`the artifact has more than ${bytesMax} bytes`);
    this.name = 'ArtifactTooLarge';
  }
}

/** One chunk or many, bounded on the way. */
export async function* chunksOf(content: Bytes, bytesMax = Number.POSITIVE_INFINITY): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of content instanceof Uint8Array ? [content] : content) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new ArtifactTooLarge(bytesMax);
    yield chunk;
  }
}
