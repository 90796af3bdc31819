/** Trouble with the store. `mayHaveActed` is false only when it is certain that nothing was taken in. */
export const STORE_FAULTS = [
  'SCHEMA_MISSING', 'SCHEMA_OLD', 'FORMAT_UNKNOWN', 'UNREACHABLE', 'OUTCOME_UNKNOWN', 'APPEND_FAILED', 'CHAIN_BROKEN', 'CLOSED', 'NOT_READABLE', 'LEASE_LOST', 'BAD_ANSWER', 'CONFLICTS',
] as const;
export type StoreFaultCode = (typeof STORE_FAULTS)[number];

export class StoreFault extends Error {
  override readonly name = 'StoreFault';
  constructor(readonly code: StoreFaultCode, message: string, readonly mayHaveActed: boolean, options?: ErrorOptions) {
    super(message, options);
  }
}
