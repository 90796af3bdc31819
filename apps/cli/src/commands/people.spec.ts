import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addPerson, personTokens } from '../stack/tokens.js';
import { onePerTenant } from './api.js';
import { requireTools } from './delegations.js';
import { addPersonCommand, withPerson } from './people.js';

let dir: string;
beforeAll(() => { dir = mkdtempSync(join(tmpdir(), 'n17q-people-')); });
afterAll(() => { rmSync(dir, { recursive: true, force: true }); });

describe('people of the local tenant', () => {
  it('[SEC-1] have a token each, in a file for its owner alone, and none is lost by the next', () => {
    const file = join(dir, 'people.json');
    const made = [addPerson(file, 'bob', 'local'), addPerson(file, 'eve', 'local')];
    expect(personTokens(file)).toEqual(made);
    expect([new Set(made.map((m) => m.token)).size, statSync(file).mode & 0o077, made.every((m) => m.token.length >= 24)]).toEqual([2, 0, true]);
  });
  it('[POL-1] have the roles that were said last, and change nobody else\'s', () => {
    const d = { delegation: 'd', from: 'ada', to: 'bob', tools: ['*'], until: null };
    expect(withPerson({ people: [{ person: 'operator', roles: ['operator'] }, { person: 'bob', roles: ['x'] }], delegations: [d] }, 'bob', ['operator'])).toEqual({ people: [{ person: 'operator', roles: ['operator'] }, { person: 'bob', roles: ['operator'] }], delegations: [d] });
  });
  it('do not make the command line ask a tenant twice', () => {
    const t = (tenant: string, person: string) => ({ token: person, tenant, person });
    expect(onePerTenant([t('local', 'operator'), t('local', 'bob'), t('demo', 'x')]).map((x) => x.person)).toEqual(['operator', 'x']);
  });
  it('are not added under a name that is none', async () => {
    const out = { json: false, step: () => undefined, answer: () => { throw new Error('it answered'); } };
    await expect(addPersonCommand('a b', { role: ['operator'] }, out)).rejects.toThrow('is no name');
  });
  it('[POL-1] delegate only tools that there are', () => {
    expect(() => { requireTools(['pay', '*'], ['pay']); }).not.toThrow();
    expect(() => { requireTools(['nosuch'], ['pay', 'ship']); }).toThrow('There is no tool nosuch: there are pay, ship; "*" means all.');
  });
});
