import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFixtureRepo } from '@n17q/testing';
import { givenRepo } from './repo.js';

let dir: string;
beforeAll(async () => { dir = realpathSync(mkdtempSync(join(tmpdir(), 'n17q-repo-'))); await makeFixtureRepo(join(dir, 'repo')); });
afterAll(() => { rmSync(dir, { recursive: true, force: true }); });

describe('a repository for the demo', () => {
  it('is named by its top folder', async () => {
    expect((await givenRepo(join(dir, 'repo'), 'npm test')).testCommand).toEqual(['npm', 'test']);
    await expect(givenRepo(join(dir, 'repo', 'src'), 'npm test')).rejects.toMatchObject({ message: `${join(dir, 'repo', 'src')} is a folder inside a git repository: give --repo its top folder, ${join(dir, 'repo')}.`, exitCode: 2 });
    await expect(givenRepo(dir, 'npm test')).rejects.toThrow('is no git repository with a commit');
  });
});
