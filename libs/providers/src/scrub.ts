/**
 * Provider text made fit to be kept: bounded, one line, and without what it may echo of our request.
 *
 * A refusal may quote the very signature that it refuses, or the key that it does not know. Known values are cut out by
 * value; anything that looks like an encoded token is cut out by shape.
 *
 * Rows: CON-1.
 */
const MESSAGE_CHARS_MAX = 500;
const TOKEN_SHAPED = /[A-Za-z0-9+/=_-]{16,}/g;
const WORDS = /^(?:[a-z]+|[A-Z]+)(?:[_/-](?:[a-z]+|[A-Z]+))*$/;

/** `known`: exact values to remove first, whatever their length. */
export function scrubbed(text: string, known: readonly string[] = []): string {
  let clean = text.slice(0, 256 * 1024);
  for (const value of known) if (value.length >= 4) clean = clean.replaceAll(value, '[…]');
  clean = clean.replace(TOKEN_SHAPED, (run) => (WORDS.test(run) ? run : '[…]'));
  clean = clean.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return clean.length <= MESSAGE_CHARS_MAX ? clean : `${clean.slice(0, MESSAGE_CHARS_MAX)}…`;
}
