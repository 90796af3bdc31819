/**
 * A reference to bytes. The address is a salted commitment, `c1.` and the hex of SHA-256(salt ‖ bytes): with salt and
 * bytes erased it still fills its place in every digest above it, and nobody can guess the bytes from it (RET-1).
 *
 * Rows: SEAL-3, SEAL-7.
 */
export interface ContentRef {
  readonly commitment: string;
  readonly bytes: number;
  readonly class: ContentClass;
  readonly media: string;
}

/** What the bytes are, for retention and for who may read them. `continuation` is readable by the gateway alone. */
export const CONTENT_CLASSES = [
  'input', 'model-output', 'tool-arguments', 'tool-result', 'receipt', 'evidence', 'context', 'manifest', 'workspace', 'note', 'continuation',
] as const;
export type ContentClass = (typeof CONTENT_CLASSES)[number];

/** At most `charsMax` UTF-16 units of a text, well formed: half of a character pair has no canonical form and could never be stored. */
export const clip = (text: string, charsMax: number): string => text.slice(0, charsMax).toWellFormed();

/** Every ContentRef inside a value, in order of appearance. */
export function contentRefsIn(value: unknown, found: ContentRef[] = []): ContentRef[] {
  if (Array.isArray(value)) for (const v of value) contentRefsIn(v, found);
  else if (value !== null && typeof value === 'object') {
    const o = value as Record<string, unknown>;
    if (typeof o['commitment'] === 'string' && typeof o['bytes'] === 'number') found.push(value as ContentRef);
    else for (const k of Object.keys(o)) contentRefsIn(o[k], found);
  }
  return found;
}
