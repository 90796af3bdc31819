/**
 * What can be wrong with one artifact. Each names the commitment exactly, and never content (SEAL-8). Nothing was changed when one of these
 * is thrown.
 */
export class ArtifactMissing extends Error {
  readonly code: string = 'ARTIFACT_MISSING';
  constructor(readonly commitment: string, message = `artifact ${commitment} is missing`) {
    super(message);
    this.name = new.target.name;
  }
}

/** It was here and was erased on purpose; the tombstone says why. Also an ArtifactMissing, for whoever needs the bytes. */
export class ArtifactErased extends ArtifactMissing {
  override readonly code = 'ARTIFACT_ERASED';
  constructor(commitment: string, readonly tombstone: Tombstone) {
    super(commitment, `artifact ${commitment} was erased: ${tombstone.reason}`);
  }
}

/** The stored bytes or salt are not those that the commitment names. They are never handed out. */
export class ArtifactAltered extends Error {
  readonly code = 'ARTIFACT_ALTERED';
  constructor(readonly commitment: string) {
    super(`artifact ${commitment} is altered: the stored bytes do not match their digest`);
    this.name = new.target.name;
  }
}

/** What stays of erased bytes: identity, class, size, and who erased it why. No salt. */
export interface Tombstone {
  readonly reason: string;
  readonly by: string;
  /** ISO 8601, as given by the caller. */
  readonly at: string;
}
