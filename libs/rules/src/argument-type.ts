/**
 * What rules can see of a tool's arguments: types out of the tool's JSON Schema, and values of those types out of the arguments of one call.
 *
 * It does not validate arguments: the tool's schema did. It only says what of them a rule may rest on.
 *
 * A1. What has no exact type here (unions, references, free-form objects, lists of objects, null) is in neither type nor value: no rule can name it.
 * A2. Only names that the tool's schema declares become names here. A text in the arguments is a value; it never becomes a name, an entity or a function.
 * A3. A value that its type cannot hold exactly (0.00001, an integer beyond 2^53, half a surrogate pair) is never rounded. If a rule names it, the
 *     question has no answer; if no rule does, it is left out.
 *
 * Rows: POL-4, CTX-6.
 */
import type { CedarValueJson, Type } from '@cedar-policy/cedar-wasm/nodejs';
import type { Json } from '@n17q/domain';

export type ScalarKind = 'string' | 'integer' | 'number' | 'boolean';
export interface RecordArgument { readonly kind: 'record'; readonly fields: readonly Field[] }
export type ArgumentType = { readonly kind: ScalarKind } | { readonly kind: 'set'; readonly of: ScalarKind } | RecordArgument;
export interface Field { readonly name: string; readonly required: boolean; readonly type: ArgumentType }

const DEPTH_MAX = 6;
const FIELDS_MAX = 200;
const NAME_CHARS_MAX = 128;

type JsonObject = { readonly [key: string]: Json };
const isObject = (v: Json | undefined): v is JsonObject => typeof v === 'object' && v !== null && !Array.isArray(v);
/** Names with two underscores are Cedar's own: in its JSON they stand for entities and functions (keeps A2). */
const isName = (name: string): boolean => name !== '' && name.length <= NAME_CHARS_MAX && !name.startsWith('__') && name.isWellFormed();

const ELSEWHERE = ['$ref', '$dynamicRef', 'anyOf', 'oneOf', 'if'];

function scalarOf(schema: JsonObject): ScalarKind | undefined {
  if (ELSEWHERE.some((k) => Object.hasOwn(schema, k))) return undefined;
  const { type } = schema;
  if (type === 'string' || type === 'integer' || type === 'number' || type === 'boolean') return type;
  const values = 'const' in schema ? [schema['const']] : schema['enum'];
  return type === undefined && Array.isArray(values) && values.length > 0 && values.every((v) => typeof v === 'string') ? 'string' : undefined;
}

function typeOf(schema: Json | undefined, depth: number): ArgumentType | undefined {
  if (!isObject(schema) || depth > DEPTH_MAX) return undefined;
  const scalar = scalarOf(schema);
  if (scalar !== undefined) return { kind: scalar };
  if (schema['type'] === 'array') {
    const of = isObject(schema['items']) && schema['prefixItems'] === undefined ? scalarOf(schema['items']) : undefined;
    return of === undefined ? undefined : { kind: 'set', of };
  }
  return schema['type'] === 'object' && isObject(schema['properties']) && !ELSEWHERE.some((k) => Object.hasOwn(schema, k)) ? recordOf(schema, depth) : undefined;
}

function recordOf(schema: JsonObject, depth: number): RecordArgument {
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const fields: Field[] = [];
  for (const name of Object.keys(properties).sort().slice(0, FIELDS_MAX)) {
    const type = isName(name) ? typeOf(properties[name], depth + 1) : undefined;
    if (type !== undefined) fields.push({ name, required: required.includes(name), type });
  }
  return { kind: 'record', fields };
}

/** The arguments of a tool as rules see them. A schema that says nothing usable gives a record without fields. */
export const argumentsOf = (schema: Json): RecordArgument => (isObject(schema) && !Object.hasOwn(schema, '$ref') ? recordOf(schema, 0) : { kind: 'record', fields: [] });

const CEDAR_SCALARS: { readonly [K in ScalarKind]: Type<string> } = {
  string: { type: 'String' }, integer: { type: 'Long' }, boolean: { type: 'Boolean' }, number: { type: 'Extension', name: 'decimal' },
};

