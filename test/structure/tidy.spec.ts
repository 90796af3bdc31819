/** The tree is tidy, and the check that says so turns red on a planted violation of each of its rules. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
function tidy(folder: string): string[] {
  const r = spawnSync(process.execPath, [join(root, 'scripts/tidy.mjs'), folder], { encoding: 'utf8' });
  if (r.stderr !== '') throw new Error(r.stderr);
  return r.stdout.split('\n').filter((l) => l !== '');
}

let planted: string | undefined;
afterEach(() => { if (planted !== undefined) rmSync(planted, { recursive: true, force: true }); planted = undefined; });
function plant(files: Readonly<Record<string, string>>): string {
  planted = mkdtempSync(join(tmpdir(), 'n17q-tidy-'));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(planted, file)), { recursive: true });
    writeFileSync(join(planted, file), text);
  }
  return planted;
}

// Put together from pieces, so that this file is tidy itself.
const word = (...pieces: string[]): string => pieces.join('');
const cases: readonly { rule: string; file: string; text: string }[] = [
  { rule: 'left-behind', file: 'libs/a/src/a.ts', text: `export {}; // ${word('TO', 'DO')} later\n` },
  { rule: 'left-behind', file: 'docs/a.md', text: `${word('FIX', 'ME')}: this\n` },
  { rule: 'off-or-alone', file: 'libs/a/src/a.spec.ts', text: `${word('it.on', 'ly')}('x', () => {});\n` },
  { rule: 'off-or-alone', file: 'test/a.spec.ts', text: `${word('describe.sk', 'ip')}('x', () => {});\n` },
  { rule: 'off-or-alone', file: 'test/b.spec.ts', text: `${word('x', 'it(')}'x', () => {});\n` },
  { rule: 'mocked', file: 'libs/a/src/b.spec.ts', text: `${word('jest.mo', 'ck(')}'./a.js');\n` },
  { rule: 'prints', file: 'apps/api/src/a.ts', text: `${word('console.lo', 'g(')}1);\n` },
  { rule: 'word', file: 'README.md', text: `See ${word('/wo', 'rk/')}main.\n` },
  { rule: 'word', file: 'libs/a/src/c.ts', text: `// as ${word('iss', 'ue 2')} wants\n` },
  { rule: 'word', file: 'deploy/a.yaml', text: `url: ${word('https://regi', 'stry.')}example/\n` },
  { rule: 'too-long', file: 'libs/a/src/d.ts', text: 'export {};\n'.repeat(401) },
  { rule: 'not-long', file: 'test/structure/long-files.json', text: '{ "libs/a/src/short.ts": "a reason that no longer holds" }\n' },
  { rule: 'dead-link', file: 'docs/b.md', text: 'See [that](nowhere.md).\n' },
  { rule: 'dead-link', file: 'docs/c.md', text: '# One\nSee [that](#two).\n' },
  { rule: 'dead-link', file: 'ARCHITECTURE.md', text: 'The fold stands in `libs/a/src/gone.ts`.\n' },
  { rule: 'lockfile-names-registry', file: 'package-lock.json', text: '{\n"resolved": "https://somewhere/x.tgz"\n}\n' },
];

describe('tidy', () => {
  it('finds nothing in this tree', () => { expect(tidy(root)).toEqual([]); });

  it.each(cases)('is turned red by $rule in $file', ({ rule, file, text }) => {
    expect(tidy(plant({ [file]: text })).map((l) => l.split(': ')[1])).toContain(rule);
  });

  it('lets pass what is allowed: a long file with its reason, a program that prints, a link that leads somewhere', () => {
    expect(tidy(plant({
      'libs/a/src/long.ts': 'export {};\n'.repeat(401),
      'test/structure/long-files.json': '{ "libs/a/src/long.ts": "one table that nobody reads in parts" }\n',
      'apps/cli/src/a.ts': `${word('console.lo', 'g(')}1);\n`,
      'libs/a/bench/a.mjs': `${word('console.lo', 'g(')}1);\n`,
      'docs/a.md': '# A `b` heading\n[here](#a-b-heading) and [there](../README.md#top), [elsewhere](https://example.org) `libs/a/src/long.ts`\n',
      'README.md': '# Top\nA path such as /workspace/x is nobody’s machine.\n',
    }))).toEqual([]);
  });
});
