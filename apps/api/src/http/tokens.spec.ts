import { describe, expect, it } from '@jest/globals';
import { TOKEN_CHARS_MIN, Tokens } from './tokens.js';

const token = 'a'.repeat(TOKEN_CHARS_MIN);
const entry = { token, tenant: 'acme', person: 'ada' };

describe('tokens', () => {
  it('[SEC-1] gives tenant and person of exactly this token', () => {
    const tokens = new Tokens([entry, { token: 'b'.repeat(30), tenant: 'globex', person: 'eve' }]);
    expect(tokens.callerOf(`Bearer ${token}`)).toEqual({ tenant: 'acme', person: 'ada' });
    expect(tokens.callerOf(`bearer ${'b'.repeat(30)}`)).toEqual({ tenant: 'globex', person: 'eve' });
    for (const wrong of [undefined, '', 'Bearer', 'Bearer ', token, `Bearer ${token}a`, `Bearer ${token.slice(1)}`, `Bearer ${token} `, `Basic ${token}`]) expect(tokens.callerOf(wrong)).toBeUndefined();
    expect(tokens.tenants).toEqual(['acme', 'globex']);
  });

  it('[SEC-1] has no default and takes no weak, shared or malformed list; it never quotes a token', () => {
    for (const list of [[], {}, null, [{ ...entry, token: 'short' }], [entry, { ...entry, person: 'bob' }], [{ ...entry, tenant: 'Not A Tenant' }], [{ ...entry, person: '' }], [{ ...entry, admin: true }]]) {
      let said = '';
      try { new Tokens(list); } catch (e) { said = (e as Error).message; }
      expect(said).not.toBe('');
      expect(said).not.toContain(token);
    }
  });
});
