/** A run as text for a terminal. Everything in it that somebody else wrote passes `plain` or `line`. */
import type { http } from '@n17q/contracts';
import { line, plain, table } from '../terminal/plain.js';
import { effectLines, settledLine } from './effect-text.js';
import { moment } from './moments.js';
import { tail } from './names.js';
import { restLines, waitLines } from './run-rests.js';
import { blockedAdvice, commandsFor, pausedAdvice, type Setup } from './advice.js';
import { amount, count } from './amounts.js';

const short = (text: string, max = 100): string => line(text, max);
const indent = (text: string): string => text.split('\n').map((l) => `  ${l}`).join('\n');
const plural = (n: number, what: string): string => `${count(n)} ${what}${n === 1 ? '' : 's'}`;

function standing(v: http.RunView, setup: Setup | null): readonly string[] {
  const lines = v.paused === null ? [] : [`  paused: ${short(v.paused.reason, 200)} (${short(v.paused.code)})`, `  to do: ${pausedAdvice(v.run, v.paused.code)}`];
  if (v.blocked === null) return lines;
  const { why, todo } = blockedAdvice(v.run, v.blocked, setup);
  return [...lines, `  it stands still: ${short(why, 300)} (${short(v.blocked.code)})`, `  to do: ${short(todo, 600)}`];
}

/** What each need of the run means; an unknown one is said as it is. */
const NEEDS: { readonly [reason: string]: string } = {
  seal: 'seals a checkpoint', lease: 'waits for an answer, until the claim runs out', look: 'asks the world', attempt: 'sends', expiry: 'judges anew when a permit runs out', recover: 'decides on the next look', repeat: 'decides on a repetition',
  person: 'hands an effect to a person', rejudge: 'judges anew', judge: 'judges an effect', approval: 'waits for an approval', receipts: 'takes receipts in', findings: 'works on findings', settle: 'settles the budget', requests: 'judges what people asked for',
  intend: 'states what the calls would do', compile: 'prepares the context', failing: 'judges a failing model', generation: 'judges the next model call', generate: 'calls the model', finish: 'closes the run', blocked: 'waits for a change',
};
function waitLine(w: http.RunView['waits'][number]): string {
  const [reason = '', gaveUp] = w.reason.split('~');
  return `${w.service} ${NEEDS[reason] ?? short(reason, 120)}${gaveUp === undefined ? '' : ', again after it gave up'}${w.dueAt === null ? '' : `, due ${moment(w.dueAt)}`}`;
}

function approvalLines(v: http.RunView, a: http.RunView['approvals'][number]): string {
  const open = a.stage === 'requested';
  const [run, id] = [tail(v.run), tail(a.approval)];
  return [
    `${a.approval}  ${a.stage}${a.by === null ? '' : ` by ${short(a.by.id)}`}, until ${a.expiresAt.slice(0, 19)}, for ${a.effect} alone${a.tool === null ? '' : ` (${short(a.tool)} on ${short(a.target ?? '')}, exactly as it stands)`}${a.beside.length === 0 ? '' : `, beside ${a.beside.join(', ')}`}`,
    ...(a.reasons.length === 0 ? [] : [`  asked because: ${a.reasons.map((r) => short(r, 300)).join('; ')}${a.rules.length === 0 ? '' : ` (rule ${a.rules.map((r) => short(r)).join(', ')})`}`]),
    ...(a.note === '' ? [] : [`  said with the decision: ${short(a.note, 300)}`]),
    ...(open && v.status === 'ended' ? ['  nobody decided it before the run ended'] : []),
    ...(open && v.status !== 'ended' ? [`  ./n17q output ${run} ${tail(a.effect)} shows what it would do; ./n17q approve|reject ${run} ${id}`] : []),
  ].join('\n');
}
const refusedLine = (r: http.RunView['refusals'][number]): string => `at ${r.revision}: the ${r.of}${r.effect === null ? '' : ` for ${r.effect}`}: ${short(r.reason, 300)} (${short(r.code)})`;

