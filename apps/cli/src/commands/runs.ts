/** Starting a run, the list of runs, and one run in full. */
import { resolve } from 'node:path';
import type { http } from '@n17q/contracts';
import { dataDir, placesIn } from '../stack/places.js';
import { readState } from '../stack/state.js';
import { Trouble } from '../trouble.js';
import { noModel, type Setup } from './advice.js';
import { microsOf, minutesOf, wholeOf } from './amounts.js';
import { isRemote, ownReach, reaches, said, withRun } from './api.js';
import { eventRows } from './event-text.js';
import { eventsOf } from './events-of.js';
import type { Output } from './output.js';
import { runsTable, runText } from './run-text.js';
import { given } from './words-given.js';

const RUNS_MAX = 50;
const TITLE_CHARS_MAX = 300;

export const setupHere = (): Setup | null => (isRemote() ? null : placesIn(dataDir()));

export interface RunOptions { readonly repo?: string; readonly title?: string; readonly for?: string; readonly budgetUsd?: string; readonly budgetTokens?: string; readonly budgetCalls?: string; readonly workMinutes?: string }
/** What is said of the budget; what is not said of it stays as a run has it by itself. */
function limitsOf(o: RunOptions): Pick<http.NewRun, 'budget' | 'wallMs'> {
  const [usd, tokens, calls] = [microsOf('budget-usd', o.budgetUsd), wholeOf('budget-tokens', o.budgetTokens), wholeOf('budget-calls', o.budgetCalls)];
  const wallMs = minutesOf('work-minutes', o.workMinutes);
  if (wallMs !== undefined && wallMs < 1000) throw new Trouble('--work-minutes is at least a second (0.017): a run without time could do nothing.', true);
  const budget = { ...(usd === undefined ? {} : { usd_micros: usd }), ...(tokens === undefined ? {} : { tokens }), ...(calls === undefined ? {} : { calls }) };
  return { ...(Object.keys(budget).length === 0 ? {} : { budget }), ...(wallMs === undefined ? {} : { wallMs }) };
}

/** Asks for a new run of the local tenant; says when no model is there for it. */
export async function runCommand(goal: string, o: RunOptions, out: Output): Promise<void> {
  given('goal', goal);
  if (o.title !== undefined && /\p{Cc}/u.test(given('title', o.title, TITLE_CHARS_MAX))) throw new Trouble('The title is one line without control characters: give the rest in the goal.', true);
  if (o.for !== undefined) given('person', o.for, 200);
  const limits = limitsOf(o);
  const { client } = ownReach();
  const testless = o.repo !== undefined && !isRemote() && (readState(placesIn(dataDir()).state)?.testCommand ?? null) === null;
  const made = await said(() => client.createRun({ goal, ...(o.title === undefined ? {} : { title: o.title }), ...(o.repo === undefined ? {} : { repo: resolve(o.repo) }), ...(o.for === undefined ? {} : { onBehalfOf: o.for }), ...limits }));
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
