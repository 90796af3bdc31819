// Starts one Jest, without standard input, and reads back what ran.
//
// J1. A Jest that dies, hangs over its bound, or does not exit after its last test is a failure with a name, never a wait.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const EXIT_GRACE_MS = 20_000;

/** Resolves to { tests, broken, trouble }: the reporter's lists, and a sentence for whatever else went wrong (or undefined). Never rejects. */
export function runJest({ root, name, args, boundMs, quiet = false }) {
  const folder = join(root, '.data', 'test');
  mkdirSync(folder, { recursive: true });
  const out = join(folder, `rows-${name}.json`);
  rmSync(out, { force: true });
  const child = spawn(process.execPath, [
    '--experimental-vm-modules', '--disable-warning=ExperimentalWarning', join(root, 'node_modules/jest/bin/jest.js'),
    ...(quiet ? [] : ['--reporters=default']), `--reporters=${join(root, 'scripts/rows-reporter.mjs')}`, '--passWithNoTests',
    `--cacheDirectory=${join(root, '.data', 'jest')}`, ...args,
  ], { cwd: root, stdio: ['ignore', quiet ? 'ignore' : 'inherit', quiet ? 'ignore' : 'inherit'], env: { ...process.env, N17Q_ROWS_OUT: out } });

  return new Promise((resolve) => {
    let trouble;
    let written = 0;
    const started = Date.now();
    const kill = (why) => { trouble ??= why; child.kill('SIGKILL'); };
    const watch = setInterval(() => {
      if (Date.now() - started > boundMs) return kill(`the Jest run "${name}" took longer than ${boundMs / 1000} s and was stopped`);
      if (written === 0 && existsSync(out)) written = Date.now();
      if (written !== 0 && Date.now() - written > EXIT_GRACE_MS) kill(`the Jest run "${name}" did not exit after its last test: a suite left something open`);
    }, 250);
    child.on('error', (e) => { trouble = `the Jest run "${name}" could not start: ${e.message}`; });
    child.on('close', (code, signal) => {
      clearInterval(watch);
      if (!existsSync(out)) {
        return resolve({ tests: [], broken: [], trouble: trouble ?? `the Jest run "${name}" died (${signal ?? `exit code ${code}`}) before it could say what passed` });
      }
      const { tests, broken, complete } = JSON.parse(readFileSync(out, 'utf8'));
      if (!complete) trouble ??= `the Jest run "${name}" was interrupted`;
      if (code !== 0 && broken.length === 0 && !tests.some((t) => t.status === 'failed')) trouble ??= `the Jest run "${name}" ended with exit code ${code} although no test failed`;
      resolve({ tests, broken, trouble });
    });
  });
}
