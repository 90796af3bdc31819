/**
 * Artifacts in a folder: `<root>/<tenant>/objects/ab/cd/<hex>`, uploads in `<root>/<tenant>/incoming`.
 *
 * Deliberately without: deduplication (it would tell one writer what another holds), compression, in-place change.
 *
 * F1. An upload becomes visible by one link, after its bytes reached the disk; then the folder's entry is made durable, then the reference is returned.
 * F2. Erasure is one rename of a tombstone over the file. A crash before it leaves the artifact whole, after it a tombstone.
 * F3. No path is ever built from text that was not checked: a tenant's name is encoded, an address has a closed form.
 * F4. Any number of processes may share the folder.
 *
 * Rows: SEAL-3, SEAL-7, RET-1, RET-4, SEC-1.
 */
import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, open, opendir, readdir, readFile, rename, rm, stat, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { newSalt, SALT_BYTES } from '@n17q/contracts';
import type { ContentRef } from '@n17q/domain';
import { HEADING_BYTES_MAX, headingLine, parseHeading, type Heading } from './artifact-file.js';
import { commitmentHash, committed, isCommitment } from './commitment.js';
import { ArtifactAltered, ArtifactErased, ArtifactMissing, type Tombstone } from './errors.js';
import { chunksOf, type About, type ArtifactStat, type ArtifactStore, type Bytes } from './store.js';

/** Readable where it can be, injective always, and never `.`, `..`, or two names that a case-blind disk mixes up. */
export function tenantFolder(tenant: string): string {
  if (tenant === '') throw new RangeError('a tenant has a name');
  const encoded = Array.from(Buffer.from(tenant, 'utf8'), (b) => (/[a-z0-9-]/.test(String.fromCharCode(b)) ? String.fromCharCode(b) : `_${b.toString(16).padStart(2, '0')}`)).join('');
  return encoded.length <= 180 ? `t.${encoded}` : `h.${createHash('sha256').update(tenant).digest('hex')}`;
}

export class FolderArtifactStore implements ArtifactStore {
  readonly #known = new Set<string>();

  constructor(readonly root: string) {}

  async put(tenant: string, content: Bytes, about: About): Promise<ContentRef> {
    const incoming = join(this.root, tenantFolder(tenant), 'incoming');
    await this.#folder(incoming);
    const upload = join(incoming, randomUUID());
    const salt = Buffer.from(about.salt ?? newSalt());
    const hash = commitmentHash(salt);
    let bytes = 0;
    try {
      const file = await open(upload, 'wx', 0o600);
      try {
        await file.writev([headingLine({ class: about.class, media: about.media, salt: salt.toString('base64') })]);
        for await (const chunk of chunksOf(content, about.bytesMax)) {
          hash.update(chunk);
          bytes += chunk.length;
          await writeAll(file, chunk);
        }
        await file.sync(); // keeps F1: bytes before name
      } finally {
        await file.close();
      }
      const ref: ContentRef = { commitment: committed(hash), bytes, class: about.class, media: about.media };
      const path = this.#path(tenant, ref.commitment);
      await this.#folder(dirname(path));
      await link(upload, path).catch((e: NodeJS.ErrnoException) => { if (e.code !== 'EEXIST') throw e; }); // keeps A3, A4: a link never replaces
      await unlink(upload);
      await syncFolder(dirname(path)); // keeps F1: name before reference
      return ref;
    } catch (trouble) {
      await rm(upload, { force: true });
      throw trouble;
    }
  }

