/**
 * What of a mapping to a command can never work. The connector and the publication of a registry ask here. Whether *contained* can be kept is another matter
 * of each machine: the connector judges it where the command would run.
 *
 * Rows: EFF-4, TOOL-1.
 */
import * as z from 'zod';
import type { EffectContract } from '@n17q/domain';
import { contractFaults, shapeFaults, type JudgedMapping, type MappingFault } from '../mapping-fault.js';

const ABSOLUTE = z.string().regex(/^\/[^\0]*$/).refine((p) => !p.split('/').includes('..'), 'no .. in a mount');
export const CommandToolConfig = z.strictObject({
  command: z.array(z.string().min(1)).min(1),
  env: z.record(z.string().regex(/^[A-Z_][A-Z0-9_]*$/), z.string()).default({}),
  /** Folders of this machine that the command may read, such as installed dependencies: at which place inside. Only with isolation. */
  mounts: z.array(z.strictObject({ from: ABSOLUTE, at: ABSOLUTE })).default([]),
});
export type CommandToolConfig = z.infer<typeof CommandToolConfig>;

/** Why no command can keep the contract; undefined: one can. */
export function commandContractProblem(contract: EffectContract): string | undefined {
  return contract.kind === 'keyed' || contract.kind === 'idempotent' ? `a command is given neither a key nor arguments, so it is never ${contract.kind}` : undefined;
}

export function commandFaults(tool: JudgedMapping): readonly MappingFault[] {
  const parsed = CommandToolConfig.safeParse(tool.connector.config);
  const asked = tool.contract.query === undefined ? undefined : 'a command cannot be asked about a key later';
  return [...(parsed.success ? [] : shapeFaults(parsed.error)), ...contractFaults(commandContractProblem(tool.contract) ?? asked)];
}
