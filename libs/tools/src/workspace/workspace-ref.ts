import type { WorkspaceRef } from '@n17q/domain';

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
