/**
 * Looks for opaque provider state where none may be. The search knows a value in the forms in which it could travel: as issued, in the URL alphabet,
 * as the bytes behind the text, and inside a larger base64 text at each of its three alignments.
 *
 * L1. A search that could not find anything shows nothing: `Needles.seenIn` is also tried on the provider's own requests, where values must be.
 *
 * Rows: CON-1, CON-3.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const MIDDLE = 24;

/** The part of base64(…x…) that depends on x alone, when x begins at `offset` modulo 3 of what was encoded. */
function inner(x: Buffer, offset: 0 | 1 | 2): string {
  const text = Buffer.concat([Buffer.alloc(offset), x]).toString('base64');
  const from = offset === 0 ? 0 : 4;
  return text.slice(from, from + Math.floor((text.length - from - 4) / 4) * 4);
}

export class Needles {
  readonly #of: readonly (readonly Buffer[])[];
  constructor(values: readonly string[]) {
    this.#of = values.map((value) => {
      // the middle of a value is as telling as all of it, and is found in a cut copy too
      const at = Math.max(0, Math.floor(value.length / 8) * 4 - MIDDLE * 2);
      const text = value.slice(at, at + MIDDLE * 4);
      const raw = Buffer.from(text, 'base64');
      const forms = [text, text.replaceAll('+', '-').replaceAll('/', '_'), text.replaceAll('/', '\\/'), ...([0, 1, 2] as const).flatMap((o) => [inner(Buffer.from(text), o), inner(raw, o)]), raw.toString('hex')];
      return [raw, ...[...new Set(forms)].map((f) => Buffer.from(f))];
    });
  }
  get values(): number { return this.#of.length; }

  /** How many of the values stand somewhere in these texts. */
  seenIn(haystacks: readonly (string | Uint8Array)[]): number {
    const all = haystacks.map((h) => (typeof h === 'string' ? Buffer.from(h) : Buffer.from(h.buffer, h.byteOffset, h.byteLength)));
    return this.#of.filter((forms) => all.some((h) => forms.some((f) => h.includes(f)))).length;
  }
}

/** Every file of the folder, one level, as bytes. */
export const filesIn = (dir: string): readonly Buffer[] => readdirSync(dir, { withFileTypes: true }).filter((f) => f.isFile()).map((f) => readFileSync(join(dir, f.name)));
