/** One promise of the store as a check that throws when it is broken. Checks work on tenants and runs of their own, so that they may share a store. */
import assert from 'node:assert/strict';
import type { AppendOutcome, AppendRefusalCode } from '@n17q/contracts';
import type { EventStorePort } from '../store-port.js';

export interface StoreCase {
  /** Rows of the requirements that it shows. */
  readonly rows: readonly string[];
  readonly title: string;
  readonly run: (store: EventStorePort) => Promise<void>;
}
export const storeCase = (rows: string, title: string, run: StoreCase['run']): StoreCase => ({ rows: rows.split(' '), title, run });

export function appended(o: AppendOutcome): AppendOutcome & { readonly kind: 'appended' } {
  assert.equal(o.kind, 'appended', `expected an append to be taken in, got ${JSON.stringify(o)}`);
  return o as AppendOutcome & { readonly kind: 'appended' };
}
export function refusedWith(o: AppendOutcome, code: AppendRefusalCode): { readonly [fact: string]: unknown } {
  assert.equal(o.kind, 'refused', `expected ${code}, got ${JSON.stringify(o)}`);
  const r = o as AppendOutcome & { readonly kind: 'refused' };
  assert.equal(r.code, code);
  return r.facts as { readonly [fact: string]: unknown };
}
