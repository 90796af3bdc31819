// Data folders of Postgres: make one, decide whether one may be started.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { LocalServerFault } from './local-server-fault.js';
import { findPostgres, serverEnv, type Account, type PostgresBinaries } from './postgres-binaries.js';
import { isAlive } from './process-tree.js';

export const SUPERUSER = 'postgres';

/**
 * Creates a cluster in `dataDir` (which must not exist or be empty): C locale, UTF-8, checksums, scram-sha-256 for
 * every connection. On failure the folder is removed again, so that a second try starts clean.
 */
export function createCluster(binaries: PostgresBinaries, dataDir: string, superuserPassword: string): void {
  if (superuserPassword === '' || /[\r\n]/.test(superuserPassword)) {
    throw new LocalServerFault('START_FAILED', 'The password of the Postgres superuser must be one line and not empty.');
  }
  prepareFolder(dataDir, binaries.account);
  const secrets = mkdtempSync(join(tmpdir(), 'n17q-pw-'));
  const passwordFile = join(secrets, 'password');
  try {
    writeFileSync(passwordFile, `${superuserPassword}\n`, { mode: 0o600 });
    own(passwordFile, binaries.account);
    own(secrets, binaries.account);
    const made = spawnSync(
      binaries.initdb,
      ['-D', dataDir, '-U', SUPERUSER, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`, '--locale=C', '-E', 'UTF8', '--data-checksums'],
      { encoding: 'utf8', cwd: '/', env: serverEnv(), ...binaries.account },
    );
    if (made.status !== 0) throw initFault(dataDir, made.error?.message ?? `${made.stdout}${made.stderr}`);
  } catch (error) {
    rmSync(dataDir, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(secrets, { recursive: true, force: true });
  }
}

function initFault(dataDir: string, text: string): LocalServerFault {
  const lines = text.split('\n').filter((line) => line.trim() !== '').slice(-8);
  if (/no space left on device/i.test(text) || freeBytes(dirname(dataDir)) < 80 * 1024 * 1024) {
    return new LocalServerFault('NO_DISK_SPACE', `Postgres cannot create its data in ${dataDir} because the disk is full: free about 100 MB and start again.`, lines);
  }
  return new LocalServerFault('START_FAILED', `Postgres could not create its data in ${dataDir}; its last lines say why.`, lines);
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Makes the folder, gives it to the account that Postgres runs under, and refuses when that account cannot reach it. */
export function prepareFolder(dataDir: string, account: Account | undefined): void {
  mkdirSync(dataDir, { recursive: true });
  chmodSync(dataDir, 0o700);
  own(dataDir, account);
  if (!canEnter(dataDir, account)) {
    throw new LocalServerFault('DATA_DIR_UNREACHABLE', `The account that Postgres runs under (not root) cannot enter ${dataDir}: choose a folder outside of private ones.`);
  }
}

export function own(path: string, account: Account | undefined): void {
  if (account !== undefined) chownSync(path, account.uid, account.gid);
}

/**
 * `preferred` when Postgres can live there. Root with a private home cannot use a folder below it, since Postgres runs under another
 * account: then a stable folder below /var/lib/n17q, the same one for the same `preferred`. Creates nothing but `preferred`'s parent.
 */
export function reachableDataDir(preferred: string): string {
  const absolute = resolve(preferred);
  mkdirSync(dirname(absolute), { recursive: true });
  if (canEnter(dirname(absolute), findPostgres().account)) return absolute;
  const key = createHash('sha256').update(absolute).digest('hex').slice(0, 16);
  mkdirSync('/var/lib/n17q', { recursive: true, mode: 0o755 });
  return join('/var/lib/n17q', `postgres-${key}`);
}

function canEnter(folder: string, account: Account | undefined): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd -- "$0"', folder], { stdio: 'ignore', cwd: '/', ...account }).status === 0;
}

export function hasCluster(dataDir: string): boolean {
  return existsSync(join(dataDir, 'PG_VERSION'));
}

/** Refuses to open data of another major version, since Postgres would say so only in its log. */
export function checkClusterVersion(binaries: PostgresBinaries, dataDir: string): void {
  const major = readFileSync(join(dataDir, 'PG_VERSION'), 'utf8').trim();
  if (major !== String(Number.parseInt(binaries.version, 10))) {
    throw new LocalServerFault('SERVER_VERSION_UNSUPPORTED', `The data in ${dataDir} belongs to Postgres ${major} and this one is ${binaries.version}: upgrade the data or provide Postgres ${major}.`);
  }
}

/**
 * After a SIGKILL the lock file names a dead process, which Postgres sorts out by itself; but when the process id has been
 * given to a stranger since, Postgres refuses for ever. Only in that case, and only when nothing works in the
 * folder any more, the file is removed: removing it under a living backend would let two servers write the same data.
 */
export function clearForeignLock(dataDir: string): void {
  const lock = join(dataDir, 'postmaster.pid');
  if (!existsSync(lock)) return;
  const pid = Number(readFileSync(lock, 'utf8').split('\n')[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return;
  const worker = processIn(dataDir);
  if (worker === undefined) {
    if (process.platform === 'linux') rmSync(lock, { force: true });
    return;
  }
  if (worker === pid) {
    throw new LocalServerFault('DATA_DIR_IN_USE', `A Postgres with process id ${String(pid)} already works in ${dataDir}: stop it first.`);
  }
}

/** A process whose working folder is the data folder: a postmaster if one lives, else a backend. Linux only; elsewhere undefined. */
function processIn(dataDir: string): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const lockPid = Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const inside = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      return readlinkSync(`/proc/${String(pid)}/cwd`) === resolve(dataDir);
    } catch {
      return false; // ended meanwhile, or belongs to another user and is none of ours
    }
  });
  return inside.includes(lockPid) ? lockPid : inside[0];
}
