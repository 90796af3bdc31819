/** What a person asks of a run, tells it, or decides in it. Each is taken into the log; what comes of it, `show` says. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { N17qClient } from '@n17q/client';
import type { http } from '@n17q/contracts';
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { count, microsOf, minutesOf, wholeOf, type AmountOptions } from './amounts.js';
import { withRun } from './api.js';
import { eventsOf } from './events-of.js';
import { theOne } from './names.js';
import type { Output } from './output.js';
import { given } from './words-given.js';

const REASON_CHARS_MAX = 4000;
const STEPS_MAX = 100;
/** As base64 it is a third longer, and that is bounded. */
const EVIDENCE_BYTES_MAX = 450_000;

interface Taken { readonly accepted: http.Accepted; readonly run: string }
const inLog = (t: Taken): string => `It is in the log at revision ${t.accepted.revision}; ./n17q show ${t.run} says what came of it.`;
const sayTaken = (out: Output, t: Taken, done: string): void => { out.answer(t.accepted, () => `${done} ${inLog(t)}`); };

export type Verb = 'resume' | 'continue' | 'pause' | 'end';
const ASK: { readonly [V in Verb]: { readonly done: string; readonly ask: (client: N17qClient, run: string, reason: string) => Promise<http.Accepted> } } = {
  resume: { done: 'The run is asked to resume.', ask: (c, run, reason) => c.resumeRun(run, reason) },
  continue: { done: 'The provider response is asked to continue.', ask: (c, run, reason) => c.continueProviderResponse(run, reason) },
  pause: { done: 'The run is asked to pause.', ask: (c, run, reason) => c.pause(run, reason) },
  end: { done: 'The run is asked to end.', ask: (c, run, reason) => c.end(run, reason) },
};
/** What comes of asking to continue when no model has answered yet. */
const NOTHING_TO_CONTINUE = 'No model has answered in this run yet, so there is no provider response to continue: the run is asked to go on from the record, as ./n17q resume does.';
export const hasResponse = (v: Pick<http.RunView, 'segments'>): boolean => v.segments.some((s) => s.generations > 0);

export async function askCommand(verb: Verb, name: string, o: { readonly reason: string }, out: Output): Promise<void> {
  const { done, ask } = ASK[verb];
  given('reason', o.reason, REASON_CHARS_MAX);
  const taken = await withRun(name, async (client, run) => {
    const nothing = verb === 'continue' && !hasResponse(await client.run(run));
    return { run, done: nothing ? NOTHING_TO_CONTINUE : done, accepted: await ask(client, run, o.reason) };
  });
  sayTaken(out, taken, taken.done);
}

export async function inputCommand(name: string, text: string, out: Output): Promise<void> {
  given('input', text);
  sayTaken(out, await withRun(name, async (client, run) => ({ run, accepted: await client.addInput(run, text) })), 'The run has the input.');
}

export async function noteCommand(name: string, text: string, out: Output): Promise<void> {
  given('note', text);
  sayTaken(out, await withRun(name, async (client, run) => ({ run, accepted: await client.addNote(run, { text, visibility: 'people' }) })), 'The note is there, for people.');
}

export async function planCommand(name: string, steps: readonly string[], out: Output): Promise<void> {
  for (const s of steps) given('step', s, REASON_CHARS_MAX);
  if (steps.length > STEPS_MAX) throw new Trouble(`A plan has at most ${STEPS_MAX} steps: join some of the ${steps.length}.`, true);
  sayTaken(out, await withRun(name, async (client, run) => ({ run, accepted: await client.changePlan(run, steps) })), 'The plan is replaced.');
}

export interface RaiseOptions extends AmountOptions { readonly minutes?: string; readonly reason: string }
export async function raiseCommand(name: string, o: RaiseOptions, out: Output): Promise<void> {
  given('reason', o.reason, REASON_CHARS_MAX);
  const amounts = { usd_micros: microsOf('usd', o.usd) ?? 0, tokens: wholeOf('tokens', o.tokens) ?? 0, calls: wholeOf('calls', o.calls) ?? 0 };
  const wallMs = minutesOf('minutes', o.minutes) ?? 0;
  if (amounts.usd_micros + amounts.tokens + amounts.calls + wallMs === 0) throw new Trouble('Say by how much: give at least one of --usd, --tokens, --calls and --minutes, more than 0.', true);
  sayTaken(out, await withRun(name, async (client, run) => ({ run, accepted: await client.raiseBudget(run, { amounts, wallMs, reason: o.reason }) })), 'The gate will judge the raise; what waits for it then goes on.');
}

export async function migrateEffectCommand(name: string, effect: string, o: { readonly to: string; readonly reason: string }, out: Output): Promise<void> {
  given('reason', o.reason, REASON_CHARS_MAX);
  given('tool', o.to, 200);
  const taken = await withRun(name, async (client, run) => {
    const id = theOne(effect, (await client.run(run)).unresolved.map((e) => e.effect), 'unresolved effect', `./n17q show ${run} lists them`, 'eff');
    return { run, accepted: await client.migrateEffect(run, id, { tool: o.to, reason: o.reason }) };
  });
  sayTaken(out, taken, `The gate will judge whether the effect is looked at as ${o.to}; nothing is repeated.`);
}

