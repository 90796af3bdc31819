/**
 * A folder as states of files, read without following a link and without leaving the folder.
 *
 * Deliberately without a cache of modification times: a time is never a reference (SEAL-7).
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, readlink, rmdir, symlink, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { git, zeroSeparated } from './git.js';
import { inOrder, isInsidePath, type FileState } from './manifest.js';

export const FILE_BYTES_MAX = 64 * 1024 * 1024;
export const FILES_MAX = 100_000;

export class WorkspaceTrouble extends Error {
  constructor(readonly code: 'FILE_TOO_LARGE' | 'TOO_MANY_FILES' | 'FOLDER_NOT_FRESH' | 'RESTORE_DIFFERS' | 'BAD_MANIFEST' | 'UNSAFE_PATH', message: string) {
    super(message);
    this.name = 'WorkspaceTrouble';
  }
}

export interface ReadFileState { readonly state: FileState; readonly bytes: Buffer }

/** State and bytes of one path; undefined if there is no file or link, or if it lies behind a link. */
export async function readState(dir: string, path: string): Promise<ReadFileState | undefined> {
  if (!(await hasRealParents(dir, path))) return undefined;
  const full = join(dir, path);
  const found = await lstat(full).catch(noneIfMissing);
  if (!found) return undefined;
  if (found.isSymbolicLink()) return stateOf(path, '120000', await readlink(full, 'buffer'));
  if (!found.isFile()) return undefined;
  if (found.size > FILE_BYTES_MAX) throw new WorkspaceTrouble('FILE_TOO_LARGE', `${path} has ${found.size} bytes; a workspace keeps files up to ${FILE_BYTES_MAX}`);
  const file = await open(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return stateOf(path, (found.mode & 0o100) === 0 ? '100644' : '100755', await file.readFile());
  } finally {
    await file.close();
  }
}

const stateOf = (path: string, mode: FileState['mode'], bytes: Buffer): ReadFileState =>
  ({ state: { path, mode, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }, bytes });

async function hasRealParents(dir: string, path: string): Promise<boolean> {
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
    const found = await lstat(join(dir, path.slice(0, at))).catch(noneIfMissing);
    if (!found?.isDirectory()) return false;
  }
  return true;
}

/**
 * Paths that belong to the workspace: what git would offer to add, by the folder's own `.gitignore`, and what was `known` before, ignored or not.
 * `emptyGitDir` is any empty repository: the folder itself needs none. Nested repositories are left out.
 */
export async function pathsOf(dir: string, known: readonly string[], emptyGitDir: string): Promise<string[]> {
  const offered = zeroSeparated(await git(['ls-files', '-z', '--others', '--exclude-standard'], { cwd: dir, env: { GIT_DIR: emptyGitDir, GIT_WORK_TREE: dir } }));
  const all = [...new Set([...offered.filter((p) => !p.endsWith('/')), ...known])].filter(isInsidePath);
  if (all.length > FILES_MAX) throw new WorkspaceTrouble('TOO_MANY_FILES', `the workspace has ${all.length} files; ${FILES_MAX} are the most`);
  return all;
}

/** Everything that lies in the folder, ignored or not. */
export async function everything(dir: string): Promise<FileState[]> {
  const states: FileState[] = [];
  const walk = async (under: string): Promise<void> => {
    for (const entry of await readdir(join(dir, under), { withFileTypes: true })) {
      const path = under === '' ? entry.name : `${under}/${entry.name}`;
      if (entry.isDirectory()) await walk(path);
      else {
        const read = await readState(dir, path);
        if (read) states.push(read.state);
      }
    }
  };
  await walk('');
  return inOrder(states);
}

/** Creates one file or link where there is none. Parents that are links are refused. */
export async function createFile(dir: string, state: Pick<FileState, 'path' | 'mode'>, bytes: Uint8Array): Promise<void> {
  if (!isInsidePath(state.path)) throw new WorkspaceTrouble('UNSAFE_PATH', `${state.path} is not inside the workspace`);
  const full = join(dir, state.path);
  await mkdir(dirname(full), { recursive: true });
  if (!(await hasRealParents(dir, state.path))) throw new WorkspaceTrouble('UNSAFE_PATH', `${state.path} lies behind a link`);
  if (state.mode === '120000') return symlink(Buffer.from(bytes), full);
  const executable = state.mode === '100755';
  const file = await open(full, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, executable ? 0o755 : 0o644);
  try {
    await file.writeFile(bytes);
    await file.chmod(executable ? 0o755 : 0o644);
  } finally {
    await file.close();
  }
}

/** Removes one file or link, and the folders that it leaves empty. */
export async function removeFile(dir: string, path: string): Promise<void> {
  if (!isInsidePath(path) || !(await hasRealParents(dir, path))) throw new WorkspaceTrouble('UNSAFE_PATH', `${path} is not inside the workspace`);
  await unlink(join(dir, path));
  for (let at = dirname(path); at !== '.'; at = dirname(at)) {
    const left = await rmdir(join(dir, at)).then(() => true, (e: NodeJS.ErrnoException) => { if (e.code === 'ENOTEMPTY' || e.code === 'EEXIST') return false; throw e; });
    if (!left) return;
  }
}

function noneIfMissing(e: NodeJS.ErrnoException): undefined {
  if (e.code === 'ENOENT' || e.code === 'ENOTDIR') return undefined;
  throw e;
}
