import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { credentialsFromEnv, credentialsFromFolder, type CredentialSource } from './credentials.js';

const reveal = async (source: CredentialSource, account: string): Promise<string> => {
  const found = await source.credential(account);
  return found.kind === 'found' ? found.credential.reveal() : found.code;
};

describe('credentials', () => {
  let folder = '';
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'n17q-credentials-')); });
  afterEach(async () => { await rm(folder, { recursive: true, force: true }); });

  it('[CON-2] reads the file of the account at each call, so that removal and change are seen', async () => {
    const source = credentialsFromFolder(folder);
    await writeFile(join(folder, 'team.a'), 'one\n');
    expect(await reveal(source, 'team.a')).toBe('one');
    await writeFile(join(folder, 'team.a'), 'two');
    expect(await reveal(source, 'team.a')).toBe('two');
    await rm(join(folder, 'team.a'));
    expect(await reveal(source, 'team.a')).toBe('ACCOUNT_UNKNOWN');
  });
  it('names what is wrong with an account or a value', async () => {
    const source = credentialsFromFolder(join(folder, 'in'));
    await mkdir(join(folder, 'in', 'dir'), { recursive: true });
    await writeFile(join(folder, 'outside'), 'secret');
    for (const name of ['../outside', '..', '.', '', 'A', 'a/b', 'a\0']) expect(await reveal(source, name)).toBe('ACCOUNT_NAME_INVALID');
    for (const [name, value] of [['empty', ''], ['two-lines', 'a\nb'], ['long', 'x'.repeat(9000)]] as const) {
      await writeFile(join(folder, 'in', name), value);
      expect(await reveal(source, name)).toBe('CREDENTIAL_MALFORMED');
    }
    expect(await reveal(source, 'dir')).toBe('CREDENTIAL_MALFORMED');
  });
  it('reads the environment under a prefix, for names that cannot collide', async () => {
    const source = credentialsFromEnv({ KEY_TEAM_A: 'one' }, 'KEY_');
    expect(await reveal(source, 'team-a')).toBe('one');
    expect(await reveal(source, 'team_a')).toBe('ACCOUNT_NAME_INVALID');
    expect(await reveal(source, 'b')).toBe('ACCOUNT_UNKNOWN');
  });
  it('[CON-1] shows no value in text, JSON or inspection', async () => {
    const found = await credentialsFromEnv({ KEY_A: 'hidden-value' }, 'KEY_').credential('a');
    expect(`${JSON.stringify({ found })} ${inspect(found, { depth: 9, showHidden: true })} ${String((found as { credential: unknown }).credential)}`).not.toContain('hidden-value');
  });
});
