/** Starting a run, the list of runs, and one run in full. */
import { resolve } from 'node:path';
import { dataDir, placesIn } from '../stack/places.js';
import { readState } from '../stack/state.js';
import { Trouble } from '../trouble.js';
import { noModel, type Setup } from './advice.js';
import { isRemote, ownReach, reaches, said, withRun } from './api.js';
import { eventRows } from './event-text.js';
import { eventsOf } from './events-of.js';
import type { Output } from './output.js';
import { runsTable, runText } from './run-text.js';
import { given } from './words-given.js';

const RUNS_MAX = 50;
const TITLE_CHARS_MAX = 300;

export const setupHere = (): Setup | null => (isRemote() ? null : placesIn(dataDir()));

/** Asks for a new run of the local tenant; says when no model is there for it. */
export async function runCommand(goal: string, o: { readonly repo?: string; readonly title?: string }, out: Output): Promise<void> {
  given('goal', goal);
  if (o.title !== undefined && /\p{Cc}/u.test(given('title', o.title, TITLE_CHARS_MAX))) throw new Trouble('The title is one line without control characters: give the rest in the goal.', true);
  const { client } = ownReach();
  const testless = o.repo !== undefined && !isRemote() && (readState(placesIn(dataDir()).state)?.testCommand ?? null) === null;
  const made = await said(() => client.createRun({ goal, ...(o.title === undefined ? {} : { title: o.title }), ...(o.repo === undefined ? {} : { repo: resolve(o.repo) }) }));
  const models = await said(async () => (await client.document('profiles')).document?.preference.length ?? 0);
  out.answer({ ...made, models, ...(testless ? { testCommand: null } : {}) }, () => madeText(made.run, models, setupHere(), testless));
}

/** `testless`: it has a repository, and the stack has no command for its tests. */
export const madeText = (run: string, models: number, setup: Setup | null, testless = false): string => [
  `Run ${run} is in the log. ./n17q show ${run} says what it does.`,
  ...(models > 0 ? [] : [noModel(setup, 'the run waits')]),
  ...(testless ? ['This stack has no test command, so the model gets no tool that runs tests: ./n17q down, then N17Q_TEST_CMD=\'PROGRAM ARGUMENTS\' ./n17q up gives it one.'] : []),
].join('\n');

export async function runsCommand(out: Output): Promise<void> {
  const rows = await said(async () => (await Promise.all(reaches().map(async ({ tenant, client }) => (await client.listRuns({ limit: RUNS_MAX })).runs.map((r) => ({ ...r, tenant }))))).flat());
  const newest = rows.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt)).slice(0, RUNS_MAX);
  out.answer({ runs: newest }, () => runsTable(newest));
}

export async function showCommand(run: string, o: { readonly events?: boolean }, out: Output): Promise<void> {
  const [view, events] = await withRun(run, async (client, id) => [await client.run(id), o.events === true ? await eventsOf(client, id) : undefined] as const);
  out.answer(events === undefined ? view : { ...view, events }, () => (events === undefined ? runText(view, setupHere()) : `${runText(view, setupHere())}\n\nevents (./n17q output ${view.run} EVENT shows one in full):\n${eventRows(events)}`));
}
