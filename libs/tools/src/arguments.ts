/**
 * Arguments of a call, from a model's text to values that match the tool's schema, or a refusal that says where they do not.
 *
 * G1. Nothing is repaired: no default, no coercion, no unknown key dropped. What was permitted is what the model wrote.
 * G2. An empty buffer is a call that was cut, not a call without arguments.
 *
 * Rows: TOOL-1, EFF-1, CTX-6.
 */
import * as z from 'zod';
import type { Json, ToolMapping, Validated } from '@n17q/domain';

export type ArgumentsOutcome =
  | { readonly kind: 'valid'; readonly args: Json }
  | { readonly kind: 'refused'; readonly code: 'ARGUMENTS_EMPTY' | 'ARGUMENTS_NOT_JSON' | 'ARGUMENTS_INVALID' | 'SCHEMA_UNUSABLE'; readonly reason: string; readonly issues: readonly ArgumentIssue[] };
export interface ArgumentIssue { readonly path: string; readonly problem: string }

const ISSUES_MAX = 20;
const refused = (code: Extract<ArgumentsOutcome, { kind: 'refused' }>['code'], reason: string, issues: readonly ArgumentIssue[] = []): ArgumentsOutcome => ({ kind: 'refused', code, reason, issues });

/** From the exact text that a provider gave for the arguments. */
export function parseArguments(schema: Json, text: string): ArgumentsOutcome {
  if (text.trim() === '') return refused('ARGUMENTS_EMPTY', 'the call has no arguments at all: not even an empty object');
  let args: Json;
  try {
    args = JSON.parse(text) as Json;
  } catch {
    return refused('ARGUMENTS_NOT_JSON', 'the arguments are not complete JSON');
  }
  return checkArguments(schema, args);
}

/** `schema` is the JSON Schema of the tool's mapping. Keys that it does not name are refused, also where it does not forbid them. */
export function checkArguments(schema: Json, args: Json): ArgumentsOutcome {
  let validator: z.ZodType;
  try {
    validator = z.fromJSONSchema(closed(schema) as z.core.JSONSchema.JSONSchema);
  } catch {
    return refused('SCHEMA_UNUSABLE', 'the schema of this tool cannot be used to check arguments');
  }
  const parsed = validator.safeParse(args);
  if (parsed.success) return { kind: 'valid', args };
  const issues = parsed.error.issues.slice(0, ISSUES_MAX).map((i) => ({ path: i.path.map(String).join('.'), problem: i.message }));
  return refused('ARGUMENTS_INVALID', issues.map((i) => `${i.path || 'arguments'}: ${i.problem}`).join('; '), issues);
}

/** The same, in the words of the deciders. */
export function validateArguments(tool: Pick<ToolMapping, 'schema'>, args: Json): Validated {
  const checked = checkArguments(tool.schema, args);
  return checked.kind === 'valid' ? { ok: true, value: checked.args } : { ok: false, issues: checked.reason };
}

/** Every object with named properties takes no others. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== 'object') return schema;
  const copy: Record<string, Json> = {};
  for (const [key, value] of Object.entries(schema as Record<string, Json>)) copy[key] = closed(value);
  return copy['type'] === 'object' && copy['properties'] !== undefined && copy['additionalProperties'] === undefined ? { ...copy, additionalProperties: false } : copy;
}
