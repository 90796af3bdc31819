// An initialised Postgres data folder that suites copy instead of running initdb each.
//
// 1. The shared folder appears in one step, complete, so that suites that start together never see half of one.
// 2. A folder at that place that somebody else owns is never used.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCluster, findPostgres, isOurs, publish } from '@n17q/platform';

/** Puts a ready cluster at `dataDir` and returns the superuser's password. Copies share their system identifier. */
export function copyTemplateCluster(dataDir: string): string {
  const template = findTemplate();
  execFileSync('cp', ['-a', join(template, 'data'), dataDir]);
  return readFileSync(join(template, 'password'), 'utf8');
}

function findTemplate(): string {
  const binaries = findPostgres();
  const uid = process.getuid?.() ?? 0;
  const shared = join(tmpdir(), `n17q-template-${binaries.version}-${String(uid)}-${String(binaries.account?.uid ?? uid)}`);
  if (isOurs(shared, uid)) return shared;
  const fresh = mkdtempSync(join(tmpdir(), 'n17q-template-'));
  chmodSync(fresh, 0o711);
  const password = randomBytes(18).toString('base64url');
  createCluster(binaries, join(fresh, 'data'), password);
  writeFileSync(join(fresh, 'password'), password, { mode: 0o600 });
  return publish(fresh, shared, uid);
}
