/**
 * The test command can fail: a small workspace with the real scripts in it, made green once, then broken in every way that a whole run
 * must notice; and the judgement of rows, case by case.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
let workspace = '';
const write = (file: string, text: string): void => { mkdirSync(dirname(join(workspace, file)), { recursive: true }); writeFileSync(join(workspace, file), text); };

const NUMBER = `export const limit = 3;\nexport const fits = (n: number): boolean => n <= limit;\n`;
const SPEC = `import { expect, it } from '@jest/globals';
import { fits } from './number.js';
it('[EFF-1] lets what fits pass', () => { expect(fits(3)).toBe(true); });
it('[EFF-2] stops what does not fit', () => { expect(fits(4)).toBe(false); });
`;
const GOOD_MUTANT = { row: 'EFF-1', file: 'libs/domain/src/number.ts', find: 'n <= limit', replace: 'n < limit', spec: 'libs/domain/src/number.spec.ts' };

beforeAll(() => {
  workspace = mkdtempSync(join(tmpdir(), 'n17q-test-command-'));
  for (const f of ['scripts', 'jest.config.mjs', '.dependency-cruiser.cjs', '.oxlintrc.json', 'tsconfig.base.json', 'tsconfig.spec.json', 'package.json']) cpSync(join(root, f), join(workspace, f), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(workspace, 'node_modules'));
  write('tsconfig.json', '{ "files": [], "references": [{ "path": "libs/domain" }] }');
  cpSync(join(root, 'libs/domain/tsconfig.json'), join(workspace, 'libs/domain/tsconfig.json'));
  cpSync(join(root, 'libs/domain/package.json'), join(workspace, 'libs/domain/package.json'));
  mkdirSync(join(workspace, 'apps/none/src'), { recursive: true });
  write('libs/domain/src/index.ts', `export { fits } from './number.js';\n`);
  write('libs/domain/src/number.ts', NUMBER);
  write('libs/domain/src/number.spec.ts', SPEC);
  write('docs/requirements.md', '| row | promise |\n|---|---|\n| EFF-1 | One. |\n| EFF-2 | Two. |\n| EFF-3 | Three. |\n');
  write('test/rows.json', '{ "EFF-1": "domain", "EFF-2": "real", "EFF-3": "structure" }');
  write('test/mutants.json', JSON.stringify([GOOD_MUTANT]));
  write('test/whole.spec.ts', `import { expect, it } from '@jest/globals';\nit('adds', () => { expect(1 + 1).toBe(2); });\n`);
});
afterAll(() => { rmSync(workspace, { recursive: true, force: true }); });

interface Ended { readonly code: number | null; readonly last: string; readonly out: string }
function run(...args: string[]): Ended {
  const r = spawnSync(process.execPath, ['scripts/test.mjs', ...args], { cwd: workspace, encoding: 'utf8', input: '' });
  const out = r.stdout.trimEnd();
  return { code: r.status, last: out.split('\n').at(-1) ?? '', out };
}

describe('the test command', () => {
  it('writes the page on request, is then green, and ends with the count', () => {
    const before = run();
    expect(before.code).toBe(1);
    expect(before.out).toContain('test/traceability.md says something else than this run: run ./n17q test --update-traceability');
    const written = run('--update-traceability');
    // build, types, lint, boundaries, three tests, one mutant, the page
    expect(written).toMatchObject({ code: 0, last: '9 passed, 0 failed' });
    const page = readFileSync(join(workspace, 'test/traceability.md'), 'utf8');
    expect(page).toContain('| EFF-1 | libs/domain/src/number.spec.ts: lets what fits pass (1 test); seen red by mutant | kept |');
    expect(page).toContain('| EFF-2 | libs/domain/src/number.spec.ts: stops what does not fit (1 test); no test at its level (real); never seen red | claimed |');
    expect(page).toContain('| EFF-3 |  | open |');
  }, 120_000);

  it('runs a part without looking at the page', () => {
    const page = readFileSync(join(workspace, 'test/traceability.md'), 'utf8');
    write('test/traceability.md', 'something else');
    expect(run('--', 'libs/domain')).toMatchObject({ code: 0, last: '3 passed, 0 failed' });
    expect(readFileSync(join(workspace, 'test/traceability.md'), 'utf8')).toBe('something else');
    write('test/traceability.md', page);
  }, 60_000);

  it('counts a failed, a skipped and an unloadable test, breaches of types, lint and arrows, and odd mutants and titles', () => {
    const off = ['it.sk', 'ip'].join('');
    write('libs/domain/src/red.spec.ts', `import { expect, it } from '@jest/globals';\nit('fails', () => { expect(1).toBe(2); });\n${off}('is off', () => { expect(1).toBe(1); });\nit('[EFF-77] names nothing', () => { expect(1).toBe(1); });\n`);
    write('libs/domain/src/broken.spec.ts', `import './gone.js';\n`);
    write('libs/domain/src/lint.ts', `import { sep } from 'node:path';\nexport async function go(): Promise<void> { await Promise.resolve(sep); }\nexport function start(): void { go(); }\n`);
    const survivor = { ...GOOD_MUTANT, find: 'limit = 3', replace: 'limit = 3.5' };
    const unnamed = { ...GOOD_MUTANT, row: 'EFF-3' };
    const unloadable = { ...GOOD_MUTANT, find: 'export const fits', replace: 'const fits' };
    write('test/mutants.json', JSON.stringify([GOOD_MUTANT, survivor, unnamed, { ...GOOD_MUTANT, find: 'not there' }, unloadable]));
    const e = run('--update-traceability');
    expect(e.code).toBe(1);
    for (const what of [
      'types of the specs', 'lint', 'boundaries', 'libs/domain/src/red.spec.ts: fails', 'red.spec.ts: is off: was not run (pending)', 'libs/domain/src/broken.spec.ts: could not be loaded',
      'names EFF-77: which docs/requirements.md does not list', 'mutant 1 of EFF-1 in libs/domain/src/number.ts: survived', 'mutant 2 of EFF-3 in libs/domain/src/number.ts: turned tests of',
      'mutant 3 of EFF-1 in libs/domain/src/number.ts: is stale', 'mutant 4 of EFF-1 in libs/domain/src/number.ts: makes',
      'test/traceability.md not written',
    ]) expect(e.out.slice(e.out.indexOf('Failed:'))).toContain(what);
    expect(e.last).toMatch(/^\d+ passed, 12 failed$/);
    for (const f of ['red.spec.ts', 'broken.spec.ts', 'lint.ts']) rmSync(join(workspace, 'libs/domain/src', f));
    write('test/mutants.json', JSON.stringify([GOOD_MUTANT]));
  }, 180_000);

  it('fails when no test ran, when the build fails, and when a row has no level', () => {
    write('test/rows.json', '{ "EFF-1": "domain", "EFF-2": "real" }');
    for (const f of ['libs/domain/src/number.spec.ts', 'test/whole.spec.ts']) rmSync(join(workspace, f));
    const e = run();
    expect(e.code).toBe(1);
    expect(e.out).toContain('no test ran');
    expect(e.out).toContain('without a level: EFF-3');
    write('libs/domain/src/number.ts', 'export const fits: number = "three";\n');
    expect(run()).toMatchObject({ code: 1, last: '0 passed, 1 failed' });
  }, 120_000);

  it('stops a Jest that does not exit, and says so', () => {
    write('libs/domain/src/number.ts', NUMBER);
    write('libs/domain/src/open.spec.ts', `import { it } from '@jest/globals';\nimport { createServer } from 'node:net';\nit('leaves a server open', () => { createServer().listen(0, '127.0.0.1'); });\n`);
    const text = readFileSync(join(workspace, 'scripts/jest-run.mjs'), 'utf8');
    write('scripts/jest-run.mjs', text.replace('EXIT_GRACE_MS = 20_000', 'EXIT_GRACE_MS = 500'));
    const e = run('--', '--runInBand', 'open.spec');
    expect(e).toMatchObject({ code: 1, last: '2 passed, 1 failed' });
    expect(e.out).toContain('did not exit after its last test');
  }, 60_000);
});

interface Traced { readonly text: string; readonly unknown: readonly string[] }
function traced(tests: readonly { file: string; title: string; status?: string }[], killed: readonly string[] = []): Traced {
  const rows = [{ id: 'EFF-1', levels: ['real'] }, { id: 'CTX-5', levels: ['domain'] }, { id: 'CON-6', levels: ['structure'] }];
  const program = `import { trace } from ${JSON.stringify(join(root, 'scripts/traceability.mjs'))};
    process.stdout.write(JSON.stringify(trace(${JSON.stringify(rows)}, ${JSON.stringify(tests.map((t) => ({ status: 'passed', ...t })))}, ${JSON.stringify(killed)})));`;
  const r = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  return JSON.parse(r.stdout) as Traced;
}
const state = (t: Traced, row: string): string => new RegExp(`^\\| ${row} \\|.*\\| (\\w+) \\|$`, 'm').exec(t.text)?.[1] ?? 'no line';

describe('the judgement of a row', () => {
  const unit = { file: 'libs/a/src/a.spec.ts', title: '[EFF-1, CTX-5] holds' };
  const real = { file: 'libs/a/src/a.int.spec.ts', title: 'a > [EFF-1] holds' };
  const saboteur = { file: 'libs/a/src/a.spec.ts', title: '[saboteur EFF-1] is caught' };
  it('keeps a row with a test at its level and a saboteur, a planted violation or a mutant', () => {
    expect(state(traced([real, saboteur]), 'EFF-1')).toBe('kept');
    expect(state(traced([real], ['EFF-1']), 'EFF-1')).toBe('kept');
    expect(state(traced([unit], ['CTX-5']), 'CTX-5')).toBe('kept');
    expect(state(traced([{ file: 'test/structure/a.spec.ts', title: '[CON-6] is small' }, { file: 'test/structure/a.spec.ts', title: '[planted CON-6] is found' }]), 'CON-6')).toBe('kept');
  });
  it('only calls it claimed without evidence of red, or at too low a level', () => {
    expect(state(traced([real]), 'EFF-1')).toBe('claimed');
    expect(state(traced([unit, saboteur]), 'EFF-1')).toBe('claimed');
    expect(state(traced([{ ...real, file: 'test/simulation/a.spec.ts' }, saboteur]), 'EFF-1')).toBe('claimed');
  });
  it('leaves it open when its tests failed, or when there is nothing but a saboteur', () => {
    expect(state(traced([{ ...real, status: 'failed' }]), 'EFF-1')).toBe('open');
    expect(state(traced([{ ...saboteur, title: '[saboteur EFF-1] catches > [EFF-1] holds' }]), 'EFF-1')).toBe('open');
  });
  it('names a title whose row does not exist', () => {
    expect(traced([{ ...unit, title: '[EFF-99] holds' }]).unknown).toEqual(['libs/a/src/a.spec.ts: "[EFF-99] holds" names EFF-99']);
  });
});
