import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FolderArtifactStore } from '@n17q/artifacts';
import { git, Workspaces } from '@n17q/tools';
import { patchOf } from './patch.js';

const T = 'acme';
const every = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
let dir: string;
beforeAll(() => { dir = mkdtempSync(join(tmpdir(), 'n17q-patch-')); });
afterAll(() => { rmSync(dir, { recursive: true, force: true }); });

describe('the patch of a run', () => {
  it('[RUN-2] [WSP-1] is taken by git apply as it is: text, other encodings, binary, new, removed, mode and link', async () => {
    const repo = join(dir, 'repo');
    await git(['init', '--quiet', repo], { cwd: dir });
    writeFileSync(join(repo, 'text.js'), 'one\n');
    writeFileSync(join(repo, 'logo.bin'), every);
    writeFileSync(join(repo, 'gone.bin'), every);
    writeFileSync(join(repo, 'latin.txt'), Buffer.from([0x61, 0xe4, 0x0a]));
    await git(['add', '.'], { cwd: repo });
    await git(['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'first'], { cwd: repo });

    const workspaces = new Workspaces(new FolderArtifactStore(join(dir, 'artifacts')), join(dir, 'scratch'));
    const clone = join(dir, 'clone');
    const { workspace } = await workspaces.fromRepo(T, repo, clone);
    expect(await patchOf(workspaces, T, workspace)).toBe('');
    const made = async (): Promise<{ patch: string; at: Awaited<ReturnType<Workspaces['snapshot']>>['workspace'] }> => {
      const at = (await workspaces.snapshot(T, clone, workspace)).workspace;
      return { at, patch: await patchOf(workspaces, T, at) };
    };
    writeFileSync(join(clone, 'text.js'), 'one\ntwö\n');
    chmodSync(join(clone, 'text.js'), 0o755);
    writeFileSync(join(clone, 'logo.bin'), Buffer.from(every).reverse());
    writeFileSync(join(clone, 'new, "file" ü.txt'), 'new\n');
    unlinkSync(join(clone, 'gone.bin'));
    symlinkSync('text.js', join(clone, 'link'));
    const readable = await made();
    expect(readable.patch).toContain('+twö');
    expect(readable.patch).toContain('GIT binary patch');
    expect(readable.patch).not.toContain('Binary files');
    writeFileSync(join(clone, 'latin.txt'), Buffer.from([0x61, 0xfc, 0x0a]));
    const opaque = await made();
    for (const { patch, at } of [readable, opaque]) {
      const target = join(dir, `target-${at.tree.commitment.slice(-8)}`);
      await git(['clone', '--quiet', repo, target], { cwd: dir });
      writeFileSync(join(dir, 'p.patch'), patch);
      await git(['apply', join(dir, 'p.patch')], { cwd: target });
      const found = (await workspaces.snapshot(T, target, at)).paths;
      expect(found).toEqual([]);
      expect(readFileSync(join(target, 'logo.bin'))).toEqual(Buffer.from(every).reverse());
    }
    await expect(patchOf(workspaces, T, opaque.at, 100)).rejects.toMatchObject({ code: 'TOO_LARGE' }); // whole or not at all
  });
});