/** `setup`: see Setup; the advice of a run that stands still names its files. */
export function runText(v: http.RunView, setup: Setup | null = null): string {
  const section = (title: string, rows: readonly string[]): readonly string[] => (rows.length === 0 ? [] : ['', `${title}:`, ...rows.map(indent)]);
  const effects = v.unresolved.length > 0 ? v.unresolved : v.effects;
  const approvals = v.approvals.filter((a) => a.stage !== 'spent');
  const commands = commandsFor(v.actions);
  return [
    `run ${v.run}  ${short(v.title)}`,
    `  ${v.status}${v.ended === null ? '' : ` (${v.ended.how}${v.ended.withUnknowns ? ', WITH UNKNOWN EFFECTS' : ''}: ${short(v.ended.reason, 160)})`}${v.blocked === null && v.paused === null ? `, ${short(v.move.words, 200)}` : ''}`,
    ...standing(v, setup),
    ...restLines(v).map((l) => `  ${l}`),
    `  revision ${v.revision}, checkpoint ${v.checkpoint === null ? 'none' : `at ${v.checkpoint.cut}`}, retention ${v.retention}, world ${short(v.world)}`,
    ...section('goal', v.goal === null ? [] : [v.goal.text === null ? `(${v.goal.gone ?? 'gone'})` : plain(v.goal.text).slice(0, 2000)]),
    ...section('plan', v.plan.map((step, i) => `${i + 1}. ${short(step, 300)}`)),
    ...section('segments', v.segments.length === 0 ? [] : [table(v.segments.map((s) => [String(s.segment), short(s.route.account), short(s.route.model), plural(s.generations, 'output'), plural(s.effects, 'effect'), s.unknowns === 0 ? 'none unknown' : `${count(s.unknowns)} once unknown`, `${count(s.inputTokens)} + ${count(s.outputTokens)} tokens`]))]),
    ...section(v.unresolved.length > 0 ? 'unresolved effects' : 'effects of the turn', effects.map((e) => effectLines(v.run, e))),
    ...section('approvals', approvals.map((a) => approvalLines(v, a))),
    ...section('findings', v.findings.map((f) => `${f.finding}  ${f.verdict} of ${f.effect}, by ${short(f.by.id)}: ${f.stage}`)),
    ...section('settled, and how', v.settled.map(settledLine)),
    ...section('asked for and refused', v.refusals.map(refusedLine)),
    ...section('denials', v.denials.map((d) => `at ${d.revision}: ${short(d.reason, 200)} (${short(d.code)})`)),
    ...section('waits', waitLines(v)),
    ...section('next', v.waits.filter((w) => w.reason !== 'blocked').map(waitLine)),
    ...section('budget', [table([['', 'granted', 'used', 'reserved', 'left'], ...(['usd_micros', 'tokens', 'calls'] as const).map((d) => [d === 'usd_micros' ? 'dollars' : d, amount(d, v.budget.granted[d]), amount(d, v.budget.used[d]), amount(d, v.budget.reserved[d]), amount(d, v.budget.left[d])])])]),
    ...section('you may', commands.length === 0 ? [] : [`${commands.join(', ')}   (./n17q COMMAND ${tail(v.run)} …)`]),
  ].join('\n');
}

export const runsTable = (rows: readonly (http.RunRow & { readonly tenant: string })[]): string => (rows.length === 0
  ? 'There is no run yet. ./n17q run "GOAL" starts one; ./n17q demo shows one.'
  : table([['RUN', 'STATUS', 'WAITS FOR', 'MODEL', 'UNRESOLVED', 'EVENTS', 'UPDATED', 'TENANT', 'TITLE'], ...rows.map((r) => [r.run, r.status, short(r.move), short(r.model ?? '-'), String(r.unresolved), String(r.revision), r.updatedAt.slice(0, 19), short(r.tenant), short(r.title, 60)])]));
