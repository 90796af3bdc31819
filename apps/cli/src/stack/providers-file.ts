/**
 * The file that describes the model accounts of the local tenant: `{"accounts": [{"account", "endpoint"?, "models": [names], "scope"?}]}`, in order of
 * preference. Keys are not in it: each stands in a file of its account's name.
 */
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import type { ProviderAccount } from '@n17q/domain';
import { geminiAccount } from '@n17q/testing';
import { Trouble } from '../trouble.js';
import { jsonIn, urlOf } from './forms.js';

export interface AccountEntry { readonly account: string; readonly models: readonly string[]; readonly endpoint?: string; readonly scope?: string }

const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;
const ENDPOINT = 'https://generativelanguage.googleapis.com';

/** `where`: what holds the entry, for the sentence about what is wrong with it. */
export function accountOf(entry: unknown, where: string): ProviderAccount {
  const { account, endpoint, models, scope } = (entry ?? {}) as { account?: unknown; endpoint?: unknown; models?: unknown; scope?: unknown };
  if (typeof account !== 'string' || !NAME.test(account) || !Array.isArray(models) || models.length === 0) throw new Trouble(`${where}: an account has a name of lower-case letters and digits, and its models.`, true);
  try {
    return geminiAccount(account, typeof endpoint === 'string' ? urlOf(`endpoint of ${account}`, endpoint, ['http:', 'https:']).href.replace(/\/$/u, '') : ENDPOINT, models.map(String), typeof scope === 'string' ? scope : account);
  } catch (e) {
    if (e instanceof RangeError) throw new Trouble(`${where}: ${e.message}.`, true);
    throw e;
  }
}

function entriesIn(file: string): readonly AccountEntry[] {
  const { accounts } = (jsonIn(file, 'the providers file') ?? {}) as { readonly accounts?: unknown };
  if (!Array.isArray(accounts)) throw new Trouble(`The providers file ${file} must hold {"accounts": [{"account": NAME, "models": [NAME, …]}]}.`, true);
  return accounts as readonly AccountEntry[];
}

/** No file: no account; `named`: the caller named the file, so it must be there. */
export function accountsFrom(file: string, named: boolean): readonly ProviderAccount[] {
  if (!existsSync(file)) {
    if (named) throw new Trouble(`N17Q_PROVIDERS_FILE ${file} does not exist: create it or unset the setting.`, true);
    return [];
  }
  return entriesIn(file).map((a) => accountOf(a, `The providers file ${file}`));
}

/** Writes the file anew with the changed list of accounts; everything else in it stays. */
export function changeAccounts(file: string, change: (entries: readonly AccountEntry[]) => readonly AccountEntry[]): void {
  const there = existsSync(file);
  const accounts = change(there ? entriesIn(file) : []);
  const whole = { ...(there ? (jsonIn(file, 'the providers file') as object) : {}), accounts };
  writeFileSync(`${file}.new`, `${JSON.stringify(whole, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
