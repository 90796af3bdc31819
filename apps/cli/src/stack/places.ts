/** Where a local stack keeps what it has. All of it under one folder, which `git` ignores. */
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

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

export function makePlaces(p: Places): void {
  // the account that Postgres runs under must pass through the folder; it cannot list it
  mkdirSync(p.data, { recursive: true, mode: 0o711 });
  for (const dir of [p.artifacts, p.scratch, p.logs, p.credentials, p.toolCredentials, dirname(p.tokens)]) mkdirSync(dir, { recursive: true, mode: 0o700 });
}
