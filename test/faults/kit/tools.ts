/** The tools of the fault suites: one per kind of contract, each at a target of its own, and the workspace tools. Rows: EFF-4, TOOL-1. */
import { digestOf } from '@n17q/contracts';
import type { ContractKind, EffectContract, Json, ToolMapping } from '@n17q/domain';
import { codingTools } from '@n17q/tools';
import type { ScriptedReply, WorldMode } from '@n17q/testing';

/** What a ticket service can do about repetition: know a key, be asked, both, or neither. `absent-never`: it can be asked, and that it knows nothing never says that nothing happened. */
export const TICKET_CLASSES = ['keyed-asked', 'queryable', 'keyed', 'neither'] as const;
export type TicketClass = (typeof TICKET_CLASSES)[number];
/** Everything outside that keeps a ledger, each a service of its own. */
export const WORLD_CLASSES = [...TICKET_CLASSES, 'absent-never', 'idempotent', 'read-only'] as const;
export type WorldClass = (typeof WORLD_CLASSES)[number];

export const ABSENCE_FINAL_MS = 2_500;
const KEY_LIFE_MS = 600_000;
const NO_COMMANDS = { isolation: 'none', why: 'these suites run no commands' } as const;

/** The contract that the tool states, and how the target really behaves: they agree. */
export const CLASSES: { readonly [C in WorldClass]: { readonly tool: string; readonly contract: EffectContract; readonly world: Pick<WorldMode, 'query' | 'keyAware'> } } = {
  'keyed-asked': { tool: 'ticket_keyed_asked', contract: { kind: 'keyed', keyLifeMs: KEY_LIFE_MS, query: { absenceFinalAfterMs: null } }, world: { query: true, keyAware: true } },
  queryable: { tool: 'ticket_queryable', contract: { kind: 'queryable', query: { absenceFinalAfterMs: ABSENCE_FINAL_MS } }, world: { query: true, keyAware: false } },
  keyed: { tool: 'ticket_keyed', contract: { kind: 'keyed', keyLifeMs: KEY_LIFE_MS }, world: { query: false, keyAware: true } },
  neither: { tool: 'ticket_neither', contract: { kind: 'neither' }, world: { query: false, keyAware: false } },
  'absent-never': { tool: 'ticket_absent_never', contract: { kind: 'queryable', query: { absenceFinalAfterMs: null } }, world: { query: true, keyAware: false } },
  idempotent: { tool: 'page_write', contract: { kind: 'idempotent', precondition: 'version' }, world: { query: false, keyAware: false } },
  'read-only': { tool: 'page_read', contract: { kind: 'read-only' }, world: { query: false, keyAware: false } },
};

type Call = NonNullable<ScriptedReply['calls']>[number];
export const ticket = (c: TicketClass | 'absent-never', title = '$TAG', project = '$TAG'): Call => ({ tool: CLASSES[c].tool, args: { project, title, body: '$TAG as found' } });
/** One call of each kind of contract, each with the run's tag in it. */
export const CALLS: { readonly [K in ContractKind]: Call } = {
  'read-only': { tool: CLASSES['read-only'].tool, args: { name: '$TAG' } },
  contained: { tool: 'write_file', args: { path: 'NOTE.md', content: '$TAG' } },
  idempotent: { tool: CLASSES.idempotent.tool, args: { name: '$TAG', text: 'as found', version: '"v0"' } },
  keyed: ticket('keyed'), queryable: ticket('queryable'), neither: ticket('neither'),
};

const object = (properties: Record<string, Json>): Json => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false });
const TEXT = { type: 'string' };
const TEXT_OR_NUMBER = { anyOf: [TEXT, { type: 'number' }] };

export function toolsFor(urls: { readonly [C in WorldClass]: string }): ToolMapping[] {
  const made = (url: string, contract?: EffectContract): readonly ToolMapping[] => codingTools({ isolation: NO_COMMANDS, testCommand: ['true'], ticketsUrl: url, ...(contract === undefined ? {} : { ticketContract: contract }) });
  const filing = (c: TicketClass | 'absent-never'): ToolMapping => {
    const { tool, contract, world } = CLASSES[c];
    const t = made(urls[c], contract).find((x) => x.name === 'file_ticket') as ToolMapping;
    const { query, keyHeader, ...config } = t.connector.config as Record<string, unknown>;
    const full = { ...config, ...(contract.kind === 'neither' ? {} : { keyHeader }), ...(world.query ? { query } : {}) };
    return { ...t, name: tool, connector: { kind: 'http', config: full as never }, timeoutMs: c === 'absent-never' ? 1_500 : Math.min(4_000, contract.query?.absenceFinalAfterMs ?? Infinity) };
  };
  const page = (c: 'idempotent' | 'read-only', description: string, properties: Record<string, Json>, config: Record<string, Json>): ToolMapping => {
    const schema = object(properties);
    return { ...filing('neither'), name: CLASSES[c].tool, description, schema, schemaDigest: digestOf(schema), contract: CLASSES[c].contract, scopeFields: ['name'], server: urls[c], target: urls[c], connector: { kind: 'http', config: { baseUrl: urls[c], path: '/documents/{name}', ...config } } };
  };
  const files = made(urls.queryable).filter((t) => t.connector.kind === 'workspace').map((t) => ({ ...t, timeoutMs: 3_000 })); // a claim on free work lasts as long as the work may
  return [
    ...files, ...[...TICKET_CLASSES, 'absent-never' as const].map(filing),
    page('idempotent', 'Write one page; `version` is the one that it replaces.', { name: TEXT, text: TEXT_OR_NUMBER, version: TEXT }, { method: 'PUT', precondition: { header: 'if-match', argument: 'version' }, finalRefusals: [412, 428] }),
    { ...page('read-only', 'Read one page.', { name: TEXT }, { method: 'GET' }), timeoutMs: 3_000 },
  ];
}
