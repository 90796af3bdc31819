/**
 * Model accounts of the local tenant: the file that `up` reads, and the profiles that a running stack goes by.
 *
 * K1. A key is never an argument and never shown: it comes over standard input, or a person puts it into its file.
 *
 * Rows: CON-1, POL-1.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { N17qClient } from '@n17q/client';
import type { ProfilesDocument, ProviderAccount } from '@n17q/domain';
import { profilesOf } from '@n17q/testing';
import { dataDir, makePlaces, placesIn, type Places } from '../stack/places.js';
import { accountOf, accountsFrom, changeAccounts, type AccountEntry } from '../stack/providers-file.js';
import { isSupervised, readState } from '../stack/state.js';
import { line, table } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { isRemote, ownReach, said } from './api.js';
import type { Output } from './output.js';

const KEY_CHARS_MAX = 4096;
const NOTHING: ProfilesDocument = { accounts: [], preference: [] };

/** The profiles with this account as it is now; a new one comes last in the order of preference. */
export function withAccount(d: ProfilesDocument, a: ProviderAccount): ProfilesDocument {
  const place = d.accounts.findIndex((x) => x.account === a.account);
  const routes = profilesOf([a]).preference;
  if (place < 0) return { accounts: [...d.accounts, a], preference: [...d.preference, ...routes] };
  const first = d.preference.findIndex((r) => r.account === a.account);
  const others = d.preference.filter((r) => r.account !== a.account);
  return { accounts: d.accounts.with(place, a), preference: first < 0 ? [...others, ...routes] : others.toSpliced(first, 0, ...routes) };
}

/** The client of a stack that runs, or of the server that was named; undefined: nothing runs here. */
function running(p: Places): N17qClient | undefined {
  if (isRemote()) return ownReach().client;
  const state = readState(p.state);
  return isSupervised(state) && state.phase === 'ready' ? ownReach().client : undefined;
}

interface Row { readonly account: string; readonly models: readonly string[]; readonly endpoint: string; readonly key: boolean | null; readonly inFile: boolean | null; readonly inUse: boolean | null }

export async function listProviders(out: Output): Promise<void> {
  const p = placesIn(dataDir());
  const local = !isRemote();
  const filed = local ? accountsFrom(p.providers, false) : [];
  const client = running(p);
  const used = client === undefined ? undefined : ((await said(() => client.document('profiles'))).document ?? NOTHING).accounts;
  const all = [...new Map([...filed, ...(used ?? [])].map((a) => [a.account, a])).values()];
  const rows: Row[] = all.map((a) => ({
    account: a.account, models: a.models.map((m) => m.model), endpoint: a.endpoint, key: local ? existsSync(join(p.credentials, a.account)) : null,
    inFile: local ? filed.some((x) => x.account === a.account) : null, inUse: used === undefined ? null : used.some((x) => x.account === a.account),
  }));
  out.answer({ accounts: rows, file: local ? p.providers : null }, () => (rows.length === 0
    ? `No model account is configured, so runs wait: ./n17q provider add ACCOUNT --model NAME adds one${local ? ` to ${p.providers}` : ''}.`
    : table([['ACCOUNT', 'MODELS', 'KEY', 'IN USE', 'ENDPOINT'], ...rows.map((r) => [line(r.account), line(r.models.join(', ')), r.key === null ? '-' : r.key ? 'there' : 'MISSING', r.inUse === null ? 'nothing runs' : r.inUse ? 'yes' : 'no', line(r.endpoint)])])));
}

function keyFromInput(): string {
  if (process.stdin.isTTY) throw new Trouble('--key-stdin reads the key from standard input: give it as in ./n17q provider add … --key-stdin < FILE.', true);
  const key = readFileSync(0, 'utf8').trim();
  if (!/^[\x21-\x7e]+$/u.test(key) || key.length > KEY_CHARS_MAX) throw new Trouble('What came over standard input is no key: one line of visible characters is expected.', true);
  return key;
}

export async function addProvider(given: string | undefined, o: { readonly model?: readonly string[]; readonly endpoint?: string; readonly keyStdin?: boolean }, out: Output): Promise<void> {
  const USAGE = './n17q provider add ACCOUNT --model NAME --key-stdin < KEYFILE';
  if (given === undefined) throw new Trouble(`Name the account and its models: ${USAGE}.`, true);
  if (o.model === undefined) throw new Trouble(`Name the models of the account ${line(given, 80)} with --model: ${USAGE}.`, true);
  const account = given;
  if (isRemote()) throw new Trouble('Accounts are added where the server runs: its operator describes them there and gives it their keys.', true);
  const entry: AccountEntry = { account, models: o.model, ...(o.endpoint === undefined ? {} : { endpoint: o.endpoint }) };
  const made = accountOf(entry, `The account ${line(account, 80)}`);
  const p = placesIn(dataDir());
  const key = o.keyStdin === true ? keyFromInput() : undefined;
  makePlaces(p);
  const keyFile = join(p.credentials, account);
  if (key !== undefined) writeFileSync(keyFile, key, { mode: 0o600 }); // keeps K1
  changeAccounts(p.providers, (all) => (all.some((a) => a.account === account) ? all.map((a) => (a.account === account ? { ...a, ...entry } : a)) : [...all, entry]));
  const client = running(p);
  const published = client === undefined ? null : await said(async () => {
    const now = await client.document('profiles');
    return client.publish('profiles', withAccount(now.document ?? NOTHING, made), { ifRevision: now.revision });
  });
  const keyed = existsSync(keyFile);
  out.answer({ account, file: p.providers, keyFile, key: keyed, revision: published?.revision ?? null }, () => [
    `The account ${account} stands in ${p.providers}${published === null ? '; ./n17q up reads it' : ' and is in use now'}.`,
    ...(keyed ? [] : [`Put its key, one line, into ${keyFile}; a run that stood still for want of it then goes on with ./n17q resume RUN.`]),
    ...(key !== undefined && published !== null ? ['Its key is in its place; a run that stood still for want of it goes on with ./n17q resume RUN (./n17q runs lists them).'] : []),
  ].join('\n'));
}

export async function removeProvider(account: string, out: Output): Promise<void> {
  const p = placesIn(dataDir());
  const filed = !isRemote() && accountsFrom(p.providers, false).some((a) => a.account === account);
  const client = running(p);
  const inUse = client === undefined ? false : ((await said(() => client.document('profiles'))).document ?? NOTHING).accounts.some((a) => a.account === account);
  if (!filed && !inUse) throw new Trouble(`There is no account ${line(account, 80)}: ./n17q provider list shows those that there are.`);
  if (filed) changeAccounts(p.providers, (all) => all.filter((a) => a.account !== account)); // else the next up would bring it back
  const published = inUse && client !== undefined ? await said(() => client.removeAccount(account)) : null;
  out.answer({ account, file: filed ? p.providers : null, revision: published?.revision ?? null }, () => [
    `The account ${account} is removed${filed ? ` from ${p.providers}` : ''}${published === null ? '' : '; runs go on with another one, if there is one'}.`,
    ...(existsSync(join(p.credentials, account)) && !isRemote() ? [`Its key is still in ${join(p.credentials, account)}; delete that file if it is not needed.`] : []),
  ].join('\n'));
}
