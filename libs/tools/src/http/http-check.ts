/** What of a mapping over HTTP can never work. The connector and the publication of a registry ask here. Rows: EFF-4, TOOL-1. */
import type { EffectContract } from '@n17q/domain';
import { argumentsNamed, configFault, contractFaults, shapeFaults, takesArgument, takesPlainArgument, type JudgedMapping, type MappingFault } from '../mapping-fault.js';
import { HttpToolConfig } from './http-config.js';

/** In a path, `{argument}`. */
export const PLACEHOLDER = /\{([A-Za-z0-9_]+)\}/g;

/** Why this configuration cannot keep the contract; undefined: it can. */
export function httpContractProblem(config: HttpToolConfig, contract: EffectContract): string | undefined {
  if (contract.kind === 'contained') return 'a service is no fresh sandbox, so a tool over HTTP is never contained';
  if (contract.kind === 'keyed' && config.keyHeader === undefined) return 'keyed needs keyHeader, the header that carries the key';
  if (contract.kind === 'idempotent' && (contract.precondition === undefined || config.precondition?.argument !== contract.precondition))
    return 'idempotent needs precondition {header, argument} with the argument that the contract names';
  return undefined;
}

export function httpFaults(tool: JudgedMapping): readonly MappingFault[] {
  const parsed = HttpToolConfig.safeParse(tool.connector.config);
  if (!parsed.success) return shapeFaults(parsed.error);
  const { path, query, precondition } = parsed.data;
  const faults: MappingFault[] = [...contractFaults(httpContractProblem(parsed.data, tool.contract))];
  if (tool.contract.query !== undefined && query === undefined) faults.push(configFault('/query', 'the contract says that the service can be asked about a key, so query {path} is needed, such as {"path": "/things?key={key}"}'));
  for (const [, name = ''] of path.matchAll(PLACEHOLDER)) {
    if (!takesArgument(tool.schema, name)) faults.push(configFault('/path', `{${name}} is no argument of the schema; ${argumentsNamed(tool.schema)}`));
    else if (!takesPlainArgument(tool.schema, name)) faults.push(configFault('/path', `{${name}} must be text or a number to stand in a path`));
  }
  if (/[{}]/u.test(path.replaceAll(PLACEHOLDER, ''))) faults.push(configFault('/path', 'a placeholder is {argument}, with letters, digits and _'));
  if (query !== undefined && /[{}]/u.test(query.path.replaceAll('{key}', ''))) faults.push(configFault('/query/path', '{key} is the only placeholder here'));
  if (precondition !== undefined && !(takesArgument(tool.schema, precondition.argument) && takesPlainArgument(tool.schema, precondition.argument)))
    faults.push(configFault('/precondition/argument', `${precondition.argument} must be an argument of the schema that is text or a number; ${argumentsNamed(tool.schema)}`));
  return faults;
}
