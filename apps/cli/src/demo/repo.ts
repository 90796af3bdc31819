/** The repository that the demo works on: the sample, or a clone of the caller's, which is only read. */
import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { digestOf } from '@n17q/contracts';
import { makeFixtureRepo, type Script } from '@n17q/testing';
import { git } from '@n17q/tools';
import { wordsOf } from '../stack/settings.js';
import { Trouble } from '../trouble.js';
import { fixtureScript, genericScript } from './scenario.js';

export interface DemoRepo {
  readonly path: string;
  readonly goal: string;
  readonly script: Script;
  readonly testCommand: readonly string[];
  /** A digest of what git says of the folder: its commit, branches, and every changed, untracked or ignored file. */
  fingerprint(): Promise<string>;
}

async function fingerprint(path: string): Promise<string> {
  const say = async (args: readonly string[]): Promise<string> => (await git(['--no-optional-locks', ...args], { cwd: path })).toString('utf8');
  return digestOf([await say(['rev-parse', 'HEAD']), await say(['for-each-ref']), await say(['status', '--porcelain=v2', '--branch', '--untracked-files=all', '--ignored', '-z'])]);
}

export async function sampleRepo(dir: string): Promise<DemoRepo> {
  await makeFixtureRepo(dir);
  return { path: dir, goal: 'One test of this repository fails. Find out why, mend it, run the tests, and file a ticket that says what was changed.', script: fixtureScript(dir), testCommand: ['node', '--test'], fingerprint: () => fingerprint(dir) };
}

const FILE_BYTES_MAX = 30_000;

export async function givenRepo(given: string, testCommand: string | undefined): Promise<DemoRepo> {
  if (testCommand === undefined) throw new Trouble('Give --test-cmd CMD beside --repo: it is what runs the tests of that repository.', true);
  const path = resolve(given);
  if (!existsSync(path) || !statSync(path).isDirectory()) throw new Trouble(`There is no folder ${path}: give --repo the path of a git repository.`, true);
  let files: readonly string[];
  let below: string;
  try {
    below = (await git(['rev-parse', '--show-prefix'], { cwd: path })).toString('utf8').trim();
    files = (await git(['--no-optional-locks', 'ls-tree', '-r', '-z', '--name-only', 'HEAD'], { cwd: path })).toString('utf8').split('\0').filter((f) => f !== '');
  } catch {
    throw new Trouble(`${path} is no git repository with a commit: give --repo the path of one.`, true);
  }
  if (below !== '') throw new Trouble(`${path} is a folder inside a git repository: give --repo its top folder, ${resolve(path, ...below.split('/').filter((x) => x !== '').map(() => '..'))}.`, true);
  const first = [...files.filter((f) => /^readme/iu.test(f)), ...files].find((f) => existsSync(join(path, f)) && statSync(join(path, f)).isFile() && statSync(join(path, f)).size < FILE_BYTES_MAX);
  if (first === undefined) throw new Trouble(`${path} has no small file at its last commit to begin with: give --repo another repository.`, true);
  return { path, goal: 'Look around in this repository, leave a note, run its tests, and file a ticket about the note.', script: genericScript(first), testCommand: wordsOf(testCommand), fingerprint: () => fingerprint(path) };
}
