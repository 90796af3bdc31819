/**
 * Draft mappings for the tools of an MCP server, for a person to read, change and publish. Nothing acts by being drafted.
 *
 * A draft's contract is *neither*, unless the person says otherwise for that tool; what the server says about a tool can only take that away, and is
 * told as a note. Names, descriptions and schemas are the server's own words.
 *
 * Rows: TOOL-4, EFF-4, CTX-6.
 */
import type { Tool } from '@modelcontextprotocol/client';
import * as z from 'zod';
import { digestOf } from '@n17q/contracts';
import { strictest, type EffectContract, type Json, type ToolHints, type ToolMapping } from '@n17q/domain';
import { checkArguments } from '../arguments.js';
import { boundedText } from '../bounded-text.js';
import { causeOf } from './mcp-connector.js';
import { McpServerConfig } from './mcp-config.js';
import { McpSession, type McpSurroundings } from './session.js';

export interface DraftOptions {
  /** What the server is called in mappings; also their target. */
  readonly name: string;
  readonly around: McpSurroundings;
  /** Put before each tool's name, where two servers use the same one. */
  readonly prefix?: string;
  /** The person's word for a tool, by the server's name of it. */
  readonly contracts?: Readonly<Record<string, EffectContract>>;
  readonly connectTimeoutMs?: number;
}
export interface ToolDraft { readonly mapping: ToolMapping; readonly notes: readonly string[] }
export interface ServerDraft { readonly server: string; readonly protocol: string; readonly tools: readonly ToolDraft[]; readonly notes: readonly string[] }

/** The server could not be asked. `complaint`: the end of what it wrote to its standard error; data, like everything from it. */
export class DraftTrouble extends Error {
  constructor(readonly what: string, readonly complaint: string) { super(what); this.name = 'DraftTrouble'; }
}

const CONNECT_MS = 30_000;
const DEFAULTS = { timeoutMs: 60_000, argumentBytesMax: 256 * 1024, outputBytesMax: 64 * 1024, dataClass: 'internal', costUsdMicros: 0, mappingRevision: 1 } as const;
const DESCRIPTION_BYTES_MAX = 3_500;

/** Connects, lists, and leaves. Throws ZodError for a bad `server`, DraftTrouble when the server cannot be asked. */
export async function mappingsFrom(server: z.input<typeof McpServerConfig>, options: DraftOptions): Promise<ServerDraft> {
  const config = McpServerConfig.parse(server);
  const session = new McpSession({ server: config, around: options.around, outputBytesMax: 0, timeoutMs: 0, connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_MS, beforeFirstByte: () => false });
  try {
    await session.connect();
    const listed = await session.tools();
    const drafts: ToolDraft[] = [];
    const notes: string[] = [];
    for (const t of listed) {
      const name = `${options.prefix ?? ''}${t.name}`.replace(/[^A-Za-z0-9_.:-]/g, '_').replace(/^(?=[^A-Za-z_])/, '_').slice(0, 128);
      if (drafts.some((d) => d.mapping.name === name)) notes.push(`${name} is listed twice; only the first is drafted, and it cannot be called while that is so.`);
      else drafts.push(draftOf(t, name, config, options));
    }
    for (const named of Object.keys(options.contracts ?? {})) if (!listed.some((t) => t.name === named)) notes.push(`${named} is not listed by this server.`);
    return { server: `${session.serverName?.name ?? ''} ${session.serverName?.version ?? ''}`.trim().slice(0, 200), protocol: session.protocol ?? '', tools: drafts, notes };
  } catch (e) {
    throw new DraftTrouble(causeOf(e), session.complaint);
  } finally {
    await session.close();
  }
}

function draftOf(t: Tool, name: string, config: McpServerConfig, options: DraftOptions): ToolDraft {
  const hints: ToolHints = t.annotations ?? {};
  const declared = options.contracts?.[t.name] ?? { kind: 'neither' as const };
  const contract = strictest(declared, hints);
  const schema = t.inputSchema as Json;
  const notes: string[] = [];
  const said = (['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const).flatMap((h) => (hints[h] === undefined ? [] : [`${h} ${String(hints[h])}`]));
  if (said.length > 0) notes.push(`The server says ${said.join(', ')}; nobody has checked that.`);
  if (contract.kind !== declared.kind) notes.push(`You said ${declared.kind}, and the server itself denies it: drafted as ${contract.kind}.`);
  const usable = checkArguments(schema, {});
  if (usable.kind === 'refused' && usable.code === 'SCHEMA_UNUSABLE') notes.push('Its schema cannot be used to check arguments here: every call would be refused.');
  const mapping: ToolMapping = {
    ...DEFAULTS, name, description: boundedText(t.description ?? t.title ?? t.name, DESCRIPTION_BYTES_MAX), server: options.name, target: options.name, schema, schemaDigest: digestOf(schema), contract, scopeFields: [],
    connector: { kind: 'mcp', config: { ...(config as unknown as Record<string, Json>), tool: t.name } },
  };
  return { mapping, notes };
}
