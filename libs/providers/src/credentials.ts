/**
 * How the gateway gets the credential of an account: by name, at the moment of use, from where the operator put it.
 *
 * Nothing is cached: a credential that was removed or replaced is so at the next call. A value shows itself only through
 * `reveal()`, so that no log line, error or JSON text can hold it by accident.
 */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';

export class Credential {
  readonly #value: string;
  constructor(value: string) { this.#value = value; }
  reveal(): string { return this.#value; }
  toString(): string { return '[credential]'; }
  toJSON(): string { return '[credential]'; }
  [inspect.custom](): string { return '[credential]'; }
}

export type CredentialLookup =
  | { readonly kind: 'found'; readonly credential: Credential }
  | { readonly kind: 'absent'; readonly code: 'ACCOUNT_NAME_INVALID' | 'ACCOUNT_UNKNOWN' | 'CREDENTIAL_MALFORMED' };

export interface CredentialSource {
  /** Never rejects for an unknown account; throws if the place itself cannot be read (nothing was sent). */
  credential(account: string): Promise<CredentialLookup>;
}

const ACCOUNT_NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;
/** An environment name has no room for `.` and `_` apart from `-`: such accounts would share one variable. */
const ACCOUNT_NAME_ENV = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
/** What may stand in a header. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;
const CREDENTIAL_BYTES_MAX = 8 * 1024;

export const isHeaderSafe = (value: string): boolean => HEADER_SAFE.test(value);

/** One file per account, named like the account, holding the credential and perhaps a line end. */
export function credentialsFromFolder(folder: string): CredentialSource {
  return {
    async credential(account) {
      if (!ACCOUNT_NAME.test(account)) return { kind: 'absent', code: 'ACCOUNT_NAME_INVALID' };
      let file;
      try {
        file = await open(join(folder, account), 'r');
      } catch (e) {
        if ((e as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'absent', code: 'ACCOUNT_UNKNOWN' };
        throw e;
      }
      try {
        if (!(await file.stat()).isFile()) return { kind: 'absent', code: 'CREDENTIAL_MALFORMED' };
        const buffer = Buffer.alloc(CREDENTIAL_BYTES_MAX + 1);
        const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
        return checked(bytesRead > CREDENTIAL_BYTES_MAX ? '' : buffer.toString('utf8', 0, bytesRead).replace(/\r?\n$/, ''));
      } finally {
        await file.close();
      }
    },
  };
}

/** `${prefix}${ACCOUNT}` with `-` as `_`, in upper case. */
export function credentialsFromEnv(env: Readonly<Record<string, string | undefined>>, prefix: string): CredentialSource {
  return {
    async credential(account) {
      if (!ACCOUNT_NAME_ENV.test(account)) return { kind: 'absent', code: 'ACCOUNT_NAME_INVALID' };
      const value = env[`${prefix}${account.toUpperCase().replaceAll('-', '_')}`];
      return value === undefined ? { kind: 'absent', code: 'ACCOUNT_UNKNOWN' } : checked(value);
    },
  };
}

function checked(value: string): CredentialLookup {
  return isHeaderSafe(value) ? { kind: 'found', credential: new Credential(value) } : { kind: 'absent', code: 'CREDENTIAL_MALFORMED' };
}
