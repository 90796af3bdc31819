// tidy.mjs [ROOT]: cheap looks at the tree; prints one line for each violation and ends with 1 if there are any.
//
// Whatever it looks for is put together from pieces, so that this file does not trip over itself.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

const LINES_MAX = 400;
const LEFT_OUT = new Set(['node_modules', 'dist', '.git', '.toolchain', '.data', '.nx', 'coverage']);
const any = (pieces) => `(?:${pieces.map((p) => p.join('')).join('|')})`;

const LEFT_BEHIND = new RegExp(`\\b${any([['TO', 'DO'], ['FIX', 'ME'], ['XX', 'X'], ['HA', 'CK']])}\\b`);
const OFF_OR_ALONE = new RegExp(`(?:\\b(?:it|test|describe)(?:\\.each)?\\.${any([['on', 'ly'], ['sk', 'ip'], ['to', 'do']])}\\b|\\b${any([['x', 'it'], ['f', 'it'], ['x', 'describe'], ['f', 'describe'], ['x', 'test']])}\\()`);
const MOCKED = new RegExp(`jest\\.${any([['mo', 'ck'], ['unstable_', 'mockModule'], ['do', 'Mock']])}\\(`);
const PRINTS = new RegExp(`\\bconsole\\.${any([['lo', 'g']])}\\(`);
const WORDS = [
  new RegExp(`(?:^|[^\\w./-])/${any([['wo', 'rk'], ['fa', 'rm']])}(?:/|$|[^\\w-])`),
  new RegExp(any([['\\.\\./sha', 'red/'], ['\\.libr', 'ary\\b'], ['sub-?', 'agent'], ['before', '-stop'], ['BRI', 'EF\\.md'], ['\\bC', 'EO\\b'], ['https?://regi', 'stry\\.']])),
  new RegExp(`\\b${any([['iss', 'ue']])} #?\\d+\\b`, 'i'),
];

const CODE = /\.(ts|tsx|mts|mjs|cjs|js|sql|sh)$/;
const SPEC = /\.spec\.tsx?$/;
const MARKDOWN = /\.md$/;
const TEXT = /\.(ts|tsx|mts|mjs|cjs|js|sql|sh|md|json|ya?ml|html|css|toml)$|^n17q$|^\.ci\/run$|^\.(gitignore|npmrc)$/;
const FIXTURE = /^test\/fixtures\//;
const MAY_PRINT = /^(apps\/cli\/|scripts\/|test\/fixtures\/|(?:[^/]+\/)*bench\/)/;
const MADE = /^(package-lock\.json)$/;

function* walk(root, folder = root) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (LEFT_OUT.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(root, path);
    else if (entry.isFile()) yield relative(root, path).split(sep).join('/');
  }
}

const slug = (heading) => heading.trim().toLowerCase().replace(/[`*]/g, '').replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
const anchorsOf = (text) => new Set([...text.matchAll(/^#{1,6} (.+)$/gm)].map((m) => slug(m[1])));

function* brokenLinks(root, file, text) {
  const prose = text.replace(/```[\s\S]*?```/g, (block) => block.replace(/[^\n]/g, ' '));
  const lineOf = (index) => prose.slice(0, index).split('\n').length;
  for (const m of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z][a-z+.-]*:/.test(m[1])) continue;
    const [path, anchor] = m[1].split('#');
    const target = path === '' ? join(root, file) : join(root, dirname(file), decodeURIComponent(path));
    if (!existsSync(target)) yield [lineOf(m.index), `leads nowhere: ${m[1]}`];
    else if (anchor && MARKDOWN.test(target) && !anchorsOf(readFileSync(target, 'utf8')).has(anchor)) yield [lineOf(m.index), `names no heading: ${m[1]}`];
  }
  for (const m of prose.matchAll(/`((?:apps|libs|test|scripts|docs|deploy)\/[\w./@-]+\.\w+)`/g)) {
    if (!existsSync(join(root, m[1]))) yield [lineOf(m.index), `names a file that does not exist: ${m[1]}`];
  }
}

function* lineViolations(file, line) {
  if (WORDS.some((w) => w.test(line))) yield 'word';
  if (FIXTURE.test(file)) return;
  if (LEFT_BEHIND.test(line)) yield 'left-behind';
  if (SPEC.test(file) && OFF_OR_ALONE.test(line)) yield 'off-or-alone';
  if (SPEC.test(file) && MOCKED.test(line)) yield 'mocked';
  // Specs are left out: they hold whole programs as text, which print because that is what is watched.
  if (CODE.test(file) && !SPEC.test(file) && !MAY_PRINT.test(file) && PRINTS.test(line)) yield 'prints';
}

/** Yields { file, line, rule, text } for everything untidy under root. */
export function* untidy(root) {
  const listFile = 'test/structure/long-files.json';
  const long = existsSync(join(root, listFile)) ? JSON.parse(readFileSync(join(root, listFile), 'utf8')) : {};
  const seenLong = new Set();
  for (const file of walk(root)) {
    if (file === 'package-lock.json') {
      const n = readFileSync(join(root, file), 'utf8').split('\n').findIndex((l) => /"resolved": "https?:/.test(l));
      if (n >= 0) yield { file, line: n + 1, rule: 'lockfile-names-registry', text: '' };
    }
    if (!TEXT.test(file) || MADE.test(file)) continue;
    const text = readFileSync(join(root, file), 'utf8');
    const lines = text.split('\n');
    for (const [i, line] of lines.entries()) for (const rule of lineViolations(file, line)) yield { file, line: i + 1, rule, text: line.trim().slice(0, 120) };
    if (CODE.test(file) && !FIXTURE.test(file) && lines.length - 1 > LINES_MAX) {
      seenLong.add(file);
      if (typeof long[file] !== 'string' || long[file].length < 10) yield { file, line: LINES_MAX, rule: 'too-long', text: `${lines.length - 1} lines; split it, or say why it is one thing in ${listFile}` };
    }
    if (MARKDOWN.test(file) && !FIXTURE.test(file)) for (const [line, what] of brokenLinks(root, file, text)) yield { file, line, rule: 'dead-link', text: what };
  }
  for (const file of Object.keys(long)) if (!seenLong.has(file)) yield { file, line: 1, rule: 'not-long', text: `is listed in ${listFile} and is not that long` };
}

if (process.argv[1] === import.meta.filename) {
  const found = [...untidy(process.argv[2] ?? join(import.meta.dirname, '..'))];
  for (const v of found) process.stdout.write(`${v.file}:${v.line}: ${v.rule}: ${v.text}\n`);
  process.exitCode = found.length === 0 ? 0 : 1;
}
