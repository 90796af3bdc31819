/**
 * How trouble and refusals travel on the bus.
 * A refusal is an answer; a fault says whether whatever was asked may have happened. Nothing here retries.
 */
import { RpcException } from '@nestjs/microservices';

export const BUS_FAULTS = [
  'NOT_CONNECTED', 'NO_RESPONDERS', 'PERMISSION_REFUSED', 'PAYLOAD_TOO_LARGE', 'OVERLOADED', 'EXPIRED', 'DRAINING', 'BAD_REQUEST',
  'TIMEOUT', 'DISCONNECTED', 'BAD_REPLY', 'REPLY_TOO_LARGE', 'HANDLER_FAILED',
  'SERVER_TOO_OLD', 'CREDENTIALS_REFUSED', 'STREAM_MISSING', 'PROVISIONING_FAILED', 'FIELD_DROPPED', 'UNEXPECTED_ACK',
] as const;
export type BusFaultCode = (typeof BUS_FAULTS)[number];

export class BusFault extends Error {
  override readonly name = 'BusFault';
  /** @param mayHaveActed false only when it is certain that nothing reached the other side. */
  constructor(readonly code: BusFaultCode, message: string, readonly mayHaveActed: boolean, options?: ErrorOptions) {
    super(message, options);
  }
}

/** What a request handler returns to say no: travels as an answer, with its facts, and is never an error. */
export class Refused<R = unknown> {
  constructor(readonly refusal: R) {}
}
export const refuse = <R>(refusal: R): Refused<R> => new Refused(refusal);

/**
 * `conflict`: somebody else appended first, look again at once. `transient`: a dependency is away, nobody's run is at fault.
 * `failed`: everything else; counts towards the dead letter.
 */
export type TroubleKind = 'conflict' | 'transient' | 'failed';

/** Thrown by a run-event handler to say what kind of trouble it met. Survives Nest's exception layer, which masks plain errors. */
export class RunEventTrouble extends RpcException {
  constructor(readonly kind: TroubleKind, readonly code: string, message: string) {
    super({ kind, code, message });
  }
}

export interface Trouble { readonly kind: TroubleKind; readonly code: string; readonly message: string }

/** Reads whatever a handler threw; a shape that says nothing is `failed` under its class name. */
export function troubleOf(error: unknown): Trouble {
  const e = (error ?? {}) as { kind?: unknown; code?: unknown; name?: unknown; message?: unknown };
  const kind = e.kind === 'conflict' || e.kind === 'transient' ? e.kind : 'failed';
  const code = typeof e.code === 'string' ? e.code : typeof e.name === 'string' ? e.name : 'UNKNOWN';
  const message = typeof e.message === 'string' ? e.message : String(error);
  return { kind, code: code.slice(0, 80), message: message.slice(0, 500) };
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
