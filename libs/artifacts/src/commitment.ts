import { createHash, randomBytes, type Hash } from 'node:crypto';

export const SALT_BYTES = 16;
const FORM = /^c1\.[0-9a-f]{64}$/;

export const newSalt = (): Buffer => randomBytes(SALT_BYTES);

/** `c1.` and the hex of SHA-256(salt ‖ bytes). With the salt erased it can be neither guessed nor confirmed (RET-1). */
export const commitment = (salt: Uint8Array, bytes: Uint8Array): string => committed(commitmentHash(salt).update(bytes));

/** For streams: feed the bytes into the hash, then close it with `committed`. */
export function commitmentHash(salt: Uint8Array): Hash {
  if (salt.length !== SALT_BYTES) throw new RangeError(`a salt has ${SALT_BYTES} bytes, not ${salt.length}`);
  return createHash('sha256').update(salt);
}
export const committed = (hash: Hash): string => `c1.${hash.digest('hex')}`;

/** Addresses reach the file system, so anything that is not one is stopped here. */
export const isCommitment = (text: string): boolean => FORM.test(text);
