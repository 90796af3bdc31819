export { canonical, commitment, contentOf, digestOf, eventDigest, newSalt, sha256, SALT_BYTES, type ContentUpload } from './digest.js';
export * from './append.js';
