import { fitDatabase } from '@n17q/testing';
import { dataDir, makePlaces, placesIn } from '../stack/places.js';
import { readSecrets, secretsIn } from '../stack/secrets.js';
import { statusCode, statusOf, type Status } from '../stack/status.js';
import { isSupervised, readState, type StackState } from '../stack/state.js';
import { supervise } from '../stack/supervisor.js';
import { accountsFrom } from '../stack/providers-file.js';
import { down, up } from '../stack/up.js';
import { line, table } from '../terminal/plain.js';
import { sentenceOf, Trouble } from '../trouble.js';
import { noModel } from './advice.js';
import type { Output } from './output.js';

const places = () => placesIn(dataDir());
const ago = (iso: string): string => {
  const s = Math.max(0, Math.round((Date.now() - Date.parse(iso)) / 1000));
  return s < 90 ? `${s} s ago` : s < 5400 ? `${Math.round(s / 60)} min ago` : s < 129_600 ? `${Math.round(s / 3600)} h ago` : iso.slice(0, 10);
};

/** What the stack said at its start, and what its configuration lacks now. */
function notesOf(said: readonly string[]): readonly string[] {
  try {
    return [...said, ...(accountsFrom(places().providers, false).length === 0 ? [noModel(places(), 'runs wait')] : [])];
  } catch (e) {
    return [...said, sentenceOf(e)];
  }
}

function readyText(s: StackState, fresh: boolean): string {
  return [
    fresh ? 'The stack is ready.' : 'The stack was running already.',
    ...(s.apiUrl === null ? [] : [`  API       ${s.apiUrl}  (token: ${places().tokens})`]),
    ...s.parts.filter((p) => p.kind === 'server').map((p) => `  ${p.name.padEnd(9)} ${p.address ?? ''}`),
    `  data      ${places().data}`,
    ...notesOf(s.notes),
    'Next: ./n17q status, ./n17q runs, ./n17q show RUN, ./n17q down',
  ].join('\n');
}

function statusText(s: Status): string {
  const head = s.stack === 'stopped' ? 'The stack is stopped. ./n17q up starts it.' : `The stack is ${s.stack} (version ${s.version ?? '?'}, ${s.mode === 'separate' ? 'each service its own process' : 'all services in one process'}).`;
  const rows = s.parts.map((p) => [p.name, p.state, `pid ${p.pid}`, `since ${ago(p.since)}`, p.version, p.address ?? '']);
  return [head, ...(rows.length === 0 ? [] : [table(rows)]), ...s.problems.map((p) => `! ${line(p, 400)}`), ...(s.stack === 'running' ? notesOf(s.notes) : s.notes).map((n) => `  ${n}`)].join('\n');
}

async function apiSilence(apiUrl: string): Promise<string | undefined> {
  try {
    await fetch(`${apiUrl}/v1/runs`, { signal: AbortSignal.timeout(3_000) }).then((r) => r.body?.cancel());
    return undefined;
  } catch {
    return `The API at ${apiUrl} does not answer.`;
  }
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
  out.answer({ fresh, mode: state.mode, apiUrl: state.apiUrl, tokensFile: places().tokens, dataDir: places().data, notes: notesOf(state.notes) }, () => readyText(state, fresh));
}

export async function downCommand(out: Output): Promise<void> {
  const stopped = await down(places(), out.step);
  out.answer({ stopped }, () => (stopped.length === 0 ? 'Nothing was running.' : 'The stack is stopped; its data stays.'));
}

export async function statusCommand(out: Output): Promise<void> {
  const s = await statusOf(places().state, apiSilence);
  out.answer(s, () => statusText(s));
  process.exitCode = statusCode(s);
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
