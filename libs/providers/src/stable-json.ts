import type { Json } from '@n17q/domain';

/** JSON text with keys in code-unit order: the same value gives the same bytes whatever store it came back from. */
export function stableJson(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(stableJson).join(',')}]`;
  const record = value as { readonly [key: string]: Json };
  return `{${Object.keys(record).sort().map((key) => `${JSON.stringify(key)}:${stableJson(record[key] as Json)}`).join(',')}}`;
}
