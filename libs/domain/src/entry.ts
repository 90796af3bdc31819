/**
 * Stored forms of what is said to a model and what it says: JSON with references in place of texts that are stored already. Loading an entry
 * gives the neutral LineageEntry; the same stored entry always gives the same one.
 *
 * Rows: CTX-4, CTX-8, RUN-3.
 */
import type { ContentRef } from './content.js';
import type { Json } from './json.js';
import type { LineageEntry, OutputPart } from './provider.js';

export type StoredEntry =
  | { readonly kind: 'input'; readonly text: string }
  | { readonly kind: 'results'; readonly results: readonly StoredResult[]; readonly state: string };
export interface StoredResult { readonly callId: string; readonly tool: string; readonly ok: boolean; /** Content, or words of the platform. */ readonly text: ContentRef | string }

/** What `generation.accepted.output` refers to. */
export type StoredOutput = { readonly parts: readonly OutputPart[] };

/** Texts by commitment; a missing one is undefined, and whoever needs it says so. */
export type Texts = ReadonlyMap<string, string>;

export class TextMissing extends Error {
  constructor(readonly commitment: string) { super(`content ${commitment} is not at hand`); }
}
export function textOf(texts: Texts, r: ContentRef): string {
  const t = texts.get(r.commitment);
  if (t === undefined) throw new TextMissing(r.commitment);
  return t;
}

/** `asked`: the output that the results answer; ids that the provider gave to its calls go back with their results. */
export function loadEntry(e: StoredEntry, texts: Texts, asked?: StoredOutput): LineageEntry {
  if (e.kind === 'input') return e;
  const given = new Map(asked?.parts.flatMap((p) => (p.kind === 'call' && p.providerCallId !== undefined ? [[p.callId, p.providerCallId] as const] : [])));
  return { kind: 'results', state: e.state, results: e.results.map((r) => ({ callId: r.callId, ...(given.has(r.callId) ? { providerCallId: given.get(r.callId) as string } : {}), tool: r.tool, ok: r.ok, text: typeof r.text === 'string' ? r.text : textOf(texts, r.text) })) };
}
export const refsOfEntry = (e: StoredEntry): readonly ContentRef[] => (e.kind === 'input' ? [] : e.results.flatMap((r) => (typeof r.text === 'string' ? [] : [r.text])));
export const asJson = (v: StoredEntry | StoredOutput): Json => v as unknown as Json;
