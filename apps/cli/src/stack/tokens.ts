/** Who may ask the local API for which tenant. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

export interface ApiToken { readonly token: string; readonly tenant: string; readonly person: string }
const DEMOS_MAX = 10;

export const readTokens = (file: string): readonly ApiToken[] => (existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly ApiToken[]) : []);
/** People whom the operator added. */
export const personTokens = (file: string): readonly ApiToken[] => readTokens(file);
/** Makes a token for a person and keeps it; the API reads it at its next start. */
export function addPerson(file: string, person: string, tenant: string): ApiToken {
  const made: ApiToken = { token: randomBytes(24).toString('base64url'), tenant, person };
  writeFileSync(`${file}.new`, `${JSON.stringify([...personTokens(file), made], null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return made;
}
/** Newest first. */
export const demoTokens = (file: string): readonly ApiToken[] => readTokens(file);
/** Keeps the newest; the tenants of older demos stay in the store, out of reach of the command line. */
export function rememberDemo(file: string, t: ApiToken): void {
  writeFileSync(`${file}.new`, `${JSON.stringify([t, ...readTokens(file)].slice(0, DEMOS_MAX), null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
