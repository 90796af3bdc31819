/**
 * Output of the world as bounded text: head and tail, with what was left out in between named in bytes. Rows: CTX-6.
 */
const NOTICE_BYTES = 64;

/** Keeps the first and the last part of a stream of any length in bounded memory. */
export class HeadAndTail {
  readonly #headMax: number;
  readonly #tailMax: number;
  readonly #head: Buffer[] = [];
  readonly #tail: Buffer[] = [];
  #headBytes = 0;
  #tailBytes = 0;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#headMax = Math.ceil(bytesMax / 2);
    this.#tailMax = Math.max(0, bytesMax - this.#headMax);
  }

  /** All bytes that were offered, kept or not. */
  get bytes(): number { return this.#bytes; }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const toHead = Math.min(chunk.length, this.#headMax - this.#headBytes);
    if (toHead > 0) {
      this.#head.push(chunk.subarray(0, toHead));
      this.#headBytes += toHead;
    }
    if (toHead === chunk.length) return;
    this.#tail.push(chunk.subarray(toHead));
    this.#tailBytes += chunk.length - toHead;
    while (this.#tail.length > 1 && this.#tailBytes - (this.#tail[0] as Buffer).length >= this.#tailMax) this.#tailBytes -= (this.#tail.shift() as Buffer).length;
  }

  text(): string {
    const tail = Buffer.concat(this.#tail);
    const kept = tail.subarray(Math.max(0, tail.length - this.#tailMax));
    const left = this.#bytes - this.#headBytes - kept.length;
    const head = Buffer.concat(this.#head);
    if (left === 0) return Buffer.concat([head, kept]).toString('utf8');
    return `${head.toString('utf8')}\n[… ${left} bytes left out …]\n${kept.toString('utf8')}`;
  }
}

/** `text` within `bytesMax` bytes of UTF-8, the notice included. */
export function boundedText(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= bytesMax) return text;
  const keep = new HeadAndTail(Math.max(0, bytesMax - NOTICE_BYTES));
  keep.add(bytes);
  return keep.text();
}
