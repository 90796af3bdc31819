/**
 * Whether what a model said fits into the one append that accepts it. What the store would refuse must never reach it: the outcome would be lost, and
 * the same call paid for again.
 *
 * Rows: EFF-3, BUD-3, RUN-1.
 */
import { APPEND_BYTES_MAX, APPEND_CONTENTS_MAX, APPEND_EVENTS_MAX, EVENT_SCHEMAS, type ContentUpload } from '@n17q/contracts';
import { clip, type Fact, type Json, type OutputPart } from '@n17q/domain';

/** Left for the append's own envelope, and for what the intents of the same calls say beside their arguments. */
const ENVELOPE_BYTES = 192 * 1024;
const EVENT_ENVELOPE_BYTES = 200;
/** Calls of one output: the schema of `generation.accepted` says the same. */
const CALLS_MAX = 64;

/** In words, why an output cannot be recorded as accepted, before anything of it is kept; null: it can. */
export function tooMuch(parts: readonly OutputPart[]): string | null {
  const calls = parts.filter((p) => p.kind === 'call').length;
  if (calls > CALLS_MAX) return `the output asks for ${calls} calls at once; at most ${CALLS_MAX} are taken in`;
  return wellFormed(parts as unknown as Json) ? null : 'the output holds half of a character pair, which has no canonical form';
}

/** In words, which bound of an append its record does not keep; null: it fits. */
export function unfit(facts: readonly Fact[], contents: readonly ContentUpload[]): string | null {
  if (facts.length > APPEND_EVENTS_MAX) return `the output makes ${facts.length} events; one append holds ${APPEND_EVENTS_MAX}`;
  if (contents.length > APPEND_CONTENTS_MAX) return `the output holds ${contents.length} contents; one append takes ${APPEND_CONTENTS_MAX}`;
  const bytes = facts.reduce((n, f) => n + Buffer.byteLength(JSON.stringify(f.data)) + EVENT_ENVELOPE_BYTES, 0) + contents.reduce((n, c) => n + Math.ceil(c.body.length / 3) * 4 + 2 * EVENT_ENVELOPE_BYTES, 0);
  if (bytes > APPEND_BYTES_MAX - ENVELOPE_BYTES) return `the output is ${bytes} bytes on its way to the log; at most ${APPEND_BYTES_MAX - ENVELOPE_BYTES} are taken in`;
  for (const f of facts) {
    const parsed = EVENT_SCHEMAS[f.type].safeParse(f.data);
    if (!parsed.success) return `the output does not have the shape of a record: ${clip(parsed.error.issues.map((i) => `${i.path.map(String).join('.')}: ${i.message}`).join('; '), 500)}`;
  }
  return null;
}
/** No text of it holds half of a character pair, which has no canonical form. */
export function wellFormed(v: Json): boolean {
  if (typeof v === 'string') return v.isWellFormed();
  if (v === null || typeof v !== 'object') return true;
  return Object.entries(v as { readonly [k: string]: Json }).every(([k, x]) => k.isWellFormed() && wellFormed(x));
}
