/**
 * The rules of .dependency-cruiser.cjs can fail: a small workspace with the projects of this one and a planted breach of every
 * rule, on which the tool must name the rule; and the same workspace without them, on which it must stay quiet.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const projects = ['libs', 'apps'].flatMap((kind) => readdirSync(join(root, kind)).map((name) => `${kind}/${name}`)).filter((p) => existsSync(join(root, p, 'package.json')));

interface Plant { readonly rule: string; readonly file: string; readonly text: string }
const plants: readonly Plant[] = [
  { rule: 'arrows-contracts', file: 'libs/contracts/src/planted.ts', text: `import '@n17q/platform';` },
  { rule: 'arrows-platform', file: 'libs/platform/src/planted.ts', text: `import '@n17q/bus';` },
  { rule: 'arrows-bus', file: 'libs/bus/src/planted.ts', text: `export const late = (): Promise<unknown> => import('@n17q/event-log');` },
  { rule: 'arrows-artifacts', file: 'libs/artifacts/src/planted.ts', text: `export type { Anything } from '@n17q/bus';` },
  { rule: 'arrows-event-log', file: 'libs/event-log/src/planted.ts', text: `import '@n17q/providers';` },
  { rule: 'arrows-reactor', file: 'libs/reactor/src/planted.ts', text: `import '@n17q/tools';` },
  { rule: 'arrows-providers', file: 'libs/providers/src/planted.ts', text: `import type { Anything } from '@n17q/tools'; export type T = Anything;` },
  { rule: 'arrows-tools', file: 'libs/tools/src/planted.ts', text: `import '@n17q/event-log';` },
  { rule: 'arrows-rules', file: 'libs/rules/src/planted.ts', text: `import '@n17q/event-log';` },
  { rule: 'arrows-client', file: 'libs/client/src/planted.ts', text: `import '@n17q/bus';` },
  { rule: 'arrows-domain', file: 'libs/domain/src/planted.ts', text: `import '@n17q/contracts';` },
  { rule: 'domain-is-pure', file: 'libs/domain/src/built-in.ts', text: `import { randomUUID } from 'node:crypto'; export const id = randomUUID();` },
  { rule: 'domain-is-pure', file: 'libs/domain/src/package.ts', text: `import { z } from 'zod'; export const s = z.string();` },
  { rule: 'app-never-imports-app', file: 'apps/api/src/planted.ts', text: `import '@n17q/policy-gate';` },
  { rule: 'lib-never-imports-app', file: 'libs/testing/src/planted.spec.ts', text: `import '@n17q/event-store';` },
  { rule: 'no-deep-import', file: 'apps/policy-gate/src/planted.ts', text: `import '../../../libs/event-log/src/index.js';` },
  { rule: 'no-deep-import-from-tests', file: 'test/planted.spec.ts', text: `import '../libs/bus/src/index.js';` },
  { rule: 'resolves', file: 'apps/policy-gate/src/deep-by-name.ts', text: `import '@n17q/event-log/src/index.js';` },
  { rule: 'test-kit-stays-in-tests', file: 'apps/event-store/src/planted.ts', text: `import '@n17q/testing';` },
  { rule: 'nest-only-in-shells', file: 'libs/tools/src/framework.ts', text: `import { Injectable } from '@nestjs/common'; export const i = Injectable;` },
  { rule: 'no-cycle', file: 'libs/bus/src/one.ts', text: `import { two } from './two.js'; export const one = (): unknown => two;` },
];
const allowed: readonly Omit<Plant, 'rule'>[] = [
  { file: 'libs/bus/src/two.ts', text: `export const two = 2;` },
  { file: 'libs/domain/src/fine.spec.ts', text: `import '@jest/globals'; import 'node:assert';` },
  { file: 'libs/bus/src/fine.int.spec.ts', text: `import '@n17q/testing';` },
  { file: 'libs/platform/src/fine.ts', text: `import '@nestjs/common'; import '@n17q/contracts'; import '@n17q/domain';` },
  { file: 'apps/cli/src/fine.ts', text: `import '@n17q/testing'; import '@n17q/client';` },
];

let workspace = '';
const write = (file: string, text: string): void => { mkdirSync(dirname(join(workspace, file)), { recursive: true }); writeFileSync(join(workspace, file), `${text}\n`); };

beforeAll(() => {
  workspace = mkdtempSync(join(tmpdir(), 'n17q-boundaries-'));
  copyFileSync(join(root, '.dependency-cruiser.cjs'), join(workspace, '.dependency-cruiser.cjs'));
  for (const scope of ['node_modules/@n17q', 'node_modules/@nestjs', 'node_modules/@jest']) mkdirSync(join(workspace, scope), { recursive: true });
  for (const name of ['@nestjs/common', '@jest/globals', 'zod']) symlinkSync(join(root, 'node_modules', name), join(workspace, 'node_modules', name));
  for (const p of projects) {
    write(`${p}/src/index.ts`, 'export {};');
    write(`${p}/dist/index.js`, 'export {};');
    copyFileSync(join(root, p, 'package.json'), join(workspace, p, 'package.json'));
    symlinkSync(join(workspace, p), join(workspace, 'node_modules/@n17q', p.slice(p.indexOf('/') + 1)));
  }
  for (const a of allowed) write(a.file, a.text);
});
afterAll(() => { rmSync(workspace, { recursive: true, force: true }); });

interface Violation { readonly from: string; readonly rule: { readonly name: string } }
function cruise(): Violation[] {
  const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const r = spawnSync(process.execPath, [program, '--config', '.dependency-cruiser.cjs', '-T', 'json', 'libs/*/src', 'apps/*/src', 'test'], { cwd: workspace, encoding: 'utf8', maxBuffer: 1 << 26 });
  return (JSON.parse(r.stdout) as { summary: { violations: Violation[] } }).summary.violations;
}

describe('boundaries', () => {
  it('stays quiet on a workspace that keeps the rules', () => {
    write('test/fine.spec.ts', `import '@n17q/testing';`);
    expect(cruise()).toEqual([]);
  });

  describe('with every rule broken once', () => {
    let violations: Violation[] = [];
    beforeAll(() => {
      for (const p of plants) write(p.file, p.text);
      write('libs/bus/src/two.ts', `import { one } from './one.js'; export const two = (): unknown => one;`);
      violations = cruise();
    });
    it.each(plants)('names $rule for $file', ({ rule, file }) => {
      expect(violations.filter((v) => v.from === file).map((v) => v.rule.name)).toContain(rule);
    });
    it('blames nothing that is allowed', () => {
      const fine = allowed.map((a) => a.file).filter((f) => f !== 'libs/bus/src/two.ts');
      expect(violations.filter((v) => fine.includes(v.from))).toEqual([]);
    });
  });

  it('has a planted breach for every rule, and arrows for every library but the test kit', () => {
    const config = createRequire(import.meta.url)(join(root, '.dependency-cruiser.cjs')) as { forbidden: { name: string }[] };
    const names = config.forbidden.map((f) => f.name);
    expect([...new Set(plants.map((p) => p.rule))].sort()).toEqual(names.sort());
    const libraries = projects.filter((p) => p.startsWith('libs/') && p !== 'libs/testing');
    expect(names.filter((n) => n.startsWith('arrows-')).sort()).toEqual(libraries.map((p) => p.replace('libs/', 'arrows-')).sort());
  });
});
