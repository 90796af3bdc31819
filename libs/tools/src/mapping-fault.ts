import type * as z from 'zod';
import type { Json, ToolMapping } from '@n17q/domain';

/** Why a mapping can never work. `path`: the place within the mapping, as a JSON pointer. */
export interface MappingFault { readonly path: string; readonly problem: string }
/** What a connector needs to see of a mapping to judge it. */
export type JudgedMapping = Pick<ToolMapping, 'connector' | 'contract' | 'schema'>;

const CONFIG = '/connector/config';
export const configFault = (place: string, problem: string): MappingFault => ({ path: `${CONFIG}${place}`, problem });
/** From a connector's own word on a contract, if it has one. */
export const contractFaults = (problem: string | undefined): readonly MappingFault[] => (problem === undefined ? [] : [{ path: '/contract', problem }]);
export const shapeFaults = (e: z.ZodError): readonly MappingFault[] =>
  e.issues.map((i) => configFault(i.path.map((p) => `/${String(p)}`).join(''), i.message.endsWith(' received undefined') ? 'this field is needed' : i.message));

const record = (v: Json | undefined): { readonly [k: string]: Json } | undefined => (v !== null && typeof v === 'object' && !Array.isArray(v) ? (v as { readonly [k: string]: Json }) : undefined);
const OPEN = ['$ref', 'allOf', 'anyOf', 'oneOf', 'patternProperties', 'if', 'not'];

/** False only where the schema shows that no call can have the argument. */
export function takesArgument(schema: Json, name: string): boolean {
  const s = record(schema);
  const properties = record(s?.['properties']);
  if (s === undefined || properties === undefined || OPEN.some((k) => Object.hasOwn(s, k))) return true;
  // an object with named properties takes no others unless it says so: see `checkArguments`
  return Object.hasOwn(properties, name) || (s['additionalProperties'] !== undefined && s['additionalProperties'] !== false);
}

/** False only where the schema shows that the argument is never text or a number, which alone can stand in a path or header. */
export function takesPlainArgument(schema: Json, name: string): boolean {
  const type = record(record(record(schema)?.['properties'])?.[name])?.['type'];
  const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type : ['string'];
  return types.some((t) => t === 'string' || t === 'number' || t === 'integer');
}

export function requiresArgument(schema: Json, name: string): boolean {
  const required = record(schema)?.['required'];
  return Array.isArray(required) && required.includes(name);
}

/** What the schema names, for a person who named something else. */
export function argumentsNamed(schema: Json): string {
  const names = Object.keys(record(record(schema)?.['properties']) ?? {});
  if (names.length === 0) return 'it names no arguments';
  return `it names ${names.slice(0, 12).map((n) => n.slice(0, 60)).join(', ')}${names.length > 12 ? ' and more' : ''}`;
}
