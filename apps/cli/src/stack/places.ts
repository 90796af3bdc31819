/** Where a local stack keeps what it has. All of it under one folder, which `git` ignores. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Trouble } from '../trouble.js';

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

export interface Places {
  readonly data: string;
  readonly secrets: string;
  readonly state: string;
  readonly lock: string;
  readonly seeded: string;
  readonly tokens: string;
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
  secrets: join(data, 'secrets.json'), state: join(data, 'stack.json'), lock: join(data, 'stack.lock'), seeded: join(data, 'seeded.json'), tokens: join(data, 'tokens.json'), demos: join(data, 'demos.json'),
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

export function makePlaces(p: Places): void {
  // the account that Postgres runs under must pass through the folder; it cannot list it
  makeFolder(p.data, 0o711, 'N17Q_DATA_DIR');
  for (const dir of [p.artifacts, p.scratch, p.logs, dirname(p.tokens)]) makeFolder(dir, 0o700, 'N17Q_DATA_DIR');
  makeFolder(p.credentials, 0o700, 'N17Q_CREDENTIALS_DIR');
  makeFolder(p.toolCredentials, 0o700, 'N17Q_TOOL_CREDENTIALS_DIR');
}
