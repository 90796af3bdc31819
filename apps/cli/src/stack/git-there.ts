import { spawnSync } from 'node:child_process';
import { Trouble } from '../trouble.js';

/** Throws a Trouble where git does not start: workspaces are clones, and their changes are patches. */
export function needGit(): void {
  if (spawnSync('git', ['--version'], { stdio: 'ignore' }).status !== 0) throw new Trouble('git is needed and is not found here: install git and run the command again.');
}
