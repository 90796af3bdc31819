/**
 * Workspaces as states named by digest, and folders made from them.
 *
 * W1. A snapshot is stored, blobs first, manifest last, before its reference is returned (WSP-2, SEAL-3).
 * W2. A folder made from a reference is checked against the manifest, file by file and as a whole; a difference is trouble, never "close enough".
 * W3. The repository that was given is only read. Work happens on a clone of our own, at one commit.
 * W4. A folder that is not in the expected state is never written to: what was found becomes a snapshot of its own (WSP-3).
 * W5. Content that did not change is not stored again.
 *
 * Rows: WSP-1, WSP-2, WSP-3, SEAL-3, SEAL-7.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArtifactStore } from '@n17q/artifacts';
import type { ContentRef, WorkspaceRef } from '@n17q/domain';
import { createFile, everything, pathsOf, readState, removeFile, WorkspaceTrouble } from './folder-state.js';
import { git, zeroSeparated } from './git.js';
import { changedPaths, changeSummary, inOrder, Manifest, manifestBytes, PATHS_MAX, type FileEntry, type FileState } from './manifest.js';
import type { WorkspaceChange, WorkspaceConflict } from './workspace-ref.js';

const MANIFEST_MEDIA = 'application/vnd.n17q.workspace+json';

/** Addresses of the files that a tree names; none of what is no tree, or cannot be read as one. Rejects as the artifact store does. */
export async function filesNamedBy(artifacts: Pick<ArtifactStore, 'get'>, tenant: string, ref: ContentRef): Promise<readonly string[]> {
  if (ref.media !== MANIFEST_MEDIA) return [];
  const parsed = Manifest.safeParse(parsedJson(await artifacts.get(tenant, ref.commitment)));
  return parsed.success ? parsed.data.files.map((f) => f.content) : [];
}
const AT_ONCE = 8;

/** Content to store, or undefined for content that a known commitment already holds. */
type Pending = FileState & { readonly content: string | undefined; readonly bytes: Buffer | undefined };

export class Workspaces {
  #emptyGitDir: Promise<string> | undefined;

  /** `scratch`: a folder for things that may vanish between two calls. */
  constructor(readonly artifacts: ArtifactStore, readonly scratch: string) {}

  /**
   * Clones `repo` into the fresh folder `clone`, detached at `commit` (default: where its HEAD is), and stores that state. Uncommitted
   * changes in `repo` are not part of it.
   */
  async fromRepo(tenant: string, repo: string, clone: string, commit = 'HEAD'): Promise<{ readonly base: string; readonly workspace: WorkspaceRef }> {
    await fresh(clone);
    await git(['clone', '--quiet', '--no-hardlinks', '--no-checkout', '--no-tags', '--no-recurse-submodules', '--', repo, clone], { cwd: clone });
    const base = (await git(['rev-parse', '--verify', '--end-of-options', `${commit}^{commit}`], { cwd: clone })).toString().trim();
    await git(['checkout', '--quiet', '--detach', base], { cwd: clone });
    const tracked = zeroSeparated(await git(['ls-files', '-z', '--cached'], { cwd: clone }));
    return { base, workspace: await this.#store(tenant, base, null, await this.#scan(clone, tracked, new Map())) };
  }

  /** Rejects with ArtifactMissing or ArtifactAltered by name, or BAD_MANIFEST. */
  async manifest(tenant: string, ref: WorkspaceRef): Promise<Manifest> {
    const parsed = Manifest.safeParse(parsedJson(await this.artifacts.get(tenant, ref.tree.commitment)));
    if (!parsed.success || parsed.data.base !== ref.base) throw new WorkspaceTrouble('BAD_MANIFEST', `${ref.tree.commitment} is no manifest of a workspace on ${ref.base}`);
    return parsed.data;
  }

  /** Makes exactly this state in `dir`, which must be empty or not exist. After a rejection `dir` is to be thrown away. */
  async materialise(tenant: string, ref: WorkspaceRef, dir: string): Promise<Manifest> {
    const manifest = await this.manifest(tenant, ref);
    await fresh(dir);
    for (const f of manifest.files) await createFile(dir, f, await this.artifacts.get(tenant, f.content));
    const differences = changedPaths(manifest.files, await everything(dir)); // keeps W2
    if (differences.length > 0) throw new WorkspaceTrouble('RESTORE_DIFFERS', `the restored folder differs: ${changeSummary(differences)}`);
    return manifest;
  }

  /** Stores the state of `dir`, on top of `previous`. An unchanged folder gives `previous` again, and stores nothing. */
  async snapshot(tenant: string, dir: string, previous: WorkspaceRef): Promise<WorkspaceChange> {
    const before = await this.manifest(tenant, previous);
    return this.#change(tenant, previous, before, await this.#scan(dir, before.files.map((f) => f.path), contentsOf(before)));
  }

  /** Undefined if `dir` is in state `expected`; otherwise what was found, stored. */
  async conflictIn(tenant: string, dir: string, expected: WorkspaceRef): Promise<WorkspaceConflict | undefined> {
    const found = await this.snapshot(tenant, dir, expected);
    return found.paths.length === 0 ? undefined : { expected: expected.tree.commitment, found: found.workspace, paths: found.paths };
  }

  /** The state `at` with one file written (`content` null: removed). Needs no folder. Refusals are values: see `writable`. */
  async withFile(tenant: string, at: WorkspaceRef, path: string, content: Uint8Array | null): Promise<WorkspaceChange> {
    const before = await this.manifest(tenant, at);
    const kept: Pending[] = before.files.filter((f) => f.path !== path).map((f) => ({ ...f, bytes: undefined }));
    if (content !== null) kept.push(pendingFile(path, before.files.find((f) => f.path === path)?.mode ?? '100644', Buffer.from(content), contentsOf(before)));
    return this.#change(tenant, at, before, inOrder(kept));
  }

  /** Brings `dir` from state `from` to state `to`. A folder in another state is left alone, and the conflict is returned. */
  async advance(tenant: string, dir: string, from: WorkspaceRef, to: WorkspaceRef): Promise<WorkspaceConflict | undefined> {
    const [before, after] = [await this.manifest(tenant, from), await this.manifest(tenant, to)];
    const known = [...before.files, ...after.files].map((f) => f.path);
    const now = await this.#scan(dir, [...new Set(known)], contentsOf(before));
    if (changedPaths(after.files, now).length === 0) return undefined;
    if (changedPaths(before.files, now).length > 0) return this.conflictIn(tenant, dir, from); // keeps W4
    const changes = changedPaths(before.files, after.files);
    for (const { path, change } of changes) if (change !== 'added') await removeFile(dir, path);
    for (const { path, change } of changes) {
      const next = change === 'removed' ? undefined : after.files.find((f) => f.path === path);
      if (next) await createFile(dir, next, await this.artifacts.get(tenant, next.content));
    }
    return undefined;
  }

  async #scan(dir: string, known: readonly string[], stored: ReadonlyMap<string, string>): Promise<Pending[]> {
    const found: Pending[] = [];
    for (const path of await pathsOf(dir, known, await this.#emptyRepository())) {
      const read = await readState(dir, path);
      if (read) found.push(pendingFile(path, read.state.mode, read.bytes, stored, read.state));
    }
    return inOrder(found);
  }

  async #change(tenant: string, previous: WorkspaceRef, before: Manifest, files: readonly Pending[]): Promise<WorkspaceChange> {
    const paths = changedPaths(before.files, files);
    const origin = before.origin ?? previous.tree.commitment;
    const workspace = paths.length === 0 ? previous : await this.#store(tenant, previous.base, origin, files);
    return { previous: previous.tree.commitment, workspace, paths: paths.slice(0, PATHS_MAX), summary: changeSummary(paths) };
  }

