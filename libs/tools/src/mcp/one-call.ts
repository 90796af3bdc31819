/**
 * The one `tools/call` that a session may write.
 *
 * O1. `admit` is asked synchronously right before the write, whatever the transport; it asks the caller's last check, which runs once.
 * O2. A second `tools/call` is never written, whoever asks for it: no retry, redirect or resumption of a library gets past this.
 * O3. `written` is true from before the first byte on, and never false again.
 *
 * Rows: EFF-2, EFF-3.
 */
export class OneCall {
  #asked = false;
  #written = false;

  constructor(readonly beforeFirstByte: () => boolean, readonly onWritten: () => void = () => undefined) {}

  get written(): boolean { return this.#written; }

  admit(): void {
    if (this.#asked) throw new Stopped('SECOND_CALL'); // keeps O2
    this.#asked = true;
    if (!this.beforeFirstByte()) throw new Stopped('STOPPED_BEFORE_FIRST_BYTE');
    this.#written = true; // keeps O3
    this.onWritten();
  }
}

/** What ended a session before its answer, as a cause for the record. */
export class Stopped extends Error {
  constructor(readonly what: string) { super(what); this.name = 'Stopped'; }
}

export const isToolCall = (message: unknown): boolean => (message as { readonly method?: unknown } | null)?.method === 'tools/call';
/** An answer of ours to something that the server asked for. */
export const isAnswer = (message: unknown): boolean => message !== null && typeof message === 'object' && !('method' in message) && 'id' in message;