  async get(tenant: string, commitment: string): Promise<Buffer> {
    if (!isCommitment(commitment)) throw new ArtifactMissing(commitment);
    const whole = await readFile(this.#path(tenant, commitment)).catch((e: unknown) => { throw missingOr(e, commitment); });
    const { salt, offset } = opened(whole, commitment);
    const bytes = whole.subarray(offset);
    if (committed(commitmentHash(salt).update(bytes)) !== commitment) throw new ArtifactAltered(commitment); // keeps A2
    return bytes;
  }

  async verify(tenant: string, commitment: string): Promise<ContentRef> {
    if (!isCommitment(commitment)) throw new ArtifactMissing(commitment);
    const file = await open(this.#path(tenant, commitment), 'r').catch((e: unknown) => { throw missingOr(e, commitment); });
    try {
      const { heading, salt, offset } = opened(await firstBytes(file), commitment);
      const hash = commitmentHash(salt);
      let bytes = 0;
      for await (const chunk of file.createReadStream({ start: offset, autoClose: false })) {
        hash.update(chunk as Buffer);
        bytes += (chunk as Buffer).length;
      }
      if (committed(hash) !== commitment) throw new ArtifactAltered(commitment);
      return { commitment, bytes, class: heading.class, media: heading.media };
    } finally {
      await file.close();
    }
  }

  async stat(tenant: string, commitment: string): Promise<ArtifactStat | undefined> {
    if (!isCommitment(commitment)) return undefined;
    try {
      const path = this.#path(tenant, commitment);
      const start = parseHeading(await this.#start(path, commitment));
      if (!start) throw new ArtifactAltered(commitment);
      const { heading, offset } = start;
      const bytes = heading.tombstone ? (heading.erasedBytes ?? 0) : (await stat(path)).size - offset;
      return { ref: { commitment, bytes, class: heading.class, media: heading.media }, ...(heading.tombstone ? { tombstone: heading.tombstone } : {}) };
    } catch (e) {
      if (e instanceof ArtifactMissing) return undefined;
      throw e;
    }
  }

  async erase(tenant: string, commitment: string, why: Tombstone): Promise<Tombstone> {
    const found = await this.stat(tenant, commitment);
    if (!found) throw new ArtifactMissing(commitment);
    if (found.tombstone) return found.tombstone;
    const tombstone: Tombstone = { reason: why.reason, by: why.by, at: why.at };
    const path = this.#path(tenant, commitment);
    const upload = join(this.root, tenantFolder(tenant), 'incoming', randomUUID());
    await this.#folder(dirname(upload));
    const file = await open(upload, 'wx', 0o600);
    try {
      await file.writeFile(headingLine({ class: found.ref.class, media: found.ref.media, erasedBytes: found.ref.bytes, tombstone }));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(upload, path); // keeps F2
    await syncFolder(dirname(path));
    return tombstone;
  }

  async *list(tenant: string): AsyncGenerator<ArtifactStat> {
    const objects = join(this.root, tenantFolder(tenant), 'objects');
    const folders = await readdir(objects, { withFileTypes: true, recursive: false }).catch(emptyIfMissing);
    for (const first of folders) {
      for (const second of await readdir(join(objects, first.name))) {
        for await (const file of await opendir(join(objects, first.name, second))) {
          const found = await this.stat(tenant, `c1.${file.name}`);
          if (found) yield found;
        }
      }
    }
  }

  /** Removes uploads that nobody can be writing any more: their process is gone. Returns how many. */
  async removeAbandonedUploads(tenant: string, olderThanMs: number, nowMs: number): Promise<number> {
    const incoming = join(this.root, tenantFolder(tenant), 'incoming');
    let removed = 0;
    for (const entry of await readdir(incoming, { withFileTypes: true }).catch(emptyIfMissing)) {
      const path = join(incoming, entry.name);
      const found = await stat(path).catch((e: unknown) => { if (isMissing(e)) return undefined; throw e; });
      if (!found || nowMs - found.mtimeMs <= olderThanMs) continue;
      await unlink(path);
      removed++;
    }
    return removed;
  }

  #path(tenant: string, commitment: string): string {
    const hex = commitment.slice(3);
    return join(this.root, tenantFolder(tenant), 'objects', hex.slice(0, 2), hex.slice(2, 4), hex);
  }

  async #start(path: string, commitment: string): Promise<Buffer> {
    const file = await open(path, 'r').catch((e: unknown) => { throw missingOr(e, commitment); });
    try {
      return await firstBytes(file);
    } finally {
      await file.close();
    }
  }

  /** Creates a folder whose every new level is durable in its parent. */
  async #folder(path: string): Promise<void> {
    if (this.#known.has(path)) return;
    const first = await mkdir(path, { recursive: true, mode: 0o700 });
    if (first !== undefined) for (let at = path; at.length >= first.length; at = dirname(at)) await syncFolder(dirname(at));
    this.#known.add(path);
  }
}

function opened(start: Buffer, commitment: string): { heading: Heading; salt: Buffer; offset: number } {
  const parsed = parseHeading(start);
  if (!parsed) throw new ArtifactAltered(commitment);
  if (parsed.heading.tombstone) throw new ArtifactErased(commitment, parsed.heading.tombstone);
  const salt = Buffer.from(parsed.heading.salt ?? '', 'base64');
  if (salt.length !== SALT_BYTES) throw new ArtifactAltered(commitment);
  return { heading: parsed.heading, salt, offset: parsed.offset };
}

async function firstBytes(file: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADING_BYTES_MAX), 0, HEADING_BYTES_MAX, 0);
  return buffer.subarray(0, bytesRead);
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const isMissing = (e: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((e as NodeJS.ErrnoException).code ?? '');
const missingOr = (e: unknown, commitment: string): unknown => (isMissing(e) ? new ArtifactMissing(commitment) : e);
const emptyIfMissing = (e: unknown): never[] => {
  if (isMissing(e)) return [];
  throw e;
};
