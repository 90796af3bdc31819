/**
 * The form of one artifact on disk: one line of JSON, then the bytes.
 *
 * One file, so that a rename makes salt and bytes visible together, and a rename over it takes both away together (A1, A4). The line is
 * `{"n17q":"artifact/1", …}`; a tombstone has no salt and nothing after the line.
 */
import type { ContentClass } from '@n17q/domain';
import type { Tombstone } from './errors.js';

export interface Heading {
  readonly class: ContentClass;
  readonly media: string;
  /** Base64; absent in a tombstone. */
  readonly salt?: string;
  /** Only in a tombstone: the size that the bytes had. */
  readonly erasedBytes?: number;
  readonly tombstone?: Tombstone;
}

export const HEADING_BYTES_MAX = 8 * 1024;
const FORMAT = 'artifact/1';

export function headingLine(heading: Heading): Buffer {
  const line = Buffer.from(`${JSON.stringify({ n17q: FORMAT, ...heading })}\n`);
  if (line.length > HEADING_BYTES_MAX) throw new RangeError('the description of the artifact is too long');
  return line;
}

/** The heading and where the bytes begin; undefined if `start` does not open with a heading of this format. */
export function parseHeading(start: Buffer): { readonly heading: Heading; readonly offset: number } | undefined {
  const end = start.subarray(0, HEADING_BYTES_MAX).indexOf(0x0a);
  if (end < 0) return undefined;
  try {
    const heading = JSON.parse(start.subarray(0, end).toString('utf8')) as Heading & { n17q?: string };
    if (heading === null || typeof heading !== 'object' || heading.n17q !== FORMAT) return undefined;
    if (typeof heading.class !== 'string' || typeof heading.media !== 'string') return undefined;
    if ((heading.tombstone === undefined) !== (typeof heading.salt === 'string')) return undefined;
    return { heading, offset: end + 1 };
  } catch {
    return undefined; // damaged: the caller reports the artifact as altered
  }
}
