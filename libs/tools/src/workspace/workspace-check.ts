/** What of a mapping to an operation on the workspace can never work. The connector and the publication of a registry ask here. Rows: EFF-4, TOOL-1, WSP-2. */
import * as z from 'zod';
import type { EffectContract } from '@n17q/domain';
import { argumentsNamed, contractFaults, shapeFaults, takesArgument, type JudgedMapping, type MappingFault } from '../mapping-fault.js';

export const WorkspaceToolConfig = z.strictObject({
  operation: z.enum(['list', 'read', 'write', 'remove']),
  /** Calls that leave the workspace as it was may go at the same time; said here so that whoever schedules need not know the operations. */
  readOnly: z.boolean().default(false),
}).refine((c) => c.readOnly === (c.operation === 'list' || c.operation === 'read'), 'list and read are read-only, write and remove are not');
export type WorkspaceToolConfig = z.infer<typeof WorkspaceToolConfig>;

const ARGUMENTS: { readonly [O in WorkspaceToolConfig['operation']]: readonly string[] } = { list: [], read: ['path'], write: ['path', 'content'], remove: ['path'] };

function contractProblem(config: WorkspaceToolConfig, contract: EffectContract): string | undefined {
  if (contract.kind === 'keyed' || contract.kind === 'idempotent' || contract.query !== undefined) return `an operation on the workspace has no key and cannot be asked about one, so it is never ${contract.kind}: contained says what a write is`;
  return contract.kind === 'read-only' && !config.readOnly ? `${config.operation} changes the workspace, so it is not read-only: contained says what it is` : undefined;
}

export function workspaceFaults(tool: JudgedMapping): readonly MappingFault[] {
  const parsed = WorkspaceToolConfig.safeParse(tool.connector.config);
  if (!parsed.success) return shapeFaults(parsed.error);
  const missing = ARGUMENTS[parsed.data.operation].filter((name) => !takesArgument(tool.schema, name));
  return [...contractFaults(contractProblem(parsed.data, tool.contract)), ...missing.map((name) => ({ path: '/schema', problem: `${parsed.data.operation} needs the argument ${name}; ${argumentsNamed(tool.schema)}` }))];
}
