/**
 * What one server may say to us: bytes of one message, bytes and messages in all. The first excess ends the session.
 *
 * Rows: EFF-3, CTX-6.
 */
export interface InflowBounds { readonly messageBytesMax: number; readonly totalBytesMax: number; readonly messagesMax: number }

const MIB = 1024 * 1024;
/** Until the call is written: the handshake and the list of tools. */
export const BEFORE_CALL: InflowBounds = { messageBytesMax: 2 * MIB, totalBytesMax: 8 * MIB, messagesMax: 2_000 };
/** Room for escapes, and for servers that say a result twice, as text and as structure. */
export const afterCall = (outputBytesMax: number): InflowBounds => ({ messageBytesMax: 2 * outputBytesMax + 64 * 1024, totalBytesMax: 32 * MIB, messagesMax: 4_000 });

/** Answers to what a server asks for, pings among them; beyond them it gets none. */
export const ANSWERS_MAX = 64;

export class Inflow {
  #message = 0;
  #total = 0;
  #messages = 0;
  #bounds = BEFORE_CALL;

  constructor(readonly overflow: (cause: string) => void) {}

  /** Counts anew from here on. */
  under(bounds: InflowBounds): void {
    this.#bounds = bounds;
    this.#message = this.#total = this.#messages = 0;
  }

  /** Bytes of the message under way; false: too many, and the session is over. */
  bytes(n: number): boolean {
    this.#message += n;
    this.#total += n;
    if (this.#message > this.#bounds.messageBytesMax) return this.#over('RESPONSE_TOO_LARGE');
    return this.#total > this.#bounds.totalBytesMax ? this.#over('OUTPUT_FLOOD') : true;
  }

  messageEnded(): boolean {
    this.#message = 0;
    return ++this.#messages > this.#bounds.messagesMax ? this.#over('OUTPUT_FLOOD') : true;
  }

  #over(cause: string): false {
    this.overflow(cause);
    return false;
  }
}
