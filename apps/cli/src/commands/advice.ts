/** Why a run stands still, and what a person can do about it, by code. What is not in these tables is said in the run's own words. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { http } from '@n17q/contracts';

/** Where this machine describes model accounts and keeps their keys; null: the API is elsewhere. */
export interface Setup { readonly providers: string; readonly credentials: string }
export interface Advice { readonly why: string; readonly todo: string }

type Make = (run: string, setup: Setup | null, reason: string) => Advice;
const account = (setup: Setup | null, run = 'RUN'): string => (setup === null
  ? 'Its operator must publish profiles with an account (PUT /v1/tenant/profiles); the run then goes on by itself.'
  : `./n17q provider add ACCOUNT --model NAME --key-stdin < KEYFILE adds one to ${setup.providers}, and its key to ${setup.credentials}; what waits then goes on by itself (with the key added later, by ./n17q resume ${run}).`);
const accountIn = (reason: string): string => /\bfor account ([a-z0-9._-]+)/u.exec(reason)?.[1] ?? 'ACCOUNT';
/** What the run said when it stopped may have been mended since. */
function credential(run: string, setup: Setup | null, reason: string): Advice {
  const name = accountIn(reason);
  const file = setup === null ? undefined : join(setup.credentials, name);
  const resume = `./n17q resume ${run}`;
  if (file !== undefined && existsSync(file)) return { why: `there was no usable key for the account ${name} when it was asked for`, todo: `A key is in ${file} now: ${resume} lets the run go on with it.` };
  return { why: reason, todo: `Put the key of the account ${name}, one line, into ${file ?? `the gateway's folder of credentials, as ${name}`}, then ${resume}.` };
}
const fromRecord = (run: string): string => `./n17q resume ${run} goes on from the record, with a new conversation.`;
const reasoned = (todo: (run: string) => string): Make => (run, _setup, reason) => ({ why: reason, todo: todo(run) });

const BLOCKED: { readonly [code: string]: Make } = {
  NO_ROUTE: (run, setup) => ({ why: 'no model account that this run may use is configured', todo: account(setup, run) }),
  CREDENTIAL_ABSENT: credential,
  BUDGET_EXHAUSTED: reasoned((run) => `./n17q allowance grant --usd 10 gives the tenant more, if it is the tenant's that ran out; the run's own is raised with ./n17q raise ${run} --usd 1.00 (or --tokens, --calls), by somebody whose role allows it; what waits then goes on by itself.`),
  CONTEXT_DOES_NOT_FIT: reasoned((run) => `Configure a model with a larger window (./n17q provider add), then ./n17q resume ${run}; or end the run.`),
  CHANGE_NEEDS_REVIEW: reasoned((run) => `./n17q resume ${run} allows the change of model; ./n17q end ${run} ends the run instead.`),
  CHANGE_FORBIDDEN: reasoned((run) => `Bring the former account back (./n17q provider add), or ./n17q end ${run}.`),
  POLICY_UNAVAILABLE: reasoned(() => './n17q policy publish FILE puts a policy in force; the run then goes on by itself.'),
  POLICY_FORBIDS: reasoned((run) => `./n17q decisions ${run} names the rule; ./n17q policy publish FILE puts other rules in force, and the run goes on by itself; or ./n17q end ${run}.`),
  DELEGATION_ENDED: reasoned((run) => `Whoever it acts for can delegate again (./n17q delegate PERSON --tool NAME), and it goes on by itself; or ./n17q end ${run}.`),
  STORE_SUSPECT: reasoned((run) => `Look at the store with ./n17q doctor; when you trust it, ./n17q resume ${run}.`),
  PROTOCOL_STATE_MISSING: reasoned(fromRecord),
  CONTINUATION_ALTERED: reasoned(fromRecord),
};
const WAITS: { readonly [who: string]: (run: string, setup: Setup | null) => string } = {
  profiles: (run, setup) => account(setup, run),
  policy: () => './n17q policy publish FILE puts another policy in force; the run then goes on by itself.',
  budget: () => './n17q allowance grant --usd 10 (or --tokens, --calls) gives the tenant more; the run then goes on by itself.',
  person: (run) => `When what it names is mended: ./n17q resume ${run}; or ./n17q end ${run}.`,
};
const PAUSED: { readonly [code: string]: (run: string) => string } = {
  ASKED: (run) => `./n17q resume ${run} lets it go on.`,
  WORK_TIME_EXHAUSTED: (run) => `./n17q raise ${run} --minutes N gives it more time, then ./n17q resume ${run}; or ./n17q end ${run}.`,
  PERMITS_UNUSED: (run) => `Find out why nobody uses them (./n17q status, and the logs of the data folder), then ./n17q resume ${run}.`,
  MODEL_FAILING: (run) => `Look at the account (key, endpoint, quota) and at ./n17q show ${run} --events, then ./n17q resume ${run}.`,
  MODEL_FINISHED_ABNORMALLY: (run) => `Read what it said with ./n17q output ${run}, then ./n17q resume ${run} or ./n17q end ${run}.`,
};

export function blockedAdvice(run: string, b: NonNullable<http.RunView['blocked']>, setup: Setup | null): Advice {
  const known = BLOCKED[b.code]?.(run, setup, b.reason);
  return known ?? { why: b.reason, todo: (WAITS[b.waitsFor] ?? (WAITS['person'] as (run: string) => string))(run, setup) };
}
export const pausedAdvice = (run: string, code: string): string => PAUSED[code]?.(run) ?? `./n17q resume ${run} lets it go on; ./n17q end ${run} ends it.`;

/** What is said where no model is there: `who` is "the run waits", or "runs wait". */
export const noModel = (setup: Setup | null, who: string): string => `No model account is configured, so ${who} for one. ${account(setup)}`;

/** Commands for what the API says a person may ask for; what the command line has no word for is left out. */
export const COMMANDS: { readonly [operation: string]: string } = {
  add_input: 'input', add_note: 'note', change_plan: 'plan', pause_run: 'pause', resume_run: 'resume', continue_provider_response: 'continue', end_run: 'end', decide_approval: 'approve, reject', revoke_approval: 'revoke', submit_finding: 'finding', raise_budget: 'raise', migrate_effect: 'migrate-effect', review_source: 'source', erase_run: 'erase',
};
export const commandsFor = (operations: readonly string[]): readonly string[] => operations.flatMap((o) => COMMANDS[o] ?? []);
