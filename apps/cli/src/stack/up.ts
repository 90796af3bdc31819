/** `up` and `down`: start a supervisor that outlives the command, or end it. Each may be repeated. Rows: SVC-4. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isRecordedAlive, spawnServer, stopRecorded } from '@n17q/platform';
import { Trouble } from '../trouble.js';
import { needGit } from './git-there.js';
import { makePlaces, ROOT, type Places } from './places.js';
import { secretsIn } from './secrets.js';
import { ignoredSettings, stackSettings } from './settings.js';
import { isSupervised, leftovers, readState, removeState, type StackState } from './state.js';

const UP_MS_MAX = 180_000;
const DOWN_MS_MAX = 60_000;
const ALREADY = 3;

export type Say = (line: string) => void;

/** Waits until the stack is ready, telling each new step. `mine`: the supervisor that was started here; `exited`: how the one that is waited for ended, undefined while it lives. */
async function untilReady(p: Places, say: Say, mine: number | undefined, exited: () => number | null | undefined, log: string): Promise<StackState> {
  const deadlineMs = performance.now() + UP_MS_MAX;
  let told = '';
  let toldOther = false;
  const tellOther = (): void => { if (!toldOther) say('another n17q is starting this stack already; waiting for it …'); toldOther = true; };
  for (;;) {
    const code = exited();
    const state = readState(p.state);
    if (isSupervised(state)) {
      if (state.supervisor.pid !== mine && (toldOther || state.phase !== 'ready')) tellOther();
      if (state.phase === 'ready') return state;
      if (state.step !== told && state.step !== '' && state.step !== 'ready') { told = state.step; say(`${told} …`); }
    } else if (code === ALREADY && state?.phase !== 'failed') {
      tellOther(); // its state is not written yet, or it is gone again: the bound below
    } else if (code !== undefined) {
      throw new Trouble(state?.phase === 'failed' && state.failure !== undefined ? state.failure : `The stack ended while starting; the last lines of ${log} say why:\n${tail(log)}`);
    }
    if (performance.now() > deadlineMs) throw new Trouble(`The stack was not ready within ${UP_MS_MAX / 1000} s: look into ${p.logs}, run ./n17q down, and try again.`);
    await delay(50);
  }
}

const tail = (file: string): string => {
  try { return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-6).map((l) => `  | ${l}`).join('\n'); } catch { return '  | (nothing was written)'; }
};

/** Resolves when everything is ready; what runs goes on when this process ends. `fresh` false: it was running already. */
export async function up(p: Places, mode: StackState['mode'], say: Say): Promise<{ readonly state: StackState; readonly fresh: boolean }> {
  const before = readState(p.state);
  if (isSupervised(before) && before.phase !== 'stopping') {
    const state = await untilReady(p, say, undefined, () => (isRecordedAlive(before.supervisor) ? undefined : null), join(p.logs, 'supervisor.log'));
    if (state.mode !== mode) throw new Trouble(`A stack is running already, ${state.mode === 'separate' ? 'each service as its own process' : 'in one process'}: run ./n17q down first to change that.`);
    const ignored = ignoredSettings(state);
    if (ignored !== undefined) throw new Trouble(ignored);
    return { state, fresh: false };
  }
  if (isSupervised(before)) { say('waiting for the running stack to stop …'); await gone(before, DOWN_MS_MAX); }
  makePlaces(p);
  needGit();
  stackSettings(p, secretsIn(p.secrets)); // wrong settings are the caller's to hear, at once
  removeState(p.state);
  const log = join(p.logs, 'supervisor.log');
  rmSync(log, { force: true });
  const supervisor = await spawnServer({
    name: 'the supervisor', command: process.execPath, args: [fileURLToPath(new URL('./supervise-main.js', import.meta.url)), mode], logFile: log,
    env: { NODE_COMPILE_CACHE: join(ROOT, '.data', 'cache', 'node'), ...process.env, N17Q_DATA_DIR: p.data }, cwd: p.data, outlives: true,
  });
  const state = await untilReady(p, say, supervisor.pid, () => supervisor.exit()?.code, log);
  return { state, fresh: state.supervisor.pid === supervisor.pid };
}

async function gone(state: StackState, withinMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + withinMs;
  while (isRecordedAlive(state.supervisor)) {
    if (performance.now() > deadlineMs) return false;
    await delay(50);
  }
  return true;
}

/** Ends the supervisor and whatever one that is gone left behind. Gives what was stopped; empty: nothing ran. */
export async function down(p: Places, say: Say): Promise<readonly string[]> {
  const state = readState(p.state);
  if (state === undefined) return [];
  const stopped: string[] = [];
  const tell = (name: string): void => { stopped.push(name); say(`${name} stopped`); };
  if (isSupervised(state)) {
    process.kill(state.supervisor.pid, 'SIGTERM');
    const known = new Set(state.parts.toReversed().map((part) => part.name));
    const deadlineMs = performance.now() + DOWN_MS_MAX;
    while (isRecordedAlive(state.supervisor)) {
      const left = readState(p.state)?.parts ?? [];
      for (const name of known) if (!left.some((part) => part.name === name)) { known.delete(name); tell(name); }
      if (performance.now() > deadlineMs) { say('the supervisor does not answer and is killed'); await stopRecorded(state.supervisor, 0); break; }
      await delay(30);
    }
    for (const name of known) if (!leftovers(state).some((part) => part.name === name)) tell(name);
  }
  for (const part of leftovers(state)) { await stopRecorded(part.process, 20_000); tell(part.name); }
  removeState(p.state);
  return stopped;
}
