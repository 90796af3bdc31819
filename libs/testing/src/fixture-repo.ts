import { cp, mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { git } from '@n17q/tools';

/** The plain files of the sample coding repository: one test fails because cents are truncated instead of rounded (`src/tax.js`). */
export const FIXTURE_REPO_FILES = fileURLToPath(new URL('../../../test/fixtures/ledger-repo/', import.meta.url));

/** The line with the bug, and the line that mends it. */
export const FIXTURE_BUG = {
  path: 'src/tax.js',
  wrong: 'return Math.trunc((netCents * basisPoints) / 10_000);',
  right: 'return Math.round((netCents * basisPoints) / 10_000);',
} as const;

/** Makes a git repository of the sample in the fresh folder `dir`; the commit is the same on every machine. Returns the commit. */
export async function makeFixtureRepo(dir: string): Promise<string> {
  await mkdir(dir, { recursive: true });
  await cp(FIXTURE_REPO_FILES, dir, { recursive: true });
  const who = { GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.org', GIT_AUTHOR_DATE: '2026-01-05T09:00:00Z', GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.org', GIT_COMMITTER_DATE: '2026-01-05T09:00:00Z' };
  await git(['init', '--quiet', '--initial-branch=main', '--template='], { cwd: dir });
  await git(['add', '--all'], { cwd: dir });
  await git(['commit', '--quiet', '--no-gpg-sign', '-m', 'Invoice totals with tax per line'], { cwd: dir, env: who });
  return (await git(['rev-parse', 'HEAD'], { cwd: dir })).toString().trim();
}
