/**
 * What a run changed, as a patch that `git apply` takes whole: binary files with their bytes, every content named in full.
 *
 * H1. No file of the workspace is written under its own name, and no link is made: contents lie in git's store of objects, under their digests.
 * H2. A patch is whole or refused. A cut one does not apply.
 *
 * Rows: RUN-2, WSP-1.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkspaceRef } from '@n17q/domain';
import { git, type FileEntry, type Workspaces } from '@n17q/tools';
import { Problem } from '../http/problem.js';

export const PATCH_BYTES_MAX = 32 * 1024 * 1024;
const AT_ONCE = 200;

/** The patch from the base commit to this state; empty: nothing changed. Throws a Problem when it is larger than `bytesMax`. */
export async function patchOf(workspaces: Workspaces, tenant: string, ref: WorkspaceRef, bytesMax = PATCH_BYTES_MAX): Promise<string> {
  const after = await workspaces.manifest(tenant, ref);
  if (after.origin === null) return '';
  const before = await workspaces.manifest(tenant, { base: ref.base, tree: { ...ref.tree, commitment: after.origin } });
  const [old, now] = [differing(before.files, after.files), differing(after.files, before.files)];
  if (old.length + now.length === 0) return '';
  await mkdir(workspaces.scratch, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(workspaces.scratch, 'patch-'));
  try {
    await git(['init', '--quiet', '--bare', '--template=', folder], { cwd: folder });
    const trees = [await treeOf(workspaces, tenant, folder, 'old', old), await treeOf(workspaces, tenant, folder, 'now', now)] as const;
    const patch = await diffOf(folder, trees);
    if (patch.length > bytesMax) throw new Problem('TOO_LARGE', `The patch has ${patch.length} bytes, at most ${bytesMax} are handed out: ./n17q show and output say what changed.`);
    return patch.toString('utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Those of `files` that are not the same in `others`. */
function differing(files: readonly FileEntry[], others: readonly FileEntry[]): readonly FileEntry[] {
  const known = new Map(others.map((f) => [f.path, `${f.mode} ${f.sha256}`]));
  return files.filter((f) => known.get(f.path) !== `${f.mode} ${f.sha256}`);
}

async function treeOf(workspaces: Workspaces, tenant: string, repo: string, side: string, files: readonly FileEntry[]): Promise<string> {
  const env = { GIT_INDEX_FILE: join(repo, `index-${side}`) };
  for (let i = 0; i < files.length; i += AT_ONCE) {
    const some = files.slice(i, i + AT_ONCE);
    const names: string[] = [];
    for (const [n, f] of some.entries()) {
      names.push(join(repo, `content-${n}`)); // keeps H1
      await writeFile(names[n] as string, await workspaces.artifacts.get(tenant, f.content));
    }
    const ids = (await git(['hash-object', '-w', '--no-filters', '--', ...names], { cwd: repo })).toString('utf8').trim().split('\n');
    await git(['update-index', '--add', ...some.flatMap((f, n) => ['--cacheinfo', `${f.mode},${ids[n] ?? ''},${f.path}`])], { cwd: repo, env });
  }
  return (await git(['write-tree'], { cwd: repo, env })).toString('utf8').trim();
}

/** Text in another encoding would not survive the way to the caller: then all of it goes as binary. */
async function diffOf(repo: string, [old, now]: readonly [string, string]): Promise<Buffer> {
  const ask = (): Promise<Buffer> => git(['diff', '--binary', '--full-index', '--no-ext-diff', '--no-textconv', '--no-color', old, now, '--'], { cwd: repo });
  const patch = await ask();
  if (Buffer.from(patch.toString('utf8'), 'utf8').equals(patch)) return patch;
  await mkdir(join(repo, 'info'), { recursive: true });
  await writeFile(join(repo, 'info', 'attributes'), '* -diff\n');
  return ask();
}