  async #store(tenant: string, base: string, origin: string | null, files: readonly Pending[]): Promise<WorkspaceRef> {
    const stored = new Map<string, string>();
    const fresh = [...new Map(files.filter((f) => f.content === undefined).map((f) => [f.sha256, f])).values()];
    for (let i = 0; i < fresh.length; i += AT_ONCE) {
      await Promise.all(fresh.slice(i, i + AT_ONCE).map(async (f) => {
        const ref = await this.artifacts.put(tenant, f.bytes as Buffer, { class: 'workspace', media: 'application/octet-stream' });
        stored.set(f.sha256, ref.commitment);
      }));
    }
    const entries: FileEntry[] = files.map((f) => ({ path: f.path, mode: f.mode, size: f.size, sha256: f.sha256, content: f.content ?? (stored.get(f.sha256) as string) }));
    const manifest = Manifest.parse({ format: 'n17q.workspace/1', base, origin, files: entries });
    return { base, tree: await this.artifacts.put(tenant, manifestBytes(manifest), { class: 'manifest', media: MANIFEST_MEDIA }) }; // keeps W1: last
  }

  async #scratch(): Promise<string> {
    await mkdir(this.scratch, { recursive: true, mode: 0o700 });
    return this.scratch;
  }

  async #emptyRepository(): Promise<string> {
    this.#emptyGitDir ??= (async () => {
      const folder = await mkdtemp(join(await this.#scratch(), 'empty-git-'));
      await git(['init', '--quiet', '--bare', '--template=', folder], { cwd: folder });
      return folder;
    })();
    const folder = await this.#emptyGitDir;
    if (existsSync(join(folder, 'HEAD'))) return folder;
    this.#emptyGitDir = undefined; // somebody cleaned the scratch folder
    return this.#emptyRepository();
  }
}

/** Why a file may not be written at `path` in this state, or undefined. */
export function writable(manifest: Manifest, path: string): 'PATH_BEHIND_FILE_OR_LINK' | 'PATH_IS_FOLDER' | 'PATH_IS_LINK' | undefined {
  for (const f of manifest.files) {
    if (path.startsWith(`${f.path}/`)) return 'PATH_BEHIND_FILE_OR_LINK';
    if (f.path.startsWith(`${path}/`)) return 'PATH_IS_FOLDER';
    if (f.path === path && f.mode === '120000') return 'PATH_IS_LINK';
  }
  return undefined;
}

const contentsOf = (m: Manifest): Map<string, string> => new Map(m.files.map((f) => [f.sha256, f.content]));

function pendingFile(path: string, mode: FileState['mode'], bytes: Buffer, stored: ReadonlyMap<string, string>, state?: FileState): Pending {
  const sha256 = state?.sha256 ?? createHash('sha256').update(bytes).digest('hex');
  const content = stored.get(sha256);
  return { path, mode, size: bytes.length, sha256, content, bytes: content === undefined ? bytes : undefined }; // keeps W5
}

function parsedJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined; // said as BAD_MANIFEST
  }
}

async function fresh(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  if (!(await lstat(dir)).isDirectory() || (await readdir(dir)).length > 0) throw new WorkspaceTrouble('FOLDER_NOT_FRESH', `${dir} is not an empty folder`);
}
