/** Where a local stack keeps what it has. All of it under one folder, which `git` ignores. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

export interface Places {
  readonly data: string;
  readonly secrets: string;
  readonly state: string;
  readonly lock: string;
  readonly seeded: string;
  /** The test command of the last start. */
  readonly testCommand: string;
  readonly tokens: string;
  /** People whom the operator added, with their tokens. */
  readonly people: string;
  /** The demo's tenants with their tokens, so that its runs can be looked at later. */
  readonly demos: string;
  readonly postgres: string;
  readonly nats: string;
  readonly artifacts: string;
  readonly scratch: string;
  readonly logs: string;
  readonly providers: string;
  readonly credentials: string;
  readonly toolCredentials: string;
}

/** N17Q_DATA_DIR, or `.data` of this clone. Creates nothing. */
export const dataDir = (env: NodeJS.ProcessEnv = process.env): string => resolve(env['N17Q_DATA_DIR'] || join(ROOT, '.data'));

export const placesIn = (data: string, env: NodeJS.ProcessEnv = process.env): Places => ({
  data,
  secrets: join(data, 'secrets.json'), state: join(data, 'stack.json'), lock: join(data, 'stack.lock'), seeded: join(data, 'seeded.json'), testCommand: join(data, 'test-command'), tokens: join(data, 'tokens.json'), people: join(data, 'people.json'), demos: join(data, 'demos.json'),
  postgres: join(data, 'postgres'), nats: join(data, 'nats'), artifacts: join(data, 'artifacts'), scratch: join(data, 'scratch'), logs: join(data, 'logs'),
  providers: resolve(env['N17Q_PROVIDERS_FILE'] || join(data, 'providers.json')),
  credentials: resolve(env['N17Q_CREDENTIALS_DIR'] || join(data, 'credentials', 'providers')),
  toolCredentials: resolve(env['N17Q_TOOL_CREDENTIALS_DIR'] || join(data, 'credentials', 'tools')),
});

function kindOf(path: string): 'folder' | 'other' | 'unseen' {
  try { return statSync(path).isDirectory() ? 'folder' : 'other'; } catch { return 'unseen'; } // why it is not there, the attempt to make it says
}

/**
 * The folder and those above it, as far as they are missing. Node's own recursive mkdir asks for ever where the system answers ENOENT to a folder
 * whose parent exists (such as /proc). Throws a Trouble that names `setting`.
 */
export function makeFolder(dir: string, mode: number, setting: string): void {
  const kind = kindOf(dir);
  if (kind === 'folder') return;
  if (kind === 'other') throw new Trouble(`${dir} is not a folder: choose another one with ${setting}.`, true);
  if (dirname(dir) !== dir) makeFolder(dirname(dir), mode, setting);
  try {
    mkdirSync(dir, { mode });
  } catch (e) {
    const code = (e as NodeJS.ErrnoException).code ?? String(e);
    if (code === 'EEXIST' && kindOf(dir) === 'folder') return; // somebody else was faster
    throw new Trouble(`The folder ${dir} cannot be made (${code}): choose a place where you may write with ${setting}.`, true);
  }
}

const IGNORED = '# Data and secrets of a stack: nothing of it is a source.\n*\n';
/** What people and the first start put into it before there is anything else. `lost+found`: the root of a file system of its own. */
const ALSO_OURS = ['cache', 'demo', 'demo-stack', 'demo-stack-unfinished', 'lost+found', '.DS_Store'];
const DEFAULT = join(ROOT, '.data'); // of the clone alone: tests and benchmarks keep things there too

/** The folder of a stack's data, made if need be, which git ignores. Throws a Trouble for one that holds something else: secrets would come to lie among it. */
export function claimFolder(data: string): string {
  // the account that Postgres runs under must pass through the folder; it cannot list it
  makeFolder(data, 0o711, 'N17Q_DATA_DIR');
  const ignore = join(data, '.gitignore');
  if (existsSync(join(data, '.git'))) throw new Trouble(`${data} is a git repository, and data and secrets would come to lie among its sources: choose a folder of its own with N17Q_DATA_DIR.`, true);
  const entries = readdirSync(data);
  const p = placesIn(data, {});
  const own = new Set([...Object.values(p).map((path) => (dirname(path) === data ? basename(path) : basename(dirname(path)))), ...ALSO_OURS]);
  const foreign = data === DEFAULT || existsSync(p.secrets) ? undefined : entries.find((e) => !own.has(e) && !(e === '.gitignore' && readFileSync(ignore, 'utf8') === IGNORED));
  if (foreign !== undefined) throw new Trouble(`${data} holds something that is not n17q's (${line(foreign, 60)}): choose a new or empty folder with N17Q_DATA_DIR.`, true);
  if (!existsSync(ignore)) writeFileSync(ignore, IGNORED);
  return data;
}

export function makePlaces(p: Places): void {
  claimFolder(p.data);
  for (const dir of [p.artifacts, p.scratch, p.logs, dirname(p.tokens)]) makeFolder(dir, 0o700, 'N17Q_DATA_DIR');
  makeFolder(p.credentials, 0o700, 'N17Q_CREDENTIALS_DIR');
  makeFolder(p.toolCredentials, 0o700, 'N17Q_TOOL_CREDENTIALS_DIR');
}
