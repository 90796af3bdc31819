/**
 * Tools of the local tenant: drafts from an MCP server, their publication and removal, and what is there.
 *
 * W1. What a server says of itself is shown as data and grants nothing; a draft is *neither* unless the person says otherwise for that tool.
 * W2. Publishing adds to the registry or updates what the same server provides; see registry.ts.
 *
 * Rows: TOOL-1, TOOL-4, CTX-6.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { N17qProblem, type N17qClient } from '@n17q/client';
import type { EffectContract, RegistryDocument, ToolMapping } from '@n17q/domain';
import { DraftTrouble, mappingsFrom, type McpServerConfig, type ServerDraft } from '@n17q/tools';
import { dataDir, placesIn } from '../stack/places.js';
import { isStackTool } from '../stack/stack-tools.js';
import { line, plain, table } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { isRemote, ownReach, said } from './api.js';
import type { Output } from './output.js';
import { requireFreeNames, withoutTools, withTools } from './registry.js';
import { byName, requireSize, toolsIn } from './tool-file.js';

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

const status = (code: string) => (what: string): boolean => what === `STATUS_${code}`;
/** What to do when a server cannot be asked. */
export function adviceOn(what: string, server: McpServerConfig): string {
  if (server.transport === 'http') {
    if (status('401')(what) || status('403')(what)) return server.credential === undefined ? 'it wants a credential: --credential NAME' : 'it refuses the credential: correct its file under .data/credentials/tools';
    if (status('404')(what) || status('405')(what)) return 'something else answers at this address: correct the path of --url, which often ends in /mcp';
    if (what === 'ECONNREFUSED') return 'nothing listens at this address: start the server, or correct --url';
    if (what === 'ENOTFOUND' || what === 'EAI_AGAIN') return 'no machine has this name: correct --url';
    return 'check that an MCP server over streamable HTTP answers at --url, and run the command again';
  }
  const command = line(server.command.join(' '), 200);
  if (what === 'ENOENT' || what === 'EACCES') return `${line(server.command[0], 100)} is no program that can be started from here: correct the command after --`;
  if (what === 'SERVER_EXITED') return `the command ended before it answered: run it by itself (${command}) to see why; what it needs from the environment is named with --env and --secret`;
  return `check that ${command} is an MCP server that speaks over standard input and output, and run the command again`;
}

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
    throw new Trouble(`The server cannot be asked (${line(e.what, 200)})${e.complaint === '' ? '' : `; it said: ${line(e.complaint, 300)}`}: ${adviceOn(e.what, server)}.`);
  }
  const offered = draft.tools.map((t) => String((t.mapping.connector.config as { readonly tool?: unknown }).tool));
  const absent = (o.readOnly ?? []).filter((n) => !offered.includes(n));
  if (absent.length > 0) throw new Trouble(`--read-only names ${absent.map((n) => line(n, 80)).join(', ')}, which the server does not offer; it offers ${line(offered.join(', '), 600) || 'no tools'}.`, true);
  const document: RegistryDocument = { tools: draft.tools.map((t) => t.mapping) };
  for (const n of notesOf(draft)) process.stderr.write(`${n}\n`);
  process.stderr.write(`${draft.tools.length} drafts of ${line(draft.server, 100)} (protocol ${line(draft.protocol, 40)}). Names, descriptions and schemas are the server's own words: read them, say each contract, then ./n17q tool publish FILE.\n`);
  out.answer(document, () => plain(JSON.stringify(document, null, 2)));
}

/** What the API says of a registry, by the names of its tools; a mapping that cannot stand was asked for wrongly. */
async function publishedAs(client: N17qClient, tools: readonly ToolMapping[], ifRevision: number): Promise<number> {
  try {
    return (await client.publish('registry', { tools }, { ifRevision })).revision;
  } catch (e) {
    if (e instanceof N17qProblem && e.code === 'PRECONDITION_FAILED') throw new Trouble('Somebody else published tools at the same time, and nothing was done: run the command again.');
    if (!(e instanceof N17qProblem) || !e.detail.includes('/tools/')) throw e;
    throw new Trouble(`${line(byName(e.detail, tools), 1500).replace(/\.$/u, '')}. Correct it and run the command again; docs/tools.md describes the fields. (${e.code})`, e.code === 'MALFORMED');
  }
}

export async function publishTools(file: string, o: { readonly replace?: string }, out: Output): Promise<void> {
  const added = toolsIn(file);
  const replace = (o.replace ?? '').split(',').map((n) => n.trim()).filter((n) => n !== '');
  const { client } = ownReach();
  const revision = await said(async () => {
    const now = await client.document('registry');
    const known = now.document?.tools ?? [];
    requireFreeNames(known, added, replace, file); // keeps W2
    const next = withTools(known, added, now.revision);
    requireSize(file, next, false);
    return publishedAs(client, next, now.revision);
  });
  out.answer({ revision, tools: added.map((t) => t.name) }, () => `The registry has revision ${revision} now, with ${added.map((t) => line(String(t.name), 80)).join(', ')}. A run that names no tools of its own is offered them.`);
}

export async function listTools(out: Output): Promise<void> {
  const { client } = ownReach();
  const now = await said(() => client.document('registry'));
  const tools = (now.document?.tools ?? []).map((t) => ({ name: t.name, server: t.server, connector: t.connector.kind, contract: t.contract.kind, target: t.target, mappingRevision: t.mappingRevision, ofStack: isStackTool(t) }));
  out.answer({ revision: now.revision, tools }, () => (tools.length === 0
    ? 'The registry has no tools: ./n17q tool draft and ./n17q tool publish add some; docs/tools.md says how.'
    : `${table([['NAME', 'SERVER', 'CONNECTOR', 'CONTRACT', 'REVISION'], ...tools.map((t) => [line(t.name, 128), line(t.server, 80), t.connector, t.contract, String(t.mappingRevision)])])}\nThe registry has revision ${now.revision}.`));
}

export async function removeTools(names: readonly string[], out: Output): Promise<void> {
  const { client } = ownReach();
  const revision = await said(async () => {
    const now = await client.document('registry');
    return publishedAs(client, withoutTools(now.document?.tools ?? [], names, (t) => !isRemote() && isStackTool(t)), now.revision);
  });
  const removed = [...new Set(names)];
  out.answer({ revision, removed }, () => [
    `The registry has revision ${revision} now, without ${removed.map((n) => line(n, 80)).join(', ')}. What runs recorded of ${removed.length === 1 ? 'it' : 'them'} stays readable; nothing is executed with ${removed.length === 1 ? 'it' : 'them'} any more.`,
    'An effect of unknown outcome keeps its contract: it can still be looked at and takes receipts and findings, and is not attempted again. ./n17q migrate-effect RUN EFFECT --to TOOL has it looked at as another tool.',
  ].join('\n'));
}
