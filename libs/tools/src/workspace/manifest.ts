/**
 * What a workspace is at one moment: a canonical list of its files.
 *
 * M1. The manifest's commitment is the tree digest; same manifest bytes, same tree.
 * M2. No path leaves the workspace, reaches into `.git`, or is the parent of another path. So files can be created in any order, and no link among them is ever followed.
 * M3. Paths, modes, sizes and content digests only: no times, owners or places.
 *
 * Rows: WSP-1, WSP-2, SEAL-7, SEAL-8.
 */
import * as z from 'zod';
import { canonical } from '@n17q/contracts';
import type { ChangedPath } from './workspace-ref.js';

export const PATH_BYTES_MAX = 1024;
export const PATHS_MAX = 200;

/** A path that stays inside: relative, `/` between its parts, none of them empty, `.`, `..` or `.git`. */
export function isInsidePath(path: string): boolean {
  if (path === '' || path.includes('\0') || Buffer.byteLength(path) > PATH_BYTES_MAX) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && part.toLowerCase() !== '.git');
}

const FileEntry = z.strictObject({
  path: z.string().refine(isInsidePath, 'not a path inside the workspace'),
  /** As git knows them: file, executable file, symbolic link. */
  mode: z.enum(['100644', '100755', '120000']),
  size: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Where the bytes are. */
  content: z.string().regex(/^c1\.[0-9a-f]{64}$/),
});
export type FileEntry = z.infer<typeof FileEntry>;
/** What can be computed from a folder alone. */
export type FileState = Omit<FileEntry, 'content'>;

export const Manifest = z.strictObject({
  format: z.literal('n17q.workspace/1'),
  base: z.string().regex(/^[0-9a-f]{40,64}$/),
  /** Commitment of the tree of the base commit itself; null in that one. */
  origin: z.string().nullable(),
  files: z.array(FileEntry).superRefine((files, context) => {
    const problem = treeProblem(files.map((f) => f.path));
    if (problem) context.addIssue({ code: 'custom', message: problem });
  }),
});
export type Manifest = z.infer<typeof Manifest>;

/** Keeps M2 for a whole list; undefined if all is well. */
export function treeProblem(paths: readonly string[]): string | undefined {
  const all = new Set(paths);
  for (let i = 0; i < paths.length; i++) {
    const path = paths[i] as string;
    if (i > 0 && !((paths[i - 1] as string) < path)) return `paths are not in order, or twice: ${path}`;
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) if (all.has(path.slice(0, at))) return `${path.slice(0, at)} is a file and a folder`;
  }
  return undefined;
}

export const manifestBytes = (m: Manifest): Buffer => Buffer.from(canonical(m), 'utf8');
export const inOrder = <T extends { readonly path: string }>(files: readonly T[]): T[] => [...files].sort((a, b) => (a.path < b.path ? -1 : 1));

/** What differs between two states, in order of path. */
export function changedPaths(before: readonly FileState[], after: readonly FileState[]): ChangedPath[] {
  const old = new Map(before.map((f) => [f.path, f]));
  const changed: ChangedPath[] = [];
  for (const f of after) {
    const was = old.get(f.path);
    old.delete(f.path);
    if (!was) changed.push({ path: f.path, change: 'added' });
    else if (was.sha256 !== f.sha256 || was.mode !== f.mode) changed.push({ path: f.path, change: 'changed' });
  }
  for (const path of old.keys()) changed.push({ path, change: 'removed' });
  return inOrder(changed);
}

/** One line for people. */
export function changeSummary(paths: readonly ChangedPath[]): string {
  if (paths.length === 0) return 'nothing changed';
  const named = paths.slice(0, 5).map((p) => `${p.path} ${p.change}`).join(', ');
  return paths.length > 5 ? `${named} and ${paths.length - 5} more` : named;
}
