import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ARTIFACT_STORE_CONFORMANCE, type StoreUnderTest } from './conformance.js';
import { commitment, newSalt } from '@n17q/contracts';
import type { ContentRef } from '@n17q/domain';
import { FolderArtifactStore, tenantFolder } from './folder-store.js';
import { MemoryArtifactStore } from './memory-store.js';
import { chunksOf, type About, type ArtifactStat, type Bytes } from './store.js';

const folders: string[] = [];
const freshFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'n17q-artifacts-'));
  folders.push(folder);
  return folder;
};
afterAll(async () => { for (const f of folders) await rm(f, { recursive: true, force: true }); });

const pathOf = (root: string, tenant: string, c: string): string => join(root, tenantFolder(tenant), 'objects', c.slice(3, 5), c.slice(5, 7), c.slice(3));
const flipLastByte = (b: Buffer): Buffer => { b[b.length - 1] = (b.at(-1) as number) ^ 1; return b; };

const inMemory = async (store = new MemoryArtifactStore()): Promise<StoreUnderTest> => ({
  store, tamper: async (tenant, c) => store.tamper(tenant, c, flipLastByte),
});
const inFolder = async (make: (root: string) => FolderArtifactStore = (r) => new FolderArtifactStore(r)): Promise<StoreUnderTest> => {
  const root = await freshFolder();
  return { store: make(root), tamper: async (tenant, c) => { const p = pathOf(root, tenant, c); await writeFile(p, flipLastByte(await readFile(p))); } };
};

describe.each([['memory', () => inMemory()], ['folder', () => inFolder()]] as const)('artifacts in %s', (_name, fresh) => {
  for (const c of ARTIFACT_STORE_CONFORMANCE) it(c.title, async () => { await c.run(await fresh()); });
});

describe('artifacts in a folder', () => {
  const about: About = { class: 'evidence', media: 'text/plain' };

  it('[RET-1] keeps neither bytes nor salt of what was erased anywhere in the folder', async () => {
    const root = await freshFolder();
    const store = new FolderArtifactStore(root);
    const ref = await store.put('a', Buffer.from('SECRET-OF-ADA'), about);
    const salt = (JSON.parse((await readFile(pathOf(root, 'a', ref.commitment))).toString().split('\n')[0] as string) as { salt: string }).salt;
    await store.erase('a', ref.commitment, { reason: 'ordered', by: 'ada', at: '2026-01-01T00:00:00Z' });
    const files = (await readdir(root, { recursive: true, withFileTypes: true })).filter((f) => f.isFile());
    expect(files).toHaveLength(1);
    for (const f of files) {
      const text = (await readFile(join(f.parentPath, f.name))).toString();
      expect(text).not.toContain('SECRET-OF-ADA');
      expect(text).not.toContain(salt);
    }
  });

  it('[SEAL-3] a store opened again over the same folder sees the complete artifacts and no upload that was abandoned', async () => {
    const root = await freshFolder();
    const ref = await new FolderArtifactStore(root).put('a', Buffer.from('kept'), about);
    await writeFile(join(root, tenantFolder('a'), 'incoming', 'left-by-a-dead-process'), 'half');
    const again = new FolderArtifactStore(root);
    const seen: ArtifactStat[] = [];
    for await (const s of again.list('a')) seen.push(s);
    expect(seen).toEqual([{ ref }]);
    expect(await again.removeAbandonedUploads('a', 60_000, Date.now())).toBe(0);
    expect(await again.removeAbandonedUploads('a', 60_000, Date.now() + 120_000)).toBe(1);
    expect((await again.get('a', ref.commitment)).toString()).toBe('kept');
  });

  it.each(['', '{"n17q":"artifact/1"}\n', 'garbage without a line end', '\n'])('[RET-4] calls a file that holds %j altered', async (content) => {
    const root = await freshFolder();
    const store = new FolderArtifactStore(root);
    const ref = await store.put('a', Buffer.from('kept'), about);
    await writeFile(pathOf(root, 'a', ref.commitment), content);
    await expect(store.get('a', ref.commitment)).rejects.toMatchObject({ code: 'ARTIFACT_ALTERED', commitment: ref.commitment });
  });

  it('[SEC-1] gives unequal tenants unequal folders that stay inside the root', () => {
    const names = ['a', 'A', 'ä', '.', '..', '../a', 'a/b', 'a_2fb', 'a%2Fb', 't.a', 'x'.repeat(181), 'x'.repeat(182), '\u0000'];
    const made = names.map((n) => tenantFolder(n).toLowerCase());
    expect(new Set(made).size).toBe(names.length);
    for (const m of made) expect(m).toMatch(/^[th]\.[a-z0-9_-]+$/);
  });
});

// Each breaks one promise; the suite must fail on exactly that promise's case.
class DoesNotVerify extends MemoryArtifactStore {
  readonly #bytes = new Map<string, Buffer>();
  override async put(tenant: string, content: Bytes, about: About): Promise<ContentRef> {
    const ref = await super.put(tenant, content, about);
    await super.get(tenant, ref.commitment).then((b) => this.#bytes.set(ref.commitment, b), () => undefined);
    return ref;
  }
  override async get(tenant: string, c: string): Promise<Buffer> {
    return super.get(tenant, c).catch((e: { code?: string }) => {
      if (e.code === 'ARTIFACT_ALTERED') return this.#bytes.get(c) as Buffer;
      throw e;
    });
  }
}
class ShowsPartialUploads extends MemoryArtifactStore {
  readonly #partial = new Map<string, ArtifactStat>();
  override async put(tenant: string, content: Bytes, about: About): Promise<ContentRef> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of chunksOf(content, about.bytesMax)) {
      chunks.push(chunk);
      this.#partial.set(tenant, { ref: { commitment: commitment(newSalt(), chunk), bytes: chunk.length, class: about.class, media: about.media } });
    }
    this.#partial.delete(tenant);
    return super.put(tenant, Buffer.concat(chunks), about);
  }
  override async *list(tenant: string): AsyncGenerator<ArtifactStat> {
    yield* super.list(tenant);
    const partial = this.#partial.get(tenant);
    if (partial) yield partial;
  }
}
class MixesTenants extends MemoryArtifactStore {
  override async put(_t: string, content: Bytes, about: About): Promise<ContentRef> { return super.put('all', content, about); }
  override async get(_t: string, c: string): Promise<Buffer> { return super.get('all', c); }
  override async verify(_t: string, c: string): Promise<ContentRef> { return super.verify('all', c); }
  override async stat(_t: string, c: string): Promise<ArtifactStat | undefined> { return super.stat('all', c); }
}

describe('the conformance suite', () => {
  const failuresOf = async (make: () => MemoryArtifactStore): Promise<string[]> => {
    const failed: string[] = [];
    for (const c of ARTIFACT_STORE_CONFORMANCE) await c.run(await inMemory(make())).catch(() => failed.push(c.title.split(' ')[0] as string));
    return failed;
  };
  it('[saboteur RET-4] fails on a store that does not verify what it reads', async () => {
    expect(await failuresOf(() => new DoesNotVerify())).toEqual(['[RET-4]']);
  });
  it('[saboteur SEAL-3] fails on a store that shows partial uploads', async () => {
    expect(await failuresOf(() => new ShowsPartialUploads())).toEqual(['[SEAL-3]']);
  });
  it('[saboteur SEC-1] fails on a store that mixes tenants', async () => {
    expect(await failuresOf(() => new MixesTenants())).toContain('[SEC-1]');
  });
});
