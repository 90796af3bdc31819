/**
 * Fields in which providers put opaque protocol state, and how to find them in somebody's JSON.
 *
 * Nobody but the gateway can bring a continuation: structured input with one of these fields is refused by the API and
 * stripped by the compiler. Only keys (and block types) are judged; text that looks like such JSON is text.
 *
 * Rows: CON-3.
 */
import type { Json } from '@n17q/domain';

/** As providers spell them; compared without regard to case, `_` and `-`. `a.b`: key `b` directly below key `a`. */
export const CARRIER_FIELDS = [
  'thoughtSignature', 'signature', 'encrypted_content', 'reasoning_details', 'reasoning_content', 'reasoningContent',
  'redacted_thinking', 'redactedContent', 'previous_response_id', 'previous_interaction_id', 'extra_content.google',
] as const;

/** Values of `type` that make an object a carrier by themselves. */
export const CARRIER_BLOCK_TYPES = ['redacted_thinking', 'thinking'] as const;

const plain = (name: string): string => name.toLowerCase().replace(/[_-]/g, '');
const SINGLE = new Set<string>(CARRIER_FIELDS.filter((f) => !f.includes('.')).map(plain));
const NESTED = new Set<string>(CARRIER_FIELDS.filter((f) => f.includes('.')).map((f) => f.split('.').map(plain).join('.')));
const TYPES = new Set<string>(CARRIER_BLOCK_TYPES);
/** A `type` alone is an ordinary word; with one of these beside it, it is a provider's block. */
const BLOCK_BODY = ['data', 'thinking'];

const isCarrierKey = (key: string, parent: string): boolean => SINGLE.has(plain(key)) || NESTED.has(`${plain(parent)}.${plain(key)}`);
const isCarrierBlock = (value: { readonly [key: string]: Json }): boolean =>
  typeof value['type'] === 'string' && TYPES.has(value['type']) && BLOCK_BODY.some((key) => Object.hasOwn(value, key));
const pointer = (path: string, key: string | number): string => `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** JSON Pointer of the first carrier in document order, or undefined. Works at any depth. */
export function findCarrier(json: Json): string | undefined {
  const open: { value: Json; path: string; key: string; carrier: boolean }[] = [{ value: json, path: '', key: '', carrier: false }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path, key } = next;
    if (next.carrier) return path;
    if (value === null || typeof value !== 'object') continue;
    if (Array.isArray(value)) {
      const items = value as readonly Json[];
      for (let i = items.length - 1; i >= 0; i -= 1) open.push({ value: items[i] as Json, path: pointer(path, i), key: '', carrier: false });
      continue;
    }
    const record = value as { readonly [key: string]: Json };
    if (isCarrierBlock(record)) return pointer(path, 'type');
    for (const name of Object.keys(record).reverse()) {
      // judged when it is taken off the stack, not here: so that the first in document order is named
      open.push({ value: record[name] as Json, path: pointer(path, name), key: name, carrier: isCarrierKey(name, key) });
    }
  }
  return undefined;
}

/** A copy without carriers, and the JSON Pointers of what was taken out. Array items that are carrier blocks vanish whole. */
export function withoutCarriers(json: Json): { readonly value: Json; readonly removed: readonly string[] } {
  const removed: string[] = [];
  const walk = (value: Json, path: string, key: string): Json => {
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) {
      return (value as readonly Json[]).flatMap((item, i) => {
        const at = pointer(path, i);
        if (item !== null && typeof item === 'object' && !Array.isArray(item) && isCarrierBlock(item as { readonly [key: string]: Json })) { removed.push(at); return []; }
        return [walk(item, at, '')];
      });
    }
    const record = value as { readonly [key: string]: Json };
    if (isCarrierBlock(record)) { removed.push(path); return null; }
    const kept: [string, Json][] = [];
    for (const [name, member] of Object.entries(record)) {
      if (isCarrierKey(name, key)) removed.push(pointer(path, name));
      else kept.push([name, walk(member, pointer(path, name), name)]);
    }
    return Object.fromEntries(kept);
  };
  return { value: walk(json, '', ''), removed };
}
