// Where nats-server comes from. Versions below 2.10 ignore settings that we rely on without saying so, hence the floor.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LocalServerFault } from './local-server-fault.js';

export interface NatsBinary { readonly path: string; readonly version: string }

const MAJOR_MIN = 2;
const MINOR_MIN = 10;
const WAYS = 'run ./n17q up, which fetches it, set N17Q_NATS_SERVER to a nats-server of version 2.10 or newer, or set N17Q_NATS_URL to a running server';

/**
 * `explicit`, else N17Q_NATS_SERVER, else the toolchain folder of the repository, PATH and the system's folders. A binary that
 * was named is never passed over for another one: too old or missing is then a fault.
 */
export function findNatsServer(explicit = process.env['N17Q_NATS_SERVER']): NatsBinary {
  if (explicit !== undefined && explicit !== '') {
    const version = versionOf(explicit);
    if (version === undefined) throw new LocalServerFault('SERVER_BINARY_MISSING', `${explicit} is not a nats-server that starts here: ${WAYS}.`);
    if (!supported(version)) throw tooOld([`${explicit} is ${version}`]);
    return { path: explicit, version };
  }
  const refused: string[] = [];
  for (const path of candidates()) {
    if (!existsSync(path)) continue;
    const version = versionOf(path);
    if (version === undefined) continue;
    if (supported(version)) return { path, version };
    refused.push(`${path} is ${version}`);
  }
  if (refused.length > 0) throw tooOld(refused);
  throw new LocalServerFault('SERVER_BINARY_MISSING', `No nats-server was found: ${WAYS}.`);
}

function candidates(): string[] {
  const paths: string[] = [];
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    paths.push(join(folder, '.toolchain', 'bin', 'nats-server'));
    if (folder === dirname(folder)) break;
  }
  const onPath = (process.env['PATH'] ?? '').split(':').filter((entry) => entry !== '');
  return [...paths, ...[...onPath, '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'].map((folder) => join(folder, 'nats-server'))];
}

function versionOf(path: string): string | undefined {
  const asked = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  return /v(\d+\.\d+\.\d+\S*)/.exec(asked.stdout ?? '')?.[1];
}

function supported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MAJOR_MIN || (major === MAJOR_MIN && minor >= MINOR_MIN);
}

function tooOld(found: readonly string[]): LocalServerFault {
  return new LocalServerFault('SERVER_VERSION_UNSUPPORTED', `nats-server 2.10 or newer is needed (${found.join('; ')}): ${WAYS}.`);
}
