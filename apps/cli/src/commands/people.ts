/**
 * Another person of the local tenant: a role, and a token of their own.
 *
 * P1. A token is printed once, when it is made; it is kept in a file that only the owner of the data folder reads.
 *
 * Rows: SEC-1, POL-1.
 */
import type { RolesDocument } from '@n17q/domain';
import { dataDir, placesIn } from '../stack/places.js';
import { LOCAL_TENANT } from '../stack/seed.js';
import { addPerson, personTokens } from '../stack/tokens.js';
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { isRemote, ownReach, said } from './api.js';
import type { Output } from './output.js';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$/u;

/** The roles with this person under these roles, in place of those that they had. */
export function withPerson(now: RolesDocument, person: string, roles: readonly string[]): RolesDocument {
  return { people: [...now.people.filter((p) => p.person !== person), { person, roles: [...roles] }], delegations: now.delegations };
}

export async function addPersonCommand(person: string, o: { readonly role: readonly string[] }, out: Output): Promise<void> {
  if (isRemote()) throw new Trouble('People are added where the server runs: its operator gives them their tokens.', true);
  for (const name of [person, ...o.role]) if (!NAME.test(name)) throw new Trouble(`"${line(name, 80)}" is no name: letters, digits and . _ @ -, at most 63, the first a letter or digit.`, true);
  const places = placesIn(dataDir());
  if (person === 'operator' || personTokens(places.people).some((p) => p.person === person)) throw new Trouble(`${person} is there already and has a token: choose another name.`, true);
  const { client } = ownReach();
  const published = await said(async () => {
    const now = await client.document('roles');
    return client.publish('roles', withPerson(now.document ?? { people: [], delegations: [] }, person, o.role), { ifRevision: now.revision });
  });
  const { token } = addPerson(places.people, person, LOCAL_TENANT);
  out.answer({ person, roles: o.role, token, file: places.people, revision: published.revision }, () => [
    `${person} is a person of the local tenant now, as ${o.role.join(', ')}. The token is shown this once, and kept in ${places.people}:`,
    `  ${token}`,
    'The API knows it from its next start on: ./n17q down, then ./n17q up. Whoever has it sets N17Q_API_URL (./n17q status names the address) and N17Q_API_TOKEN.',
  ].join('\n'));
}
