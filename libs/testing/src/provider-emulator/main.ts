/**
 * The provider emulator as a process of its own.
 *
 *   main.js --accounts FILE (--scenario FILE.mjs | --script FILE.json) [--port N] [--strict account,model,prefix,frame]
 *           [--phrasing developer|cloud] [--wrap-errors] [--no-call-ids]
 *
 * `--accounts`: JSON of account name → API key. `--scenario`: a module that exports `next(request, history)`.
 * The control token comes from N17Q_EMULATOR_CONTROL_TOKEN, a signing key that outlives a restart from
 * N17Q_EMULATOR_SIGNING_KEY. Prints one line of JSON when it listens: {"event":"listening","port":N}.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Phrasing } from './answers.js';
import { startProviderEmulator } from './emulator.js';
import type { Scenario, ScenarioModule, Script } from './scenario.js';

const { values } = parseArgs({ options: {
  accounts: { type: 'string' }, scenario: { type: 'string' }, script: { type: 'string' }, port: { type: 'string' }, strict: { type: 'string' },
  phrasing: { type: 'string' }, 'wrap-errors': { type: 'boolean' }, 'no-call-ids': { type: 'boolean' },
} });

function stop(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(2);
}

async function scenario(): Promise<Scenario> {
  if (values.scenario !== undefined) {
    const module = await import(pathToFileURL(resolve(values.scenario)).href) as Partial<ScenarioModule>;
    return typeof module.next === 'function' ? { next: module.next } : stop(`${values.scenario} exports no function next.`);
  }
  if (values.script === undefined) return stop('Give --scenario FILE.mjs or --script FILE.json.');
  return JSON.parse(await readFile(values.script, 'utf8')) as Script;
}

const controlToken = process.env['N17Q_EMULATOR_CONTROL_TOKEN'];
const signingKey = process.env['N17Q_EMULATOR_SIGNING_KEY'];
if (controlToken === undefined || controlToken === '') stop('Set N17Q_EMULATOR_CONTROL_TOKEN.');
if (values.accounts === undefined) stop('Give --accounts FILE.');
const strict = Object.fromEntries((values.strict ?? '').split(',').filter((name) => name !== '').map((name) =>
  (['account', 'model', 'prefix', 'frame'].includes(name) ? [name, true] : stop(`--strict does not know ${name}.`))));

const emulator = await startProviderEmulator({
  accounts: JSON.parse(await readFile(values.accounts, 'utf8')) as Record<string, string>,
  scenario: await scenario(), controlToken, strict, port: Number(values.port ?? 0),
  phrasing: (values.phrasing ?? 'developer') as Phrasing, wrapErrors: values['wrap-errors'] ?? false, callIds: !(values['no-call-ids'] ?? false),
  ...(signingKey === undefined || signingKey === '' ? {} : { signingKey }),
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => { void emulator.close().then(() => process.exit(0)); });
process.stdout.write(`${JSON.stringify({ event: 'listening', port: Number(new URL(emulator.url).port) })}\n`);
