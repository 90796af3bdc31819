import { createHash, type Hash } from 'node:crypto';
import { SALT_BYTES } from '@n17q/contracts';

const FORM = /^c1\.[0-9a-f]{64}$/;

/** `commitment` of the contracts for streams: feed the bytes into the hash, then close it with `committed`. */
export function commitmentHash(salt: Uint8Array): Hash {
  if (salt.length !== SALT_BYTES) throw new RangeError(`a salt has ${SALT_BYTES} bytes, not ${salt.length}`);
  return createHash('sha256').update(salt);
}
export const committed = (hash: Hash): string => `c1.${hash.digest('hex')}`;

/** Addresses reach the file system, so anything that is not one is stopped here. */
export const isCommitment = (text: string): boolean => FORM.test(text);
