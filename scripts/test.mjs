// ./n17q test: everything that must be green, in one go; the last line is always `N passed, N failed`.
//
//   ./n17q test                          all checks and all tests
//   ./n17q test --update-traceability    the same, and writes test/traceability.md
//   ./n17q test [--] JEST-ARGUMENTS      builds and runs a part of the tests (a path, -t NAME); touches no traceability
//
// C1. A whole run fails on: a failed, skipped or unloadable test, a failed check, a surviving or stale mutant, drift of
//     test/traceability.md, no test at all.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runJest } from './jest-run.mjs';
import { readMutants, runMutants } from './mutants.mjs';
import { FILE, drift, readRows, trace } from './traceability.mjs';

const root = join(dirname(import.meta.filename), '..');
const UPDATE = '--update-traceability';
/** More seeds than usual take longer. */
const JEST_BOUND_MS = 30 * 60_000 + 1500 * (Number(process.env.N17Q_SEEDS) || 0);

/** What of Jest's own a part may be run with; its help of several screens helps nobody here. */
const JEST_OPTIONS = /^--(testNamePattern|testPathPatterns|testPathIgnorePatterns|selectProjects|ignoreProjects|runInBand|maxWorkers|bail|verbose|silent|testTimeout|randomize|seed|shard|coverage|detectOpenHandles|forceExit|onlyFailures|expand|logHeapUsage|updateSnapshot|listTests|no-cache|cache|openHandlesTimeout|workerIdleMemoryLimit|showSeed|ci)(=|$)/;

process.env.XDG_CACHE_HOME ??= join(root, '.data', 'cache'); // compilers keep their copies in the clone, not in the home folder

const args = process.argv.slice(2).filter((a, i) => !(a === '--' && i === 0));
const update = args.includes(UPDATE);
const jestArgs = args.filter((a) => a !== UPDATE);
const partial = jestArgs.length > 0;
if (update && partial) {
  process.stderr.write(`n17q: ${UPDATE} describes a whole run; leave the other arguments away.\n`);
  process.exit(2);
}

const own = jestArgs.find((a) => a.startsWith('--') && !JEST_OPTIONS.test(a));
if (own !== undefined) {
  process.stderr.write(`n17q: ./n17q test has no option ${own.slice(0, 80)}; as in ./n17q test, ./n17q test --update-traceability, ./n17q test -- libs/platform, or ./n17q test -- -t NAME.\n`);
  process.exit(2);
}

let passed = 0;
let failed = 0;
let failedChecks = 0; // of the failed, those that say nothing about what tests show
const failures = [];
const say = (line) => process.stdout.write(`${line}\n`);
const tally = (ok, what, why = '') => {
  if (ok) { passed += 1; return; }
  failed += 1;
  failures.push(why === '' ? what : `${what}: ${why}`);
};

/** A check is a program of node_modules that must end with 0. */
function check(name, program, programArgs) {
  const started = Date.now();
  const r = spawnSync(process.execPath, [join(root, 'node_modules', program), ...programArgs], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 * 1024 * 1024 });
  const ok = r.status === 0;
  say(`${ok ? 'ok    ' : 'FAILED'} ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  if (!ok) say(`${r.stdout}${r.stderr}`.trimEnd());
  tally(ok, name);
  if (!ok) failedChecks += 1;
  return ok;
}

function countJest(ran) {
  for (const t of ran.tests) {
    if (t.status === 'passed') tally(true, '');
    else if (t.status === 'failed') tally(false, `${t.file}: ${t.title}`);
    else if (!partial) tally(false, `${t.file}: ${t.title}`, `was not run (${t.status}); a test that is off shows nothing`);
  }
  for (const b of ran.broken) tally(false, b.file, `could not be loaded: ${b.message.split('\n')[0]}`);
  if (ran.trouble) tally(false, ran.trouble);
}

async function mutants() {
  const started = Date.now();
  const outcomes = await runMutants(root, readMutants(root));
  for (const o of outcomes) tally(o.ok, o.name, o.why);
  const caught = outcomes.filter((o) => o.ok);
  say(`${caught.length === outcomes.length ? 'ok    ' : 'FAILED'} ${caught.length} of ${outcomes.length} mutants caught (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  return caught.map((o) => o.row);
}

function traceability(tests, killed) {
  const { text, counts, unknown } = trace(readRows(root), tests, killed);
  for (const u of unknown) tally(false, u, 'which docs/requirements.md does not list');
  const path = join(root, FILE);
  if (update) {
    if (failed > failedChecks) { tally(false, `${FILE} not written`, 'it describes a run in which every test passed and every mutant was caught'); return; }
    writeFileSync(path, text);
  }
  const committed = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const same = committed === text;
  say(`${same ? 'ok    ' : 'FAILED'} ${FILE}: ${counts.kept} kept, ${counts.claimed} claimed, ${counts.open} open`);
  if (!same) for (const line of drift(committed, text)) say(`       ${line.slice(0, 160)}`);
  tally(same, `${FILE} says something else than this run`, `run ./n17q test ${UPDATE}`);
}

async function main() {
  if (!check('build', 'typescript-native/bin/tsc', ['-b'])) return;
  if (partial) {
    countJest(await runJest({ root, name: 'part', boundMs: JEST_BOUND_MS, args: [...(jestArgs.some((a) => /^(-i|--runInBand|-w|--maxWorkers)/.test(a)) ? [] : ['--maxWorkers=2']), ...jestArgs] }));
    return;
  }
  check('types of the specs', 'typescript-native/bin/tsc', ['-p', 'tsconfig.spec.json']);
  check('lint', 'oxlint/bin/oxlint', ['--type-aware', '--disable-nested-config', '-c', '.oxlintrc.json', 'libs', 'apps', 'test', 'scripts']);
  check('boundaries', 'dependency-cruiser/bin/dependency-cruiser.mjs', ['--config', '.dependency-cruiser.cjs', 'libs/*/src', 'apps/*/src', 'test']);
  const beside = await runJest({ root, name: 'beside', boundMs: JEST_BOUND_MS, args: ['--selectProjects', 'unit', 'int', '--maxWorkers=2'] });
  countJest(beside);
  const system = await runJest({ root, name: 'system', boundMs: JEST_BOUND_MS, args: ['--selectProjects', 'system', '--runInBand'] });
  countJest(system);
  const tests = [...beside.tests, ...system.tests];
  if (tests.length === 0) tally(false, 'no test ran');
  traceability(tests, await mutants());
}

try {
  await main();
} catch (e) {
  say(e instanceof Error ? e.stack ?? e.message : String(e));
  tally(false, 'the test command itself', e instanceof Error ? e.message : String(e));
}
if (failures.length > 0) say(`\nFailed:\n${failures.map((f) => `  ${f}`).join('\n')}`);
if (passed + failed === 0) { failed = 1; say('\nFailed:\n  no test ran'); }
process.exitCode = failed === 0 ? 0 : 1;
say(`\n${passed} passed, ${failed} failed`);
