import { commitment as commit, newSalt } from '@n17q/contracts';
import type { ContentRef } from '@n17q/domain';
import { ArtifactAltered, ArtifactErased, ArtifactMissing, type Tombstone } from './errors.js';
import { chunksOf, type About, type ArtifactStat, type ArtifactStore, type Bytes } from './store.js';

interface Held { readonly ref: ContentRef; content: { readonly salt: Buffer; readonly bytes: Buffer } | undefined; tombstone?: Tombstone }

/** For tests and simulations; same promises, but for durability. Rows: SEAL-3, RET-4. */
export class MemoryArtifactStore implements ArtifactStore {
  readonly #held = new Map<string, Map<string, Held>>();

  async put(tenant: string, content: Bytes, about: About): Promise<ContentRef> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of chunksOf(content, about.bytesMax)) chunks.push(Buffer.from(chunk));
    const bytes = Buffer.concat(chunks);
    const salt = Buffer.from(about.salt ?? newSalt());
    const ref: ContentRef = { commitment: commit(salt, bytes), bytes: bytes.length, class: about.class, media: about.media };
    const mine = this.#held.get(tenant) ?? new Map<string, Held>();
    if (mine.get(ref.commitment)?.tombstone) return ref; // keeps A4
    this.#held.set(tenant, mine.set(ref.commitment, { ref, content: { salt, bytes } }));
    return ref;
  }

  async get(tenant: string, commitment: string): Promise<Buffer> {
    const held = this.#held.get(tenant)?.get(commitment);
    if (held?.tombstone) throw new ArtifactErased(commitment, held.tombstone);
    if (!held?.content) throw new ArtifactMissing(commitment);
    if (commit(held.content.salt, held.content.bytes) !== commitment) throw new ArtifactAltered(commitment); // keeps A2
    return Buffer.from(held.content.bytes);
  }

  async verify(tenant: string, commitment: string): Promise<ContentRef> {
    await this.get(tenant, commitment);
    const found = await this.stat(tenant, commitment);
    if (!found) throw new ArtifactMissing(commitment);
    return found.ref;
  }

  async stat(tenant: string, commitment: string): Promise<ArtifactStat | undefined> {
    const held = this.#held.get(tenant)?.get(commitment);
    return held && { ref: held.ref, ...(held.tombstone ? { tombstone: held.tombstone } : {}) };
  }

  async erase(tenant: string, commitment: string, why: Tombstone): Promise<Tombstone> {
    const held = this.#held.get(tenant)?.get(commitment);
    if (!held) throw new ArtifactMissing(commitment);
    held.tombstone ??= { reason: why.reason, by: why.by, at: why.at };
    held.content = undefined;
    return held.tombstone;
  }

  async *list(tenant: string): AsyncGenerator<ArtifactStat> {
    for (const held of this.#held.get(tenant)?.values() ?? []) yield { ref: held.ref, ...(held.tombstone ? { tombstone: held.tombstone } : {}) };
  }

  /** For tests: what a bad disk or an intruder would do. */
  tamper(tenant: string, commitment: string, change: (bytes: Buffer) => Buffer): void {
    const held = this.#held.get(tenant)?.get(commitment);
    if (held?.content) held.content = { salt: held.content.salt, bytes: change(Buffer.from(held.content.bytes)) };
  }
}
