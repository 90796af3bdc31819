/**
 * Who may act for whom. A delegation is a part of the roles document, changed at its revision, so that every permit that rests on the old one is judged again.
 *
 * D1. Nobody gives what is another's: `from` is the caller, always. Only whoever gave it takes it back.
 *
 * Rows: POL-1, SEC-2.
 */
import { v7 as uuidv7 } from 'uuid';
import type { http } from '@n17q/contracts';
import { delegationOf, type Delegation, type RolesDocument } from '@n17q/domain';
import type { Asking } from '../http/caller.js';
import { Problem } from '../http/problem.js';
import { idFrom } from '../requests/run-log.js';
import type { Answer } from '../requests/run-requests.js';
import type { TenantDocuments } from './documents.js';

export const DELEGATIONS_MAX = 2000;
const NONE: RolesDocument = { people: [], delegations: [] };

export class Delegations {
  constructor(private readonly documents: TenantDocuments, private readonly now: () => number) {}

  async list(tenant: string): Promise<http.DelegationsView> {
    const { revision, roles } = await this.roles(tenant);
    const now = this.now();
    return { revision, delegations: roles.delegations.map((d) => ({ delegation: d.delegation, from: d.from, to: d.to, tools: [...d.tools], until: d.until === null ? null : new Date(d.until).toISOString(), stands: (d.until ?? Infinity) > now })) };
  }

  async give(a: Asking, d: http.NewDelegation): Promise<Answer & { readonly delegation: string }> {
    if (d.to === a.person) throw new Problem('MALFORMED', 'You act for yourself without a delegation: name somebody else.', { path: '/to' });
    const until = d.until === undefined ? null : Date.parse(d.until);
    const delegation = `delegation-${a.key === null ? uuidv7() : idFrom('delegation', a.tenant, a.person, a.key)}`;
    const given: Delegation = { delegation, from: a.person, to: d.to, tools: d.tools, until }; // keeps D1
    const answer = await this.documents.changeRoles(a, (now) => {
      if (until !== null && until <= this.now()) throw new Problem('MALFORMED', 'That time has passed: name one that is to come.', { path: '/until' });
      if (now.delegations.length >= DELEGATIONS_MAX) throw new Problem('REFUSED', `There are ${DELEGATIONS_MAX} delegations already: take back some that nobody needs.`);
      return { people: now.people, delegations: [...now.delegations, given] };
    });
    return { ...answer, delegation };
  }

  takeBack(a: Asking, delegation: string): Promise<Answer> {
    return this.documents.changeRoles({ ...a, key: null }, (now) => {
      const d = now.delegations.find((x) => x.delegation === delegation);
      if (d === undefined) throw new Problem('NOT_FOUND', 'There is no such delegation: it was taken back already, or never given.');
      if (d.from !== a.person) throw new Problem('NOT_YOURS', 'Only whoever gave a delegation can take it back.'); // keeps D1
      return { people: now.people, delegations: now.delegations.filter((x) => x !== d) };
    });
  }

  /** Throws DELEGATION_ABSENT unless the caller may act for this person now, with whatever tool. Each call is judged again when it is made. */
  async require(a: Asking, person: string): Promise<void> {
    const { roles } = await this.roles(a.tenant);
    if (delegationOf(roles, person, a.person, null, this.now()) !== undefined) return;
    throw new Problem('DELEGATION_ABSENT', `No delegation from ${person} to you stands now: ${person} can give one (POST /v1/tenant/delegations, or ./n17q delegate), then ask again.`, { path: '/onBehalfOf' });
  }

  private async roles(tenant: string): Promise<{ readonly revision: number; readonly roles: RolesDocument }> {
    const { revision, document } = await this.documents.show(tenant, 'roles');
    return { revision, roles: document === null ? NONE : (document as unknown as RolesDocument) };
  }
}
