import type { ContentRef } from '@n17q/artifacts';

/** One state of a workspace, named by digest. Rows: WSP-1, SEAL-7. */
export interface WorkspaceRef {
  /** Immutable base: a commit of the cloned repository. */
  readonly base: string;
  /** Manifest of the tree; its commitment is the tree digest. */
  readonly tree: ContentRef;
}

export interface WorkspaceChange {
  /** Commitment of the tree before. */
  readonly previous: string;
  readonly workspace: WorkspaceRef;
  /** What differs, sorted, at most PATHS_MAX. */
  readonly paths: readonly ChangedPath[];
  /** One line for people. */
  readonly summary: string;
}
export interface ChangedPath { readonly path: string; readonly change: 'added' | 'changed' | 'removed' }

/** The folder is not in the state that the run believes. `found` is stored, so it can become new input; nothing was overwritten (WSP-3). */
export interface WorkspaceConflict {
  readonly expected: string;
  readonly found: WorkspaceRef;
  readonly paths: readonly ChangedPath[];
}
