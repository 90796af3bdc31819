/**
 * Whether a mapping can work at all, judged without sending anything: what a publication refuses is what the connector would refuse at each call.
 *
 * Deliberately without: whether somebody answers at an address, whether a credential is there, what this machine can contain. That is found at the call.
 *
 * Rows: TOOL-1, TOOL-4, EFF-4.
 */
import { CONNECTOR_KINDS, type ConnectorKind, type Json, type ToolMapping } from '@n17q/domain';
import { checkArguments } from './arguments.js';
import { commandFaults } from './command/command-check.js';
import { httpFaults } from './http/http-check.js';
import { argumentsNamed, takesArgument, type JudgedMapping, type MappingFault } from './mapping-fault.js';
import { mcpFaults } from './mcp/mcp-check.js';
import { workspaceFaults } from './workspace/workspace-check.js';

const CHECKS: { readonly [K in ConnectorKind]: (tool: JudgedMapping) => readonly MappingFault[] } = { http: httpFaults, mcp: mcpFaults, command: commandFaults, workspace: workspaceFaults };

function schemaFaults(schema: Json): readonly MappingFault[] {
  const type = schema !== null && typeof schema === 'object' && !Array.isArray(schema) ? (schema as { readonly type?: Json }).type : null;
  if (type !== undefined && type !== 'object') return [{ path: '/schema', problem: 'the arguments of a call are an object: a schema such as {"type": "object", "properties": {…}} is needed' }];
  const tried = checkArguments(schema, {});
  return tried.kind === 'refused' && tried.code === 'SCHEMA_UNUSABLE' ? [{ path: '/schema', problem: 'it cannot be used to check arguments here, so every call would be refused' }] : [];
}

/** Empty: nothing shows that the mapping cannot work. */
export function mappingFaults(tool: ToolMapping): readonly MappingFault[] {
  const check = Object.hasOwn(CHECKS, tool.connector.kind) ? CHECKS[tool.connector.kind] : undefined;
  if (check === undefined) return [{ path: '/connector/kind', problem: `there is no connector ${String(tool.connector.kind).slice(0, 60)} here; there are ${CONNECTOR_KINDS.join(', ')}` }];
  const faults: MappingFault[] = [...schemaFaults(tool.schema), ...check(tool)];
  tool.scopeFields.forEach((name, n) => {
    if (!takesArgument(tool.schema, name)) faults.push({ path: `/scopeFields/${n}`, problem: `${name} is no argument of the schema; ${argumentsNamed(tool.schema)}` });
  });
  for (const [, name = ''] of (tool.source?.identity ?? '').matchAll(/\{([^{}]{1,100})\}/gu)) {
    if (!takesArgument(tool.schema, name)) faults.push({ path: '/source/identity', problem: `{${name}} is no argument of the schema; ${argumentsNamed(tool.schema)}` });
  }
  return faults;
}
