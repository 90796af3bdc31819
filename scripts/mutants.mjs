// Breaks one line at a time and expects the named spec to notice.
//
// test/mutants.json: [{ row, file, find, replace, spec }]. Each mutant gets a tree of its own under .data/mutants/<n>/: libs and apps as
// hard links, with the one changed file written anew. Nothing in the clone changes. One Jest runs all of them, one project each.
//
// M1. `find` stands exactly once in `file`; otherwise the mutant is stale, and that is a failure.
// M2. Caught means: a test whose title names the mutant's row failed. A spec that no longer loads proves nothing.
// M3. The unchanged code passes the same spec in the same test run; the caller sees to that.
import { copyFileSync, existsSync, linkSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runJest } from './jest-run.mjs';
import { marksOf } from './traceability.mjs';

const LEFT_OUT = new Set(['dist', 'node_modules']);
/** For all of them together: a busy machine with two cores takes up to 15 s for one. */
const boundMs = (mutants) => 120_000 + 15_000 * mutants;

function linkTree(from, to) {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (LEFT_OUT.has(entry.name)) continue;
    const [a, b] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(a, b);
    else if (entry.isFile()) {
      // A file of another owner may not be linked; a copy serves as well.
      try { linkSync(a, b); } catch (e) { if (e.code !== 'EPERM' && e.code !== 'EXDEV') throw e; copyFileSync(a, b); }
    }
  }
}

/** A sentence about why this mutant cannot be tried, or undefined. */
function stale(root, m) {
  for (const key of ['row', 'file', 'find', 'replace', 'spec']) if (typeof m[key] !== 'string') return `lacks "${key}"`;
  for (const f of [m.file, m.spec]) if (!existsSync(join(root, f))) return `names ${f}, which does not exist`;
  const times = readFileSync(join(root, m.file), 'utf8').split(m.find).length - 1;
  if (times !== 1) return `is stale: its text stands ${times} times in ${m.file}, not once`;
  if (m.find === m.replace) return 'changes nothing';
  return undefined;
}

function plant(root, overlay, m) {
  linkTree(join(root, 'libs'), join(overlay, 'libs'));
  linkTree(join(root, 'apps'), join(overlay, 'apps'));
  for (const name of ['node_modules', '.toolchain', 'test', 'package.json']) if (existsSync(join(root, name))) symlinkSync(join(root, name), join(overlay, name));
  const target = join(overlay, m.file);
  const text = readFileSync(target, 'utf8');
  rmSync(target); // unlink first: writing through a hard link would change the clone
  writeFileSync(target, text.replace(m.find, () => m.replace));
}

/** Runs all mutants. Resolves to [{ name, row, ok, why }], one per mutant, in their order. */
export async function runMutants(root, list) {
  const base = join(root, '.data', 'mutants');
  rmSync(base, { recursive: true, force: true });
  mkdirSync(base, { recursive: true });
  const outcomes = list.map((m, n) => ({ name: `mutant ${n} of ${m.row} in ${m.file}`, row: m.row, ok: false, why: stale(root, m) }));
  const { default: config } = await import(join(root, 'jest.config.mjs'));
  const { displayName: _d, testMatch: _m, roots: _r, testPathIgnorePatterns: _i, modulePathIgnorePatterns: _p, ...common } = config.projects[0];
  const projects = [];
  list.forEach((m, n) => {
    if (outcomes[n].why !== undefined) return;
    const overlay = join(base, String(n));
    plant(root, overlay, m);
    projects.push({ ...common, displayName: `mutant-${n}`, rootDir: overlay, roots: [join(overlay, 'libs'), join(overlay, 'apps')], testMatch: [join(overlay, m.spec)] });
  });
  if (projects.length === 0) return outcomes;
  const file = join(base, 'jest.config.json');
  writeFileSync(file, JSON.stringify({ projects }));
  const ran = await runJest({ root, name: 'mutants', boundMs: boundMs(projects.length), quiet: true, args: ['--config', file, '--rootDir', root, '--maxWorkers=2', '--forceExit'] });
  list.forEach((m, n) => {
    const o = outcomes[n];
    if (o.why !== undefined) return;
    const mine = ran.tests.filter((t) => t.project === `mutant-${n}`);
    const broken = ran.broken.find((b) => b.project === `mutant-${n}`);
    if (broken) o.why = `makes ${m.spec} unloadable, which proves nothing (${broken.message.split('\n')[0].slice(0, 120)})`;
    else if (mine.length === 0) o.why = ran.trouble ?? `ran no test of ${m.spec}`;
    else if (mine.some((t) => t.status === 'failed' && marksOf(t.title).shows.includes(m.row))) o.ok = true;
    else if (mine.some((t) => t.status === 'failed')) o.why = `turned tests of ${m.spec} red, but none that names ${m.row}`;
    else o.why = `survived: ${m.spec} stayed green`;
  });
  rmSync(base, { recursive: true, force: true });
  return outcomes;
}

export function readMutants(root) {
  return JSON.parse(readFileSync(join(root, 'test/mutants.json'), 'utf8'));
}

if (process.argv[1] === import.meta.filename) {
  const root = join(dirname(import.meta.filename), '..');
  const filter = process.argv[2];
  const outcomes = await runMutants(root, readMutants(root).filter((m) => filter === undefined || m.row === filter || m.file.includes(filter)));
  for (const o of outcomes) process.stdout.write(`${o.ok ? 'caught' : 'NOT CAUGHT'}: ${o.name}${o.ok ? '' : ` – ${o.why}`}\n`);
  process.exitCode = outcomes.length > 0 && outcomes.every((o) => o.ok) ? 0 : 1;
}
