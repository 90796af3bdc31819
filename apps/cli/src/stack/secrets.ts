/**
 * The secrets of a local stack: generated once, kept in one file that only its owner reads, never printed.
 *
 * K1. An existing file is never overwritten: the database and what is sealed in it could not be opened any more.
 *
 * Rows: SEC-4, CON-1.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { BUS_USERS, type BusUser } from '@n17q/bus';
import type { RolePasswords } from '@n17q/event-log';
import { Trouble } from '../trouble.js';
import { isAbsent } from './state.js';

export interface Secrets {
  readonly superuser: string;
  readonly roles: RolePasswords;
  readonly bus: Readonly<Record<BusUser, string>>;
  readonly apiToken: string;
  /** 64 hex digits: the key of the protocol store. */
  readonly continuationKey: string;
  readonly scopeKey: string;
  /** A file that was made before there was one has none: tools then hand in no receipts by callback. */
  readonly receiptKey?: string;
}

const secret = (): string => randomBytes(24).toString('base64url');
const fresh = (): Secrets => ({
  superuser: secret(), roles: { store: secret(), api: secret(), reader: secret() }, bus: Object.fromEntries(BUS_USERS.map((u) => [u, secret()])) as Secrets['bus'],
  apiToken: secret(), continuationKey: randomBytes(32).toString('hex'), scopeKey: secret(), receiptKey: secret(),
});

/** Undefined when there is none yet. Throws for a file that others may read or that is damaged. */
export function readSecrets(file: string): Secrets | undefined {
  let text: string;
  try {
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
    text = readFileSync(file, 'utf8');
  } catch (e) {
    if (isAbsent(e)) return undefined;
    throw e;
  }
  try {
    const parsed = JSON.parse(text) as Secrets;
    if (BUS_USERS.every((u) => typeof parsed.bus[u] === 'string') && /^[0-9a-f]{64}$/.test(parsed.continuationKey) && parsed.apiToken !== '') return parsed;
  } catch {
    // said below: a damaged file is never replaced silently
  }
  throw new Trouble(`${file} is damaged: restore it from a copy, or move its folder away to begin anew.`);
}

/** Reads them, making them first when there are none. Two at once get the same ones. */
export function secretsIn(file: string): Secrets {
  const there = readSecrets(file);
  if (there !== undefined) return there;
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(fresh(), null, 2)}\n`, { mode: 0o600, flush: true });
  try {
    linkSync(draft, file); // keeps K1: fails when there is one
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'EEXIST') throw e;
  } finally {
    rmSync(draft, { force: true });
  }
  return readSecrets(file) as Secrets;
}
