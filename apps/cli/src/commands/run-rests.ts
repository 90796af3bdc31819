/** What a run rests on and waits for, in few lines: for whom it acts, its time at work, its sources, its tests, what is to come and who brings it. */
import type { http } from '@n17q/contracts';
import { line } from '../terminal/plain.js';
import { amount, count } from './amounts.js';
import { moment } from './moments.js';

const short = (text: string, max = 100): string => line(text, max);
const LISTED_MAX = 8;

/** A length of time as people say it. */
export function duration(ms: number): string {
  const s = Math.round(ms / 1000);
  if (s < 120) return `${s} s`;
  const m = Math.round(s / 60);
  return m < 120 ? `${m} min` : `${Math.round(m / 6) / 10} h`;
}
export const raiseText = (r: Pick<http.RunView['raises'][number], 'amounts' | 'wallMs'>): string => [...(['usd_micros', 'tokens', 'calls'] as const).filter((d) => r.amounts[d] > 0).map((d) => `${amount(d, r.amounts[d])}${d === 'usd_micros' ? '' : ` ${d}`}`), ...(r.wallMs > 0 ? [duration(r.wallMs)] : [])].join(', ');

export function restLines(v: http.RunView): readonly string[] {
  const tested = v.validations.at(-1);
  return [
    ...(v.onBehalfOf === null ? [] : [`on behalf of ${short(v.onBehalfOf)}, by ${short(v.requester?.id ?? 'nobody')} under a delegation`]),
    ...(v.failures.count > 0 && v.status === 'active' ? [`the model gave no output: try ${v.failures.count} of ${v.failures.max} failed (${short(v.failures.lastCode ?? 'unknown')})${v.failures.retryAt === null ? '' : `, the next not before ${moment(v.failures.retryAt)}`}`] : []),
    ...(v.work.limitMs === null ? [] : [`at work for ${duration(v.work.spentMs)} of ${duration(v.work.limitMs)}${v.work.endsAt === null ? '' : `, until ${moment(v.work.endsAt)} if it stays at work`}`]),
    ...(v.lookFirst.length === 0 ? [] : [`after its resume, ${v.lookFirst.join(', ')} ${v.lookFirst.length === 1 ? 'is' : 'are'} looked at before anything else is begun`]),
    ...v.sources.gaps.map((g) => `missing source: ${short(g.identity, 160)} (${short(g.why, 120)}); nothing consequential begins before it was retrieved again`),
    ...(v.sources.known === 0 ? [] : [`${count(v.sources.known)} source${v.sources.known === 1 ? '' : 's'}; ./n17q sources ${v.run} shows them`]),
    ...(tested === undefined ? [] : [`last command: ${short(tested.tool)} ${tested.ok ? 'succeeded' : 'FAILED'}, ${tested.ofPresentTree ? 'on the workspace as it is' : 'on an earlier state of the workspace'}`]),
    ...v.raises.map((r) => `asked for by ${short(r.by.id)}, and not judged yet: a raise of ${raiseText(r)}`),
    ...v.migrations.map((m) => `asked for by ${short(m.by.id)}, and not judged yet: that ${m.effect} is looked at as ${short(m.tool)}`),
    ...(v.erasure === null ? [] : [`its contents are to be erased: ${short(v.erasure.reason, 160)}`]),
    ...(v.evidenceErased ? [`its contents were erased on request${v.erased === null ? '' : ` of ${short(v.erased.by.id)}, ${moment(v.erased.at)}: ${short(v.erased.reason, 160)}`}; what was unresolved stays so, and is never repeated`] : []),
  ];
}

/** Waits that a time or a person ends; what is due at once is under "next". */
export const waitLines = (v: http.RunView): readonly string[] => v.schedule.slice(0, LISTED_MAX).map((w) => {
  const reserved = w.reserved === null ? '' : `, ${amount('usd_micros', w.reserved.usd_micros)} reserved`;
  return `to ${short(w.intent)}: ${w.owner === 'person' ? 'a person' : w.owner}${w.at === null ? '' : `, ${w.at.slice(0, 19)}Z`}${reserved}${w.endsEarly.length === 0 ? '' : `; earlier if ${w.endsEarly.map((e) => short(e)).join(', or ')}`}; bound: ${short(w.bound)}`;
}).concat(v.schedule.length > LISTED_MAX ? [`and ${v.schedule.length - LISTED_MAX} more`] : []);
