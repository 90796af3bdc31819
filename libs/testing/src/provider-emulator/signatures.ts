/**
 * Opaque values that only this server can read, and that know what they were issued for.
 *
 * S1. A value is encrypted and authenticated with the server's key: none can be made or changed elsewhere.
 * S2. It holds the account, the model, and digests of the contents that it answered, of its part, and of the whole output.
 * S3. Lengths vary, `+`, `/` and `=` always occur, and a large one is longer than 64 KiB.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

export interface Binding { readonly account: string; readonly model: string; readonly prefix: string; readonly part: string; readonly output: string }

export const sha256 = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex');

const LARGE_BYTES = 50_000;

export class Signatures {
  readonly #key: Buffer;
  /** Every value ever issued, in order: what a judge looks for where none may be. */
  readonly issued: string[] = [];
  constructor(signingKey: string) { this.#key = createHash('sha256').update(signingKey).digest(); }

  mint(binding: Binding, large = false): string {
    for (let salt = 0; ; salt += 1) {
      const padding = large ? LARGE_BYTES + salt : 1 + ((randomBytes(1)[0] as number) + salt) % 400;
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
      const sealed = Buffer.concat([cipher.update(JSON.stringify({ ...binding, n: 'x'.repeat(padding) })), cipher.final()]);
      const value = Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
      if (['+', '/', '='].every((c) => value.includes(c))) { // keeps S3
        this.issued.push(value);
        return value;
      }
    }
  }

  /** What a value was issued for; undefined if it is none of ours, or was changed. */
  read(value: string): Binding | undefined {
    const bytes = Buffer.from(value, 'base64');
    // the lax decoder drops what it does not know; only the canonical form is ours
    if (bytes.length < 29 || bytes.toString('base64') !== value) return undefined;
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, 12));
      decipher.setAuthTag(bytes.subarray(12, 28));
      return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString()) as Binding;
    } catch {
      return undefined; // not authentic: that is the answer
    }
  }
}
