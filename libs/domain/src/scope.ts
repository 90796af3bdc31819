/**
 * What in the world an effect touches, so that the gate can tell whether a new intent may meet an unresolved one.
 *
 * O1. Two scopes of one target are apart only if they can be shown to be: a field that both name has two values. A scope that names no field is the
 *     whole target and meets every other; so does one that names other fields.
 * O2. Spelling never takes things apart: case, width, what does not show, outer and repeated blanks, and how a number is written are levelled.
 * O3. A value that is missing, blank or not exact says nothing, at any depth, so it is left out, which makes the scope wider.
 * O5. Of an object each member is a field of its own, at any depth: one that only one of two objects has takes nothing apart. Of a list that holds more than one
 *     value nobody can tell by a digest whether it shares one with another, in whatever order, so it says nothing.
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

/** So many fields of one argument are compared; what is beyond them is left out, which makes the scope wider. */
const MEMBERS_MAX = 32;
const DEPTH_MAX = 8;
const FIELD_CHARS_MAX = 160;

/** The scope of one call. `keyed` makes the digest of a text under the tenant's secret. */
export function scopeOf(t: Pick<ToolMapping, 'target' | 'scopeFields'>, args: Json, keyed: (text: string) => Digest): Scope {
  const o = args !== null && typeof args === 'object' && !Array.isArray(args) ? (args as { readonly [k: string]: Json }) : {};
  const named = t.scopeFields.flatMap((name): [string, Digest][] =>
    (Object.hasOwn(o, name) ? said([name], o[name] as Json, 0) : []).flatMap(([path, value]): [string, Digest][] => {
      const field = path.length === 1 ? name : JSON.stringify(path);
      return path.length > 1 && field.length > FIELD_CHARS_MAX ? [] : [[field, keyed(JSON.stringify([t.target, field, value]))]];
    }).slice(0, MEMBERS_MAX));
  return { target: t.target, fields: Object.fromEntries(named) };
}

type Said = readonly (readonly [path: readonly string[], value: string])[];
/** What a value says, by its place; nothing where it says nothing (keeps O3, O5). */
function said(path: readonly string[], value: Json, depth: number): Said {
  if (value === null || inexact(value) || depth > DEPTH_MAX) return [];
  if (Array.isArray(value)) {
    const [first, ...others] = (value as readonly Json[]).filter((v) => v !== null && v !== '');
    return first === undefined || others.length > 0 ? [] : said(path, first, depth + 1);
  }
  if (typeof value === 'object') return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(([k, v]) => said([...path, k], v as Json, depth + 1));
  // lower case alone keeps apart what upper case makes one (ß and SS, the two small sigmas)
  const text = String(value).normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '').toLowerCase().toUpperCase().normalize('NFKC').replaceAll(/\s+/gu, ' ').trim();
  return text === '' ? [] : [[path, numeral(text)]];
}
/** A whole number that JSON has rounded: the same written as text may have other digits. */
const inexact = (value: Json): boolean => typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);

/** The one spelling of a decimal number of any length, without rounding; any other text as it is. */
function numeral(text: string): string {
  const [, sign, mantissa, power] = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:E([+-]?\d{1,6}))?$/.exec(text) ?? [];
  if (mantissa === undefined) return text;
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = (whole + fraction).replace(/^0+/, '');
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end--; // a pattern would try each of its zeros
  return end === 0 ? '0' : `${sign === '-' ? '-' : ''}${digits.slice(0, end)}E${Number(power ?? 0) - fraction.length + digits.length - end}`;
}
