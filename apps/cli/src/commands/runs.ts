import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { http } from '@n17q/contracts';
import type { N17qClient } from '@n17q/client';
import type { EventEnvelope } from '@n17q/domain';
import { Trouble } from '../trouble.js';
import { reaches, said, withRun } from './api.js';
import type { Output } from './output.js';
import { eventRows, runsTable, runText } from './run-text.js';

const RUNS_MAX = 50;
const PAGE = 200;
const EVENTS_MAX = 20_000;

async function eventsOf(client: N17qClient, run: string): Promise<readonly EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  for (let after: number | null = 0; after !== null && events.length < EVENTS_MAX; ) {
    const page: { readonly events: readonly EventEnvelope[]; readonly next: number | null } = await client.eventsPage(run, { after, limit: PAGE });
    events.push(...page.events);
    after = page.next;
  }
  return events;
}

/** What somebody found, from a file: text when it is text, else its bytes. */
function evidenceFrom(file: string): http.NewFinding['evidence'] {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (e) {
    throw new Trouble(`The evidence ${file} cannot be read (${(e as NodeJS.ErrnoException).code ?? String(e)}): give --evidence the path of a file.`, true);
  }
  if (bytes.length === 0) throw new Trouble(`The evidence ${file} is empty: put into it what you saw.`, true);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { base64: bytes.toString('base64'), media: 'application/octet-stream' };
  }
}

/** Asks for a new run of the local tenant. */
export async function runCommand(goal: string, o: { readonly repo?: string; readonly title?: string }, out: Output): Promise<void> {
  const [own] = reaches();
  if (own === undefined) throw new Trouble('No token is known for a tenant: ./n17q up makes one.');
  const made = await said(() => own.client.createRun({ goal, ...(o.title === undefined ? {} : { title: o.title }), ...(o.repo === undefined ? {} : { repo: resolve(o.repo) }) }));
  out.answer(made, () => `Run ${made.run} is in the log. ./n17q show ${made.run} says what it does.`);
}

export type Verb = 'resume' | 'continue' | 'pause' | 'end';
const ASK: { readonly [V in Verb]: { readonly done: string; readonly ask: (client: N17qClient, run: string, reason: string) => Promise<http.Accepted> } } = {
  resume: { done: 'The run is asked to resume.', ask: (c, run, reason) => c.resumeRun(run, reason) },
  continue: { done: 'The provider response is asked to continue.', ask: (c, run, reason) => c.continueProviderResponse(run, reason) },
  pause: { done: 'The run is asked to pause.', ask: (c, run, reason) => c.pause(run, reason) },
  end: { done: 'The run is asked to end.', ask: (c, run, reason) => c.end(run, reason) },
};

export async function askCommand(verb: Verb, run: string, o: { readonly reason: string }, out: Output): Promise<void> {
  const { done, ask } = ASK[verb];
  const accepted = await withRun(run, (client) => ask(client, run, o.reason));
  out.answer(accepted, () => `${done} It is in the log at revision ${accepted.revision}; ./n17q show ${run} says what came of it.`);
}

export async function runsCommand(out: Output): Promise<void> {
  const rows = await said(async () => (await Promise.all(reaches().map(async ({ tenant, client }) => (await client.listRuns({ limit: RUNS_MAX })).runs.map((r) => ({ ...r, tenant }))))).flat());
  const newest = rows.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt)).slice(0, RUNS_MAX);
  out.answer({ runs: newest }, () => runsTable(newest));
}

export async function showCommand(run: string, o: { readonly events?: boolean }, out: Output): Promise<void> {
  const [view, events] = await withRun(run, async (client) => [await client.run(run), o.events === true ? await eventsOf(client, run) : undefined] as const);
  out.answer(events === undefined ? view : { ...view, events }, () => (events === undefined ? runText(view) : `${runText(view)}\n\nevents:\n${eventRows(events)}`));
}

export async function findingCommand(run: string, effect: string, o: { readonly happened?: boolean; readonly didNot?: boolean; readonly evidence: string }, out: Output): Promise<void> {
  if ((o.happened === true) === (o.didNot === true)) throw new Trouble('Give exactly one of --happened and --did-not.', true);
  const evidence = evidenceFrom(o.evidence);
  const accepted = await withRun(run, (client) => client.submitFinding(run, effect, { verdict: o.happened === true ? 'happened' : 'did-not-happen', evidence }));
  out.answer(accepted, () => `The finding is in the log at revision ${accepted.revision}; ./n17q show ${run} says how the gate judged it.`);
}

export async function inputCommand(run: string, text: string, out: Output): Promise<void> {
  const accepted = await withRun(run, (client) => client.addInput(run, text));
  out.answer(accepted, () => `The input is in the log at revision ${accepted.revision}.`);
}

export async function removeProvider(account: string, out: Output): Promise<void> {
  const [local] = reaches();
  if (local === undefined) throw new Trouble('There is no token for the local tenant: ./n17q up makes one.');
  const published = await said(() => local.client.removeAccount(account));
  out.answer(published, () => `The account ${account} is removed; profiles are at revision ${published.revision}.`);
}
