/**
 * Tools of the local tenant: drafts from an MCP server, and their publication.
 *
 * W1. What a server says of itself is shown as data and grants nothing; a draft is *neither* unless the person says otherwise for that tool.
 * W2. Publishing adds to the registry or replaces by name; it takes nothing away.
 *
 * Rows: TOOL-1, TOOL-4, CTX-6.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EffectContract, RegistryDocument, ToolMapping } from '@n17q/domain';
import { DraftTrouble, mappingsFrom, type McpServerConfig, type ServerDraft } from '@n17q/tools';
import { dataDir, placesIn } from '../stack/places.js';
import { line, plain } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { ownReach, said } from './api.js';
import type { Output } from './output.js';

export interface DraftWords {
  readonly url?: string;
  readonly credential?: string;
  readonly env?: readonly string[];
  readonly secret?: readonly string[];
  readonly prefix?: string;
  readonly readOnly?: readonly string[];
}

const SECRET_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/u;

function secret(name: string): string {
  if (!SECRET_NAME.test(name)) throw new Trouble(`${line(name, 80)} is no name of a credential.`, true);
  const file = join(placesIn(dataDir()).toolCredentials, name);
  try { return readFileSync(file, 'utf8').trim(); } catch { throw new Trouble(`Put the credential, one line, into ${file} first.`); }
}

function pairs(given: readonly string[], option: string): Record<string, string> {
  return Object.fromEntries(given.map((text) => {
    const at = text.indexOf('=');
    if (at < 1 || !/^[A-Z_][A-Z0-9_]*$/u.test(text.slice(0, at))) throw new Trouble(`${option} takes NAME=VALUE, with a name in capitals.`, true);
    return [text.slice(0, at), text.slice(at + 1)];
  }));
}

function serverOf(command: readonly string[], o: DraftWords): McpServerConfig {
  const [program, ...rest] = command;
  if ((o.url === undefined) === (program === undefined)) throw new Trouble('Say where the server is: --url URL, or after -- the command that starts it.', true);
  if (o.url !== undefined) {
    if (o.env !== undefined || o.secret !== undefined) throw new Trouble('--env and --secret are for a server that is started by its command; one at an address takes --credential.', true);
    if (!/^https?:\/\//u.test(o.url) || !URL.canParse(o.url)) throw new Trouble('--url takes an address that begins with http:// or https://.', true);
    return { transport: 'http', url: o.url, ...(o.credential === undefined ? {} : { credential: o.credential }) };
  }
  if (o.credential !== undefined) throw new Trouble('--credential is for a server at an address; one that is started takes --secret VARIABLE=NAME.', true);
  return { transport: 'stdio', command: [program as string, ...rest], env: pairs(o.env ?? [], '--env'), credentials: pairs(o.secret ?? [], '--secret'), cwd: process.cwd() };
}

/** Each note with the tool that it is about. */
export const notesOf = (d: ServerDraft): readonly string[] => [
  ...d.tools.flatMap((t) => t.notes.map((n) => `${t.mapping.name}: ${n}`)), ...d.notes,
].map((n) => line(n, 300));

/** Names in `contracts` that `--read-only` gave. */
const readOnly = (names: readonly string[]): Record<string, EffectContract> => Object.fromEntries(names.map((n) => [n, { kind: 'read-only' as const }]));

export async function draftTools(name: string, command: readonly string[], o: DraftWords, out: Output): Promise<void> {
  const server = serverOf(command, o);
  const around = { credentials: (n: string) => ({ authorization: `Bearer ${secret(n)}` }), secrets: secret, mayStartServers: true };
  const named = server.transport === 'stdio' ? Object.values(server.credentials) : server.credential === undefined ? [] : [server.credential];
  for (const n of named) secret(n); // a missing one is told before anything starts
  let draft: ServerDraft;
  try {
    draft = await mappingsFrom(server, { name, around, ...(o.prefix === undefined ? {} : { prefix: o.prefix }), contracts: readOnly(o.readOnly ?? []) });
  } catch (e) {
    if (!(e instanceof DraftTrouble)) throw e;
    throw new Trouble(`The server cannot be asked (${line(e.what, 200)})${e.complaint === '' ? '' : `; it said: ${line(e.complaint, 300)}`}`);
  }
  const document: RegistryDocument = { tools: draft.tools.map((t) => t.mapping) };
  for (const n of notesOf(draft)) process.stderr.write(`${n}\n`);
  process.stderr.write(`${draft.tools.length} drafts of ${line(draft.server, 100)} (protocol ${line(draft.protocol, 40)}). Names, descriptions and schemas are the server's own words: read them, say each contract, then ./n17q tool publish FILE.\n`);
  out.answer(document, () => plain(JSON.stringify(document, null, 2)));
}

/** The registry with these tools added, or put in the place of those with the same names, with a higher revision. */
export function withTools(now: readonly ToolMapping[], added: readonly ToolMapping[]): readonly ToolMapping[] {
  const next = added.map((t) => ({ ...t, mappingRevision: Math.max(t.mappingRevision, (now.find((x) => x.name === t.name)?.mappingRevision ?? 0) + 1) }));
  return [...now.filter((t) => !next.some((x) => x.name === t.name)), ...next];
}

export async function publishTools(file: string, out: Output): Promise<void> {
  let given: Partial<RegistryDocument>;
  try { given = JSON.parse(readFileSync(file, 'utf8')) as Partial<RegistryDocument>; } catch (e) { throw new Trouble(`${line(file)} cannot be read as JSON (${line(String((e as Error).message), 200)}).`, true); }
  if (!Array.isArray(given.tools) || given.tools.length === 0) throw new Trouble(`${line(file)} names no tools: ./n17q tool draft writes such a file.`, true);
  const added = given.tools;
  const { client } = ownReach();
  const published = await said(async () => {
    const now = await client.document('registry');
    return client.publish('registry', { tools: withTools(now.document?.tools ?? [], added) }, { ifRevision: now.revision });
  });
  out.answer({ revision: published.revision, tools: added.map((t) => t.name) }, () => `The registry has revision ${String(published.revision)} now, with ${added.map((t) => line(String(t.name), 80)).join(', ')}. A run that names no tools of its own is offered them.`);
}
