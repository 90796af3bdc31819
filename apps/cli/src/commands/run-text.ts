/** A run and its events as text for a terminal. Everything in it that somebody else wrote passes `plain` or `line`. */
import type { http } from '@n17q/contracts';
import type { EventEnvelope } from '@n17q/domain';
import { line, plain, table } from '../terminal/plain.js';

const short = (text: string, max = 100): string => line(text, max);
const indent = (text: string): string => text.split('\n').map((l) => `  ${l}`).join('\n');

function effectLines(e: http.RunView['effects'][number]): string {
  return [
    `${e.effect}  ${short(e.tool)} on ${short(e.scope.target)}: ${e.stage}${e.unresolved ? ' (UNRESOLVED)' : ''}, contract ${e.contract.kind}, attempts ${e.attempts.length}, looks ${e.looks}`,
    ...(e.unresolved ? [`  may do by itself: ${e.allowed.map((a) => short(a)).join(', ') || 'nothing'}`] : []),
    ...(e.prohibited === null ? [] : [`  prohibited: ${short(e.prohibited, 200)}`]),
    ...(e.needsPerson === null ? [] : [`  needs a person: ${short(e.needsPerson, 200)}`, `  ./n17q finding RUN ${e.effect} --happened|--did-not --evidence FILE`]),
  ].join('\n');
}

export function runText(v: http.RunView): string {
  const section = (title: string, rows: readonly string[]): readonly string[] => (rows.length === 0 ? [] : ['', `${title}:`, ...rows.map(indent)]);
  const effects = v.unresolved.length > 0 ? v.unresolved : v.effects;
  return [
    `run ${v.run}  ${short(v.title)}`,
    `  ${v.status}${v.ended === null ? '' : ` (${v.ended.how}${v.ended.withUnknowns ? ', WITH UNKNOWN EFFECTS' : ''}: ${short(v.ended.reason, 160)})`}, ${short(v.move.words, 200)}`,
    ...(v.paused === null ? [] : [`  paused: ${short(v.paused.reason, 200)} (${short(v.paused.code)})`]),
    ...(v.blocked === null ? [] : [`  blocked: ${short(v.blocked.reason, 200)} (${short(v.blocked.code)}), waits for ${v.blocked.waitsFor}`]),
    `  revision ${v.revision}, checkpoint ${v.checkpoint === null ? 'none' : `at ${v.checkpoint.cut}`}, retention ${v.retention}, world ${short(v.world)}`,
    ...section('goal', v.goal === null ? [] : [v.goal.text === null ? `(${v.goal.gone ?? 'gone'})` : plain(v.goal.text).slice(0, 2000)]),
    ...section('segments', v.segments.length === 0 ? [] : [table(v.segments.map((s) => [String(s.segment), short(s.route.account), short(s.route.model), `${s.generations} outputs`, `${s.effects} effects`, `${s.unknowns} unknown`, `${s.inputTokens} + ${s.outputTokens} tokens`]))]),
    ...section(v.unresolved.length > 0 ? 'unresolved effects' : 'effects of the turn', effects.map(effectLines)),
    ...section('approvals', v.approvals.map((a) => `${a.approval}  ${a.stage} for ${a.effect}`)),
    ...section('findings', v.findings.map((f) => `${f.finding}  ${f.verdict} of ${f.effect}, by ${short(f.by.id)}: ${f.stage}`)),
    ...section('denials', v.denials.map((d) => `at ${d.revision}: ${short(d.reason, 200)} (${short(d.code)})`)),
    ...section('waits', v.waits.map((w) => `${w.service}: ${short(w.reason, 120)}${w.waitsFor === null ? '' : `, for ${w.waitsFor}`}${w.dueAt === null ? '' : `, due ${w.dueAt}`}`)),
    ...section('budget', [table([['', 'granted', 'used', 'reserved', 'left'], ...(['usd_micros', 'tokens', 'calls'] as const).map((d) => [d, String(v.budget.granted[d]), String(v.budget.used[d]), String(v.budget.reserved[d]), String(v.budget.left[d])])])]),
    ...section('you may', v.actions.length === 0 ? [] : [v.actions.join(', ')]),
  ].join('\n');
}

/** The telling words of an event's data. */
function gist(e: EventEnvelope): string {
  const d = e.data as { readonly [k: string]: unknown };
  const words = ['tool', 'stage', 'code', 'reason', 'cause', 'form', 'as', 'by', 'how', 'verdict', 'answer', 'finish', 'decision', 'summary', 'title', 'effect', 'call', 'generation'].flatMap((k) => (typeof d[k] === 'string' && d[k] !== '' ? [`${k} ${d[k]}`] : []));
  return short(words.join(', '), 140);
}
export const eventRows = (events: readonly EventEnvelope[]): string => table(events.map((e) => [String(e.revision), new Date(e.recordedAt).toISOString().slice(11, 23), short(e.type, 40), gist(e)]));

export const runsTable = (rows: readonly (http.RunRow & { readonly tenant: string })[]): string => (rows.length === 0
  ? 'There is no run yet. ./n17q demo makes one; POST /v1/runs of the API does too.'
  : table([['RUN', 'STATUS', 'MOVE', 'MODEL', 'UNRESOLVED', 'EVENTS', 'UPDATED', 'TENANT', 'TITLE'], ...rows.map((r) => [r.run, r.status, short(r.move), short(r.model ?? '-'), String(r.unresolved), String(r.revision), r.updatedAt.slice(0, 19), short(r.tenant), short(r.title, 60)])]));
