/**
 * What in the world an effect touches, so that the gate can tell whether a new intent may meet an unresolved one.
 *
 * O1. Two scopes of one target are apart only if they can be shown to be: a field that both name has two values. A scope that names no field is the
 *     whole target and meets every other; so does one that names other fields.
 * O2. Spelling never takes things apart: case, width, outer and repeated blanks, and a number written as text are levelled.
 * O3. A value that is missing says nothing, so its field is left out, which makes the scope wider.
 * O4. Values are kept as keyed digests: the gate compares what nobody can read.
 *
 * Rows: EFF-6.
 */
import type { Digest } from './ids.js';
import type { Json } from './json.js';
import type { ToolMapping } from './tool.js';

export interface Scope {
  readonly target: string;
  /** By name of the argument, the keyed digest of its levelled value. */
  readonly fields: { readonly [name: string]: Digest };
}

/** False only where both name a field with two values. */
export const overlaps = (a: Scope, b: Scope): boolean =>
  a.target === b.target && Object.entries(a.fields).every(([name, value]) => !Object.hasOwn(b.fields, name) || b.fields[name] === value);

/** The scope of one call. `keyed` makes the digest of a text under the tenant's secret. */
export function scopeOf(t: Pick<ToolMapping, 'target' | 'scopeFields'>, args: Json, keyed: (text: string) => Digest): Scope {
  const o = args !== null && typeof args === 'object' && !Array.isArray(args) ? (args as { readonly [k: string]: Json }) : {};
  const named = t.scopeFields.flatMap((name): [string, Digest][] => {
    const value = Object.hasOwn(o, name) ? levelled(o[name] as Json) : null;
    return value === null ? [] : [[name, keyed(JSON.stringify([t.target, name, value]))]];
  });
  return { target: t.target, fields: Object.fromEntries(named) };
}

type Levelled = string | null | readonly Levelled[] | { readonly [key: string]: Levelled };
function levelled(value: Json): Levelled {
  if (value === null) return null;
  if (Array.isArray(value)) return value.map((v) => levelled(v as Json));
  if (typeof value === 'object') return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => [k, levelled(v as Json)]));
  const text = String(value).normalize('NFKC').trim().replaceAll(/\s+/gu, ' ').toLowerCase();
  if (text === '') return null;
  return /^[+-]?\d{1,15}(\.\d{1,6})?$/.test(text) ? String(Number(text)) : text;
}