export function cedarType(t: ArgumentType): Type<string> {
  switch (t.kind) {
    case 'set': return { type: 'Set', element: CEDAR_SCALARS[t.of] };
    case 'record': return { type: 'Record', attributes: Object.fromEntries(t.fields.map((f) => [f.name, { ...cedarType(f.type), required: f.required }])) };
    default: return CEDAR_SCALARS[t.kind];
  }
}

/** Below this, two numbers of four decimal places are never the same double. */
const DECIMAL_MAX = 2 ** 38;
const DECIMAL_WHOLE_MAX = 922_337_203_685_476;

/** Cedar's decimal: up to four places, or undefined where the number has more, or is too large to have them (keeps A3). */
export function decimalOf(x: number): string | undefined {
  if (Number.isInteger(x)) return Math.abs(x) <= DECIMAL_WHOLE_MAX ? `${x === 0 ? 0 : x}.0` : undefined;
  const text = x.toFixed(4);
  return Math.abs(x) < DECIMAL_MAX && Number(text) === x ? text : undefined;
}

function scalarValue(kind: ScalarKind, v: Json): CedarValueJson | undefined {
  switch (kind) {
    case 'string': return typeof v === 'string' && v.isWellFormed() ? v : undefined;
    case 'boolean': return typeof v === 'boolean' ? v : undefined;
    case 'integer': return typeof v === 'number' && Number.isSafeInteger(v) ? (v === 0 ? 0 : v) : undefined;
    case 'number': {
      const arg = typeof v === 'number' ? decimalOf(v) : undefined;
      return arg === undefined ? undefined : { __extn: { fn: 'decimal', arg } };
    }
    default: return kind satisfies never;
  }
}

/** Stands in for a required value that no rule names: whatever stands here, no answer can depend on it. */
const STAND_INS: { readonly [K in ScalarKind | 'set']: CedarValueJson } = { string: '', boolean: false, integer: 0, number: { __extn: { fn: 'decimal', arg: '0.0' } }, set: [] };

/** Which names the rules use anywhere; `whole`: some rule takes the arguments as one value. */
export interface Mentions { readonly names: ReadonlySet<string>; readonly whole: boolean }

export type Seen =
  /** `complete`: the rules see every argument of the call. */
  | { readonly ok: true; readonly value: { [key: string]: CedarValueJson }; readonly complete: boolean }
  /** A rule names this argument, and its value has no exact place in a rule. */
  | { readonly ok: false; readonly argument: string };

export function argumentsSeen(t: RecordArgument, args: JsonObject, mentions: Mentions, path: readonly string[] = []): Seen {
  const value: { [key: string]: CedarValueJson } = {};
  let complete = Object.keys(args).every((k) => t.fields.some((f) => f.name === k));
  for (const f of t.fields) {
    const given = Object.hasOwn(args, f.name) ? args[f.name] : undefined;
    if (given === undefined) continue;
    const here = [...path, f.name];
    if (f.type.kind === 'record' && isObject(given)) {
      const inner = argumentsSeen(f.type, given, mentions, here);
      if (!inner.ok) return inner;
      value[f.name] = inner.value;
      complete &&= inner.complete;
      continue;
    }
    const held = f.type.kind === 'record' ? undefined : f.type.kind === 'set' ? setValue(f.type.of, given) : scalarValue(f.type.kind, given);
    if (held !== undefined) { value[f.name] = held; continue; }
    if (f.type.kind === 'record' || mentions.whole || here.some((n) => mentions.names.has(n))) return { ok: false, argument: here.join('.') }; // keeps A3
    complete = false;
    if (f.required) value[f.name] = STAND_INS[f.type.kind];
  }
  return { ok: true, value, complete };
}

function setValue(of: ScalarKind, v: Json): CedarValueJson[] | undefined {
  if (!Array.isArray(v)) return undefined;
  const held = v.map((x) => scalarValue(of, x));
  return held.every((x) => x !== undefined) ? held : undefined;
}