export async function eraseCommand(name: string, o: { readonly reason: string }, out: Output): Promise<void> {
  given('reason', o.reason, REASON_CHARS_MAX);
  sayTaken(out, await withRun(name, async (client, run) => ({ run, accepted: await client.eraseRun(run, o.reason) })), 'The contents of the run are asked to be erased, for ever; its record stays.');
}

/** What somebody found, from a file: text when it is text, else its bytes. */
export function evidenceFrom(file: string): http.NewFinding['evidence'] {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (e) {
    throw new Trouble(`The evidence ${file} cannot be read (${(e as NodeJS.ErrnoException).code ?? String(e)}): give --evidence the path of a file.`, true);
  }
  if (bytes.length > EVIDENCE_BYTES_MAX) throw new Trouble(`The evidence ${file} has ${count(bytes.length)} bytes, and at most ${count(EVIDENCE_BYTES_MAX)} are taken: give the part that shows it, such as the lines of a log, or a text that says where the whole is kept and its SHA-256.`, true);
  if (bytes.length === 0) throw new Trouble(`The evidence ${file} is empty: put into it what you saw.`, true);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { base64: bytes.toString('base64'), media: 'application/octet-stream' };
  }
}

export async function findingCommand(name: string, effect: string, o: { readonly happened?: boolean; readonly didNot?: boolean; readonly evidence?: string }, out: Output): Promise<void> {
  if ((o.happened === true) === (o.didNot === true)) throw new Trouble('Give exactly one of --happened and --did-not.', true);
  if (o.evidence === undefined) throw new Trouble('Give --evidence FILE, a file that shows what you found: ./n17q finding RUN EFFECT --happened|--did-not --evidence FILE.', true);
  const evidence = evidenceFrom(o.evidence);
  const taken = await withRun(name, async (client, run) => {
    const known = (await client.run(run)).effects.map((e) => e.effect);
    // one that is settled has left the run's state; the refusal says how, so it must be found
    const all = known.includes(effect) ? known : (await eventsOf(client, run)).flatMap((e) => (e.type === 'effect.intended' ? [e.data.effect] : []));
    const id = theOne(effect, all, 'effect', `./n17q show ${run} --events lists them`, 'eff');
    return { run, accepted: await client.submitFinding(run, id, { verdict: o.happened === true ? 'happened' : 'did-not-happen', evidence }) };
  });
  sayTaken(out, taken, 'The gate will judge the finding.');
}

export type Decision = 'approve' | 'reject' | 'revoke';
export async function decideCommand(decision: Decision, name: string, approval: string, o: { readonly note?: string }, out: Output): Promise<void> {
  const taken = await withRun(name, async (client, run) => {
    const { approvals } = await client.run(run);
    const id = theOne(approval, approvals.map((a) => a.approval), 'approval', `./n17q show ${run} lists those that wait`, 'approval');
    const subject = approvals.find((a) => a.approval === id)?.subject as string;
    const effect = approvals.find((a) => a.approval === id)?.effect ?? '';
    const accepted = decision === 'revoke' ? await client.revokeApproval(run, id, o.note ?? 'revoked on the command line')
      : await client.decideApproval(run, id, { decision: decision === 'approve' ? 'approved' : 'rejected', subject, ...(o.note === undefined ? {} : { note: o.note }) });
    return { run, accepted, came: decision === 'approve' ? await whatCame(client, run, effect, accepted.revision) : undefined };
  });
  out.answer(taken.accepted, () => decidedText(decision, taken.run, taken.came));
}

const CAME_MS_MAX = 3_000;
/** What the gate said of the effect after a revision; undefined: nothing within three seconds. */
async function whatCame(client: N17qClient, run: string, effect: string, after: number): Promise<http.ShownDecision | undefined> {
  for (const deadlineMs = performance.now() + CAME_MS_MAX; performance.now() < deadlineMs; await delay(150)) {
    const { decisions } = await client.decisions(run, { after, limit: 50 });
    const came = decisions.find((d) => d.about.kind === 'effect' && d.about.id === effect);
    if (came !== undefined) return came;
  }
  return undefined;
}

/** `came`: what the gate said since. */
export function decidedText(decision: Decision, run: string, came?: http.ShownDecision): string {
  const look = `./n17q show ${run}`;
  if (decision === 'reject') return `Rejected. The call is not made, and the model is told so; ${look} says how the run goes on.`;
  if (decision === 'revoke') return `Taken back. The call is not made under this approval, unless it was sent already; ${look} says which.`;
  if (came?.decision === 'effect.denied' || came?.decision === 'effect.withdrawn') return `Approved, but the call is not made: ${came.words.map((w) => line(w, 300).replace(/\.$/u, '')).join('; ')}${came.code === null ? '' : ` (${came.code})`}. ./n17q decisions ${run} has all of it${came.code?.startsWith('SOURCE') === true ? `, ./n17q sources ${run} what is missing` : ''}.`;
  if (came?.decision === 'effect.permitted') return `Approved. The call is permitted and goes out now; ${look} says what comes of it.`;
  if (came?.decision === 'approval.requested') return `Approved, but a person is asked once more: ${look} says why.`;
  return `Approved. The gate judges the call once more, then it is made; ${look} says what comes of it.`;
}
