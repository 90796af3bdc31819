/** What of a mapping to an MCP server can never work. The connector and the publication of a registry ask here. Rows: EFF-4, TOOL-1. */
import type { EffectContract } from '@n17q/domain';
import { configFault, contractFaults, requiresArgument, shapeFaults, takesArgument, takesPlainArgument, type JudgedMapping, type MappingFault } from '../mapping-fault.js';
import { McpToolConfig } from './mcp-config.js';

/** Why this configuration cannot keep the contract; undefined: it can. */
export function mcpContractProblem(config: McpToolConfig, contract: EffectContract): string | undefined {
  if (contract.kind === 'contained') return 'a server is no fresh sandbox, so an MCP tool is never contained';
  if (contract.kind === 'keyed' && config.key === undefined) return 'keyed needs key, the place for the key: {"argument": NAME} or {"meta": NAME}';
  return undefined;
}

export function mcpFaults(tool: JudgedMapping): readonly MappingFault[] {
  const parsed = McpToolConfig.safeParse(tool.connector.config);
  if (!parsed.success) return shapeFaults(parsed.error);
  const { key, query } = parsed.data;
  const { contract, schema } = tool;
  const faults: MappingFault[] = [...contractFaults(mcpContractProblem(parsed.data, contract))];
  if (contract.query !== undefined && query === undefined) faults.push(configFault('/query', 'the contract says that the server can be asked about a key, so query {tool, keyArgument} is needed'));
  if (key !== undefined && 'argument' in key && requiresArgument(schema, key.argument)) faults.push(configFault('/key/argument', `the schema requires ${key.argument} of the caller, who may not give the key: every call would be refused`));
  if (contract.precondition !== undefined && !(takesArgument(schema, contract.precondition) && takesPlainArgument(schema, contract.precondition)))
    faults.push({ path: '/contract/precondition', problem: `${contract.precondition} must be an argument of the schema that is text or a number` });
  return faults;
}
