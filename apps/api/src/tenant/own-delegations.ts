/**
 * Whoever publishes a whole roles document gives no more by it than by giving: of others' delegations it holds those that stand there now, or fewer. A copy that
 * was read before one was taken back does not bring it back.
 *
 * Rows: POL-1, SEC-2.
 */
import { digestOf } from '@n17q/contracts';
import type { RolesDocument } from '@n17q/domain';
import { Problem } from '../http/problem.js';

/** Throws NOT_YOURS for a roles document that gives what is another's, or brings back what its giver took back. */
export function requireOwnDelegations(person: string, now: RolesDocument | null, next: RolesDocument): void {
  const standing = new Map((now?.delegations ?? []).map((d) => [d.delegation, digestOf(d)]));
  const strange = next.delegations.find((d) => d.from !== person && standing.get(d.delegation) !== digestOf(d));
  if (strange !== undefined) throw new Problem('NOT_YOURS', `${strange.from} has not given ${strange.delegation}, or has taken it back: read the roles again. Only ${strange.from} can give it (POST /v1/tenant/delegations).`, { path: '/delegations', delegation: strange.delegation });
}
