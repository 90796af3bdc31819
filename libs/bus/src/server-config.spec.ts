import { describe, expect, it } from '@jest/globals';
import { BUS_USERS } from './names.js';
import { natsConfig } from './server-config.js';
import { passwords } from './spec-kit.js';

describe('the server configuration', () => {
  it('[SVC-4] has one user per service and grants nobody the right to answer wherever a request points', () => {
    const text = natsConfig({ passwords: passwords() });
    for (const user of BUS_USERS) expect(text).toContain(`user: "${user}"`);
    expect(text).not.toMatch(/allow_responses/);
    expect(text.match(/"run\.v1\.>"/g)).toHaveLength(1);
  });

  it.each([['missing', undefined], ['short', 'short'], ['with a quote', 'aaaaaaaaaaaaaaaaaaaa"'], ['that looks like a digest', '$2a$11$aaaaaaaaaaaaaaaaaaaaaa']])(
    '[SVC-4] refuses a password that is %s', (_what, password) => {
      expect(() => natsConfig({ passwords: { ...passwords(), api: password as string } })).toThrow(/bus password of api/);
    });

  it('[SVC-4] refuses a password that two users share', () => {
    const secrets = passwords();
    expect(() => natsConfig({ passwords: { ...secrets, api: secrets['policy-gate'] } })).toThrow(/share a password/);
  });
});
