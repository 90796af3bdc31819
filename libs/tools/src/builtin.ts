/**
 * The tools of a coding run: list, read and write files of the workspace, run the tests, file a ticket.
 *
 * A name here grants nothing: a mapping acts only once it stands in the tenant's registry and the gate permits a call.
 *
 * Rows: TOOL-1, TOOL-4, EFF-4.
 */
import * as z from 'zod';
import { digestOf } from '@n17q/contracts';
import type { EffectContract, Json, ToolMapping } from '@n17q/domain';
import type { ReadOnlyMount } from './command/run-contained.js';
import { contractUnder, type Isolation } from './command/isolation.js';

const path = z.string().min(1).max(1024).describe('Path of the file, relative to the root of the workspace');

export const BUILTIN_ARGUMENTS = {
  list_files: z.strictObject({ prefix: z.string().max(1024).describe('Only files whose path begins with this').optional() }),
  read_file: z.strictObject({ path }),
  write_file: z.strictObject({ path, content: z.string().max(1_000_000).describe('The whole new content of the file') }),
  run_tests: z.strictObject({}),
  file_ticket: z.strictObject({
    project: z.string().min(1).max(100).describe('Project that the ticket belongs to'),
    title: z.string().min(1).max(200).describe('One line that says what it is about'),
    body: z.string().max(20_000).describe('Description for the people who read the ticket'),
  }),
} as const;
export type BuiltinTool = keyof typeof BUILTIN_ARGUMENTS;

export interface CodingToolsOptions {
  readonly isolation: Isolation;
  /** Program and arguments, run in the root of the workspace. */
  readonly testCommand: readonly string[];
  readonly testMounts?: readonly ReadOnlyMount[];
  /** Base address of the ticket service. */
  readonly ticketsUrl: string;
  /** What the ticket service promises; default: it can be asked by key, and absence is never final. */
  readonly ticketContract?: EffectContract;
  readonly ticketCredential?: string;
  readonly mappingRevision?: number;
}

interface Rest { readonly server: string; readonly target: string; readonly contract: EffectContract; readonly scopeFields: readonly string[]; readonly connector: ToolMapping['connector']; readonly timeoutMs: number; readonly outputBytesMax: number }

const ARGUMENT_BYTES_MAX = 2 * 1024 * 1024;
const TEXT_BYTES_MAX = 32 * 1024;
const LIST_BYTES_MAX = 16 * 1024;

export function codingTools(options: CodingToolsOptions): ToolMapping[] {
  const revision = options.mappingRevision ?? 1;
  const tool = (name: BuiltinTool, description: string, rest: Rest): ToolMapping => {
    const schema = z.toJSONSchema(BUILTIN_ARGUMENTS[name]) as Json;
    return { name, description, schema, schemaDigest: digestOf(schema), mappingRevision: revision, argumentBytesMax: ARGUMENT_BYTES_MAX, dataClass: 'internal', costUsdMicros: 0, ...rest };
  };
  const workspace = (operation: 'list' | 'read' | 'write', contract: EffectContract, scopeFields: readonly string[], outputBytesMax: number): Rest =>
    ({ server: 'workspace', target: 'workspace', contract, scopeFields, connector: { kind: 'workspace', config: { operation, readOnly: operation !== 'write' } }, timeoutMs: 30_000, outputBytesMax });
  return [
    tool('list_files', 'List the files of the workspace with their sizes in bytes.', workspace('list', { kind: 'read-only' }, [], LIST_BYTES_MAX)),
    tool('read_file', 'Read one text file of the workspace.', workspace('read', { kind: 'read-only' }, ['path'], TEXT_BYTES_MAX)),
    // contained: a write makes a new state named by digest and leaves the old one as it was
    tool('write_file', 'Write one text file of the workspace, replacing what it held.', workspace('write', { kind: 'contained' }, ['path'], 4 * 1024)),
    tool('run_tests', 'Run the tests of the workspace in a fresh sandbox without network. Answers with the exit code and the output.', {
      server: 'sandbox', target: 'sandbox', contract: { kind: contractUnder('contained', options.isolation) }, scopeFields: [],
      connector: { kind: 'command', config: { command: [...options.testCommand], mounts: (options.testMounts ?? []).map((m) => ({ from: m.from, at: m.at })) } },
      timeoutMs: 120_000, outputBytesMax: 16 * 1024,
    }),
    tool('file_ticket', 'File one ticket at the ticket service. Every call that succeeds makes a ticket that people will see.', {
      server: options.ticketsUrl, target: options.ticketsUrl, contract: options.ticketContract ?? { kind: 'queryable', query: { absenceFinalAfterMs: null } }, scopeFields: ['project'], // not the title: words can be put in other words
      connector: {
        kind: 'http',
        config: {
          baseUrl: options.ticketsUrl, method: 'POST', path: '/tickets', keyHeader: 'idempotency-key', query: { path: '/tickets?key={key}' }, finalRefusals: [400, 401, 403, 422],
          ...(options.ticketCredential === undefined ? {} : { credential: options.ticketCredential }),
        },
      },
      timeoutMs: 10_000, outputBytesMax: TEXT_BYTES_MAX,
    }),
  ];
}
