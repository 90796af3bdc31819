/** How the specs reach the ticket service: mappings for the connector under test. */
import { fileURLToPath } from 'node:url';
import { digestOf } from '@n17q/contracts';
import type { EffectContract, Json } from '@n17q/domain';
import { McpConnector, type Connector, type McpSurroundings } from '@n17q/tools';
import { TICKET_TARGET } from '../world-emulator/connector-conformance.js';
import { TICKET_SCHEMA } from './listing.js';
import { KEY_META } from './ticket-server.js';

export const TICKET_MAIN = fileURLToPath(new URL('../../dist/mcp-world/main.js', import.meta.url));
export const AROUND: McpSurroundings = { credentials: () => ({}), mayStartServers: true };
const CALL: Json = { tool: 'file_ticket', key: { meta: KEY_META }, query: { tool: 'find_ticket', keyArgument: 'key' }, finalErrors: [-32422] };

export interface TicketMapping { readonly contract?: EffectContract; readonly schema?: Json; readonly around?: Partial<McpSurroundings>; readonly config?: Json }

/** `server`: the fields of its transport. */
export function ticketConnector(server: Json, o: TicketMapping = {}): Connector {
  const config = { ...(server as object), ...(CALL as object), ...(o.config as object | undefined) } as Json;
  return new McpConnector({ connector: { kind: 'mcp', config }, target: TICKET_TARGET as unknown as string, contract: o.contract ?? { kind: 'neither' }, schemaDigest: digestOf(o.schema ?? TICKET_SCHEMA) }, { ...AROUND, ...o.around });
}
