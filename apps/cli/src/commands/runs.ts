import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { http } from '@n17q/contracts';
import type { N17qClient } from '@n17q/client';
import type { EventEnvelope } from '@n17q/domain';
import { Trouble } from '../trouble.js';
import { reaches, said, withRun } from './api.js';
import { outputOf } from './output.js';
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

/** `n17q VERB RUN`: one request about a run, with an optional reason. */
function asking(n17q: Command, name: string, description: string, done: string, ask: (client: N17qClient, run: string, reason: string) => Promise<http.Accepted>): void {
  n17q.command(`${name} <run>`).description(description).option('--reason <text>', 'why', 'asked on the command line')
    .action(async (run: string, o: { reason: string }, command: Command) => {
      const accepted = await withRun(run, (client) => ask(client, run, o.reason));
      outputOf(command).answer(accepted, () => `${done} It is in the log at revision ${accepted.revision}; ./n17q show ${run} says what came of it.`);
    });
}

export function runCommands(n17q: Command): void {
  n17q.command('runs').description('all runs, newest first').action(async (_o: object, command: Command) => {
    const rows = await said(async () => (await Promise.all(reaches().map(async ({ tenant, client }) => (await client.listRuns({ limit: RUNS_MAX })).runs.map((r) => ({ ...r, tenant }))))).flat());
    const newest = rows.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt)).slice(0, RUNS_MAX);
    outputOf(command).answer({ runs: newest }, () => runsTable(newest));
  });

  n17q.command('show <run>').description('what a run does, waits for, and must not repeat').option('--events', 'all of its events')
    .action(async (run: string, o: { events?: boolean }, command: Command) => {
      const [view, events] = await withRun(run, async (client) => [await client.run(run), o.events === true ? await eventsOf(client, run) : undefined] as const);
      outputOf(command).answer(events === undefined ? view : { ...view, events }, () => (events === undefined ? runText(view) : `${runText(view)}\n\nevents:\n${eventRows(events)}`));
    });

  n17q.command('finding <run> <effect>').description('say what you found about an effect of unknown outcome; the gate judges it')
    .option('--happened', 'it happened').option('--did-not', 'it did not happen').requiredOption('--evidence <file>', 'what shows it')
    .action(async (run: string, effect: string, o: { happened?: boolean; didNot?: boolean; evidence: string }, command: Command) => {
      if ((o.happened === true) === (o.didNot === true)) throw new Trouble('Give exactly one of --happened and --did-not.', true);
      const evidence = evidenceFrom(o.evidence);
      const accepted = await withRun(run, (client) => client.submitFinding(run, effect, { verdict: o.happened === true ? 'happened' : 'did-not-happen', evidence }));
      outputOf(command).answer(accepted, () => `The finding is in the log at revision ${accepted.revision}; ./n17q show ${run} says how the gate judged it.`);
    });

  n17q.command('input <run> <text>').description('give a run an input').action(async (run: string, text: string, _o: object, command: Command) => {
    const accepted = await withRun(run, (client) => client.addInput(run, text));
    outputOf(command).answer(accepted, () => `The input is in the log at revision ${accepted.revision}.`);
  });

  asking(n17q, 'resume', 'resume run: reconcile unresolved effects, judge anew, go on', 'The run is asked to resume.', (c, run, reason) => c.resumeRun(run, reason));
  asking(n17q, 'continue', 'continue provider response: the provider\'s own, if policy and retention allow', 'The provider response is asked to continue.', (c, run, reason) => c.continueProviderResponse(run, reason));
  asking(n17q, 'pause', 'ask a run to pause', 'The run is asked to pause.', (c, run, reason) => c.pause(run, reason));
  asking(n17q, 'end', 'ask a run to end', 'The run is asked to end.', (c, run, reason) => c.end(run, reason));

  const provider = n17q.command('provider').description('model accounts of the local tenant');
  provider.command('remove <account>').description('take a model account away; runs go on with another one, if there is one').action(async (account: string, _o: object, command: Command) => {
    const [local] = reaches();
    if (local === undefined) throw new Trouble('There is no token for the local tenant: ./n17q up makes one.');
    const published = await said(() => local.client.removeAccount(account));
    outputOf(command).answer(published, () => `The account ${account} is removed; profiles are at revision ${published.revision}.`);
  });
}
