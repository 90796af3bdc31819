/** The tools of the fault suites: one ticket tool per class of target, and the workspace tools. Rows: EFF-4, TOOL-1. */
import type { EffectContract, ToolMapping } from '@n17q/domain';
import { codingTools } from '@n17q/tools';
import type { WorldMode } from '@n17q/testing';

/** What a target can do about repetition: know a key, be asked, both, or neither. */
export const TICKET_CLASSES = ['keyed-asked', 'queryable', 'keyed', 'neither'] as const;
export type TicketClass = (typeof TICKET_CLASSES)[number];

export const ABSENCE_FINAL_MS = 2_500;
const KEY_LIFE_MS = 600_000;
const NO_COMMANDS = { isolation: 'none', why: 'these suites run no commands' } as const;

/** The contract that the tool states, and how the target really behaves: they agree. */
export const CLASSES: { readonly [C in TicketClass]: { readonly tool: string; readonly contract: EffectContract; readonly world: Pick<WorldMode, 'query' | 'keyAware'> } } = {
  'keyed-asked': { tool: 'ticket_keyed_asked', contract: { kind: 'keyed', keyLifeMs: KEY_LIFE_MS, query: { absenceFinalAfterMs: null } }, world: { query: true, keyAware: true } },
  queryable: { tool: 'ticket_queryable', contract: { kind: 'queryable', query: { absenceFinalAfterMs: ABSENCE_FINAL_MS } }, world: { query: true, keyAware: false } },
  keyed: { tool: 'ticket_keyed', contract: { kind: 'keyed', keyLifeMs: KEY_LIFE_MS }, world: { query: false, keyAware: true } },
  neither: { tool: 'ticket_neither', contract: { kind: 'neither' }, world: { query: false, keyAware: false } },
};

export function toolsFor(urls: { readonly [C in TicketClass]: string }): ToolMapping[] {
  const ticket = (c: TicketClass): ToolMapping => {
    const { tool, contract, world } = CLASSES[c];
    const made = codingTools({ isolation: NO_COMMANDS, testCommand: ['true'], ticketsUrl: urls[c], ticketContract: contract }).find((t) => t.name === 'file_ticket') as ToolMapping;
    const { query, keyHeader, ...config } = made.connector.config as Record<string, unknown>;
    const full = { ...config, ...(contract.kind === 'neither' ? {} : { keyHeader }), ...(world.query ? { query } : {}) };
    return { ...made, name: tool, connector: { kind: 'http', config: full as never }, timeoutMs: Math.min(4_000, contract.query?.absenceFinalAfterMs ?? Infinity) };
  };
  const files = codingTools({ isolation: NO_COMMANDS, testCommand: ['true'], ticketsUrl: urls.queryable }).filter((t) => t.connector.kind === 'workspace').map((t) => ({ ...t, timeoutMs: 3_000 })); // a claim on free work lasts as long as the work may
  return [...files, ...TICKET_CLASSES.map(ticket)];
}
