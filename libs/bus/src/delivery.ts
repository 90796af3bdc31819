/**
 * One delivered message and its acknowledgement, written out by hand since the client keeps its own wrapper to itself.
 *
 * 1. The first final word counts; later ones are ignored.
 * 2. No acknowledgement ever throws: on a dead connection it is lost, and the message comes again.
 */
import type { Msg } from 'nats';
import { fromWire, type RunEventHead } from './message.js';

const encoder = new TextEncoder();
const ACK = encoder.encode('+ACK');
const WORKING = encoder.encode('+WPI');
const TERM = encoder.encode('+TERM');

export interface Delivery {
  /** Undefined when the message is no run event of this version. */
  readonly head: RunEventHead | undefined;
  readonly subject: string;
  /** 1 on the first delivery. */
  readonly deliveries: number;
  readonly settled: boolean;
  ack(): void;
  nak(delayMs: number): void;
  /** No redelivery, whatever happens. */
  term(): void;
  /** Starts the ack wait anew. */
  working(): void;
}

/** The delivery count out of `$JS.ACK.<stream>.<consumer>.<n>…` or the later form with domain and account in front. */
export function deliveryCount(reply: string): number {
  const tokens = reply.split('.');
  const count = Number(tokens[tokens.length === 9 ? 4 : 6]);
  return Number.isSafeInteger(count) && count > 0 ? count : 1;
}

class Delivered implements Delivery {
  readonly head: RunEventHead | undefined;
  readonly subject: string;
  readonly deliveries: number;
  #settled = false;

  constructor(private readonly msg: Msg) {
    this.head = fromWire(msg.subject, msg.headers);
    this.subject = msg.subject;
    this.deliveries = deliveryCount(msg.reply ?? '');
  }

  get settled(): boolean { return this.#settled; }
  ack(): void { this.#final(ACK); }
  term(): void { this.#final(TERM); }
  nak(delayMs: number): void { this.#final(encoder.encode(`-NAK {"delay":${Math.max(1, Math.round(delayMs)) * 1_000_000}}`)); }
  working(): void { if (!this.#settled) this.#send(WORKING); }

  #final(payload: Uint8Array): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#send(payload);
  }

  #send(payload: Uint8Array): void {
    try {
      this.msg.respond(payload);
    } catch {
      // Invariant 2: the connection is closed; the server redelivers after the ack wait.
    }
  }
}

export const delivered = (msg: Msg): Delivery => new Delivered(msg);
