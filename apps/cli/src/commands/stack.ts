import { fitDatabase } from '@n17q/testing';
import { dataDir, makePlaces, placesIn } from '../stack/places.js';
import { readSecrets, secretsIn } from '../stack/secrets.js';
import { isSupervised, readState, type StackState } from '../stack/state.js';
import { supervise } from '../stack/supervisor.js';
import { down, up } from '../stack/up.js';
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { notesOf } from './notes.js';
import type { Output } from './output.js';

const places = () => placesIn(dataDir());
function readyText(s: StackState, fresh: boolean): string {
  return [
    fresh ? 'The stack is ready.' : 'The stack was running already.',
    ...(s.apiUrl === null ? [] : [`  API       ${s.apiUrl}  (token: ${places().tokens})`]),
    ...s.parts.filter((p) => p.kind === 'server').map((p) => `  ${p.name.padEnd(9)} ${p.address ?? ''}`),
    `  data      ${places().data}`,
    `  tests     ${s.testCommand == null ? 'none: N17Q_TEST_CMD names the command that runs them' : line(s.testCommand, 200)}`,
    ...notesOf(s.notes),
    'Next: ./n17q status, ./n17q runs, ./n17q show RUN, ./n17q down',
  ].join('\n');
}

async function foreground(mode: StackState['mode']): Promise<void> {
  const say = (l: string): void => { process.stdout.write(`${l}\n`); };
  const stack = await supervise({ places: places(), mode, progress: (s) => say(`${s} …`) });
  const asked = new Promise<void>((resolve) => { for (const s of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(s, () => resolve()); });
  say(readyText(readState(places().state) as StackState, true));
  say('Ctrl-C stops it.');
  const awake = setInterval(() => undefined, 60_000); // the processes that it waits for keep no event loop alive
  await asked;
  clearInterval(awake);
  await stack.stop((s) => say(`${s} …`));
  process.exit(0); // services that lived here may have left timers
}

export async function upCommand(o: { readonly separate?: boolean; readonly foreground?: boolean }, out: Output): Promise<void> {
  const mode = o.separate === true ? 'separate' : 'one-process';
  if (o.foreground === true) return foreground(mode);
  const { state, fresh } = await up(places(), mode, out.step);
  out.answer({ fresh, mode: state.mode, apiUrl: state.apiUrl, testCommand: state.testCommand, tokensFile: places().tokens, dataDir: places().data, notes: notesOf(state.notes) }, () => readyText(state, fresh));
}

export async function downCommand(out: Output): Promise<void> {
  const stopped = await down(places(), out.step);
  out.answer({ stopped }, () => (stopped.length === 0 ? 'Nothing was running.' : 'The stack is stopped; its data stays.'));
}

export async function migrateCommand(out: Output): Promise<void> {
  makePlaces(places());
  const { migrated } = await fitDatabase(ownerUrl(), secretsIn(places().secrets).roles);
  out.answer({ applied: migrated }, () => (migrated.length === 0 ? 'The database is up to date.' : `Applied: ${migrated.join(', ')}`));
}

/** The owner's URL: the caller's, or the running local stack's. */
function ownerUrl(): string {
  const given = process.env['N17Q_DATABASE_URL'];
  if (given !== undefined && given !== '') return given;
  const state = readState(places().state);
  const secrets = readSecrets(places().secrets);
  const address = state?.parts.find((p) => p.name === 'Postgres')?.address;
  if (!isSupervised(state) || address === undefined || secrets === undefined) throw new Trouble('Set N17Q_DATABASE_URL to the database of its owner, or run ./n17q up, which migrates the local one.', true);
  return `postgres://postgres:${encodeURIComponent(secrets.superuser)}@${address}/n17q`;
}
