export { commitmentHash, committed, isCommitment } from './commitment.js';
export { ArtifactAltered, ArtifactErased, ArtifactMissing, type Tombstone } from './errors.js';
export { ArtifactTooLarge, type About, type ArtifactStat, type ArtifactStore, type Bytes } from './store.js';
export { MemoryArtifactStore } from './memory-store.js';
export { FolderArtifactStore, tenantFolder } from './folder-store.js';
export { ARTIFACT_STORE_CONFORMANCE, type ConformanceCase, type StoreUnderTest } from './conformance.js';
export { keeping, type Keep, type Kept, type Register } from './keeping.js';
