/**
 * When a permit still stands. The part that needs the database's clock and the tenant's streams is returned as conditions, which the store checks
 * in the append's own transaction.
 *
 * Rows: EFF-7, EFF-10, APP-2, POL-2.
 */
import type { Permit } from './events.js';
import type { EffectId, StreamId } from './ids.js';
import { tenantStream } from './ids.js';
import type { RunState } from './run.js';
import type { Scope } from './scope.js';
import type { TenantRevisions } from './tenant.js';

/** Something that carries authority was appended after the permit was given. */
export const permitStale = (s: RunState, p: Permit): boolean => p.seenRevision < s.authorityRevision;

/** What only the transaction can know. */
export interface Conditions {
  readonly requires: readonly { readonly stream: StreamId; readonly revision: number }[];
  readonly validUntil: number | null;
  readonly scopesFree: readonly { readonly scope: Scope; readonly except: readonly EffectId[] }[];
}
export const NO_CONDITIONS: Conditions = { requires: [], validUntil: null, scopesFree: [] };

export const requiresOf = (t: TenantRevisions, topics: readonly (keyof TenantRevisions)[]): Conditions['requires'] =>
  topics.map((topic) => ({ stream: tenantStream(topic), revision: t[topic] }));

export const both = (a: Conditions, b: Conditions): Conditions => ({
  requires: [...a.requires, ...b.requires.filter((r) => !a.requires.some((x) => x.stream === r.stream && x.revision === r.revision))],
  validUntil: a.validUntil === null ? b.validUntil : b.validUntil === null ? a.validUntil : Math.min(a.validUntil, b.validUntil),
  scopesFree: [...a.scopesFree, ...b.scopesFree],
});
