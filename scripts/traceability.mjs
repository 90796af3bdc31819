// test/traceability.md out of the titles of tests that ran and passed.
//
// T1. A row is *kept* only with a passed test at its level (test/rows.json) and evidence that such a test can go red: a saboteur, a
//     planted violation, or a mutant that was caught. *claimed*: passed tests, but too low or never seen red. *open*: none.
// T2. What a test shows stands in its title alone: [EFF-4], [EFF-4, RUN-1]; [saboteur EFF-4], [planted SVC-1] are evidence of red,
//     and the plain rows of such a title show nothing.
// T3. A title that names a row which does not exist is an error: a typing slip must not look like coverage.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const FILE = 'test/traceability.md';
const MARK = /\[(?:(saboteur|planted) )?([A-Z]{2,5}-\d+(?:, ?[A-Z]{2,5}-\d+)*)\]/g;
const LEVELS = ['domain', 'real', 'structure'];
const TITLE_MAX = 90;

/** The marks of a title: rows that it shows, and rows for which it is evidence of red, with the kind of evidence. */
export function marksOf(title) {
  const found = [...title.matchAll(MARK)].map((m) => ({ kind: m[1], rows: m[2].split(/, ?/) }));
  const red = found.filter((m) => m.kind !== undefined).flatMap((m) => m.rows.map((row) => ({ row, kind: m.kind })));
  return { shows: red.length > 0 ? [] : found.flatMap((m) => m.rows), red };
}

/** At which level a test file can show something. */
export function levelOf(file) {
  if (file.startsWith('test/structure/')) return 'structure';
  if (file.startsWith('test/simulation/')) return 'domain';
  return file.startsWith('test/') || file.endsWith('.int.spec.ts') ? 'real' : 'domain';
}

/** The ids of docs/requirements.md in their order, and their levels; throws when the two lists differ. */
export function readRows(root) {
  const ids = [...readFileSync(join(root, 'docs/requirements.md'), 'utf8').matchAll(/^\| ([A-Z]{2,5}-\d+) \|/gm)].map((m) => m[1]);
  const levels = JSON.parse(readFileSync(join(root, 'test/rows.json'), 'utf8'));
  const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
  const missing = ids.filter((id) => levels[id] === undefined);
  const extra = Object.keys(levels).filter((id) => !ids.includes(id));
  const odd = Object.entries(levels).filter(([, level]) => ![level].flat().every((l) => LEVELS.includes(l))).map(([id]) => id);
  const wrong = [['listed twice', twice], ['without a level', missing], ['with a level but not listed', extra], ['with an unknown level', odd]].filter(([, l]) => l.length > 0);
  if (wrong.length > 0) throw new Error(`docs/requirements.md and test/rows.json: ${wrong.map(([what, l]) => `${what}: ${l.join(', ')}`).join('; ')}`);
  return ids.map((id) => ({ id, levels: [levels[id]].flat() }));
}

function rowLine({ id, levels }, shows, red) {
  // A row about the domain is shown by any test; the others only where they happen.
  const atLevel = levels.includes('domain') ? shows : shows.filter((t) => levels.includes(levelOf(t.file)));
  const state = shows.length === 0 ? 'open' : atLevel.length > 0 && red.length > 0 ? 'kept' : 'claimed';
  const order = (a, b) => (a.file === b.file ? (a.title < b.title ? -1 : 1) : a.file < b.file ? -1 : 1);
  const best = [...(atLevel.length > 0 ? atLevel : shows)].sort(order)[0];
  const parts = [];
  if (best) {
    const short = best.title.replace(MARK, '').replace(/\s+/g, ' ').trim();
    const title = short.length > TITLE_MAX ? `${short.slice(0, TITLE_MAX - 1)}…` : short;
    parts.push(`${best.file}: ${title.replaceAll('|', '\\|')} (${shows.length} ${shows.length === 1 ? 'test' : 'tests'})`);
    if (atLevel.length === 0) parts.push(`no test at its level (${levels.join(' or ')})`);
  }
  if (red.length > 0) parts.push(`seen red by ${[...new Set(red.map((r) => r.kind))].toSorted((x, y) => x.localeCompare(y)).join(', ')}`);
  else if (best) parts.push('never seen red');
  return { state, line: `| ${id} | ${parts.join('; ')} | ${state} |` };
}

/**
 * rows: from readRows. tests: [{ file, title, status }]. killed: rows of mutants that were caught.
 * Returns { text, counts, unknown }: the page, how many rows are in each state, and titles that name rows which do not exist.
 */
export function trace(rows, tests, killed) {
  const shows = new Map(rows.map((r) => [r.id, []]));
  const red = new Map(rows.map((r) => [r.id, []]));
  const unknown = [];
  for (const t of tests.filter((x) => x.status === 'passed')) {
    const marks = marksOf(t.title);
    for (const id of [...marks.shows, ...marks.red.map((r) => r.row)]) if (!shows.has(id)) unknown.push(`${t.file}: "${t.title}" names ${id}`);
    for (const id of new Set(marks.shows)) shows.get(id)?.push(t);
    for (const r of marks.red) red.get(r.row)?.push(r);
  }
  for (const row of killed) red.get(row)?.push({ row, kind: 'mutant' });
  const lines = rows.map((r) => rowLine(r, shows.get(r.id), red.get(r.id)));
  const counts = { kept: 0, claimed: 0, open: 0 };
  for (const l of lines) counts[l.state] += 1;
  const text = [
    '<!-- Written by `./n17q test --update-traceability` from what ran and passed; never edit it by hand. -->',
    '# Which test shows which row',
    '',
    'Rows: [docs/requirements.md](../docs/requirements.md). *kept*: a passed test at the level of the row, and a saboteur, planted violation or mutant that',
    'turns such a test red. *claimed*: passed tests, but at too low a level or never seen red. *open*: no test.',
    '',
    `${counts.kept} kept, ${counts.claimed} claimed, ${counts.open} open.`,
    '',
    '| row | what shows it | state |',
    '|---|---|---|',
    ...lines.map((l) => l.line),
    '',
  ].join('\n');
  return { text, counts, unknown };
}

/** The first lines in which two pages differ, for a person. */
export function drift(committed, made, linesMax = 12) {
  const a = committed.split('\n');
  const b = made.split('\n');
  const gone = a.filter((l) => !b.includes(l)).map((l) => `- ${l}`);
  const come = b.filter((l) => !a.includes(l)).map((l) => `+ ${l}`);
  return [...gone, ...come].sort((x, y) => (x.slice(2) < y.slice(2) ? -1 : 1)).slice(0, linesMax);
}
