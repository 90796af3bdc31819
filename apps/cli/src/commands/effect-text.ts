/** What became of an effect, as text for a terminal: each attempt with its times, where it went, and why it came to nothing. Rows: EFF-3, EFF-8. */
import type { http } from '@n17q/contracts';
import type { EventEnvelope } from '@n17q/domain';
import { line } from '../terminal/plain.js';
import { count } from './amounts.js';
import { moment } from './moments.js';
import { tail } from './names.js';

const short = (text: string, max = 100): string => line(text, max);
const plural = (n: number, what: string): string => `${count(n)} ${what}${n === 1 ? '' : 's'}`;

/** Causes that everybody meets, in words; another one is said as it is. */
const CAUSES: { readonly [cause: string]: string } = {
  ECONNREFUSED: 'nothing listens there', ECONNRESET: 'the connection was cut before the answer', ENOTFOUND: 'there is no such host', EHOSTUNREACH: 'the host cannot be reached', ETIMEDOUT: 'no connection came about in time',
  CLAIM_EXPIRED: 'whoever made the attempt said nothing more before its claim ran out', NO_CONNECTOR: 'no connector for the tool is there', TIMEOUT: 'no answer came in time',
};
export function causeText(cause: string): string {
  const known = Object.hasOwn(CAUSES, cause) ? CAUSES[cause] : undefined;
  return known === undefined ? short(cause, 200) : `${cause}: ${known}`;
}

/** Why the last attempt came to nothing, and of one of unknown outcome when and where it went. */
function lastLine(e: http.ShownEffect): readonly string[] {
  const last = e.attempts.at(-1);
  const why = last?.cause === null || last?.cause === undefined ? '' : ` (${causeText(last.cause)})`;
  if (last === undefined) return [];
  if (last.end === 'unknown') return [`  begun ${moment(last.startedAt)} to ${short(e.scope.target)}; its outcome is unknown since ${moment(last.endedAt ?? last.startedAt)}${why}`];
  if (last.end === 'not-sent') return [`  not sent to ${short(e.scope.target)}, ${moment(last.endedAt ?? last.startedAt)}${why}`];
  return last.end === 'refused' ? [`  refused by ${short(e.scope.target)}, ${moment(last.endedAt ?? last.startedAt)}${why}`] : [];
}

export function effectLines(run: string, e: http.ShownEffect): string {
  const [r, id] = [tail(run), tail(e.effect)];
  return [
    `${e.effect}  ${short(e.tool)} on ${short(e.scope.target)}: ${e.stage}${e.unresolved ? ' (UNRESOLVED)' : ''}, contract ${e.contract.kind}, ${plural(e.attempts.length, 'attempt')}, ${plural(e.looks, 'look')}${e.duplicated > 1 ? `, SEEN ${count(e.duplicated)} TIMES` : ''}${e.migratedTo === null ? '' : `, looked at as ${short(e.migratedTo)}`}${e.evidenceErased ? ', evidence erased' : ''}`,
    ...lastLine(e),
    ...(e.unresolved ? [`  may do by itself: ${e.allowed.map((a) => short(a)).join(', ') || 'nothing'}`] : []),
    ...(e.prohibited === null ? [] : [`  prohibited: ${short(e.prohibited, 200)}`]),
    ...(e.needsPerson === null ? [] : [`  needs a person: ${short(e.needsPerson, 200)}`]),
    ...(e.stage === 'unknown' ? [`  ./n17q finding ${r} ${id} --happened${e.evidenceErased ? '' : '|--did-not'} --evidence FILE`] : []),
    ...(e.attempts.length > 0 ? [`  ./n17q output ${r} ${id} shows what it does, and its attempts`] : []),
    ...(e.needsPerson?.startsWith('MIGRATION_NEEDED') ? [`  ./n17q migrate-effect ${r} ${id} --to TOOL --reason TEXT`] : []),
  ].join('\n');
}

const AS = { happened: 'it happened', 'did-not-happen': 'it did not happen' } as const;
const BY = { receipt: 'by a receipt', query: 'by asking the target', finding: 'by a person\'s finding', 'late-reply': 'by a late reply' } as const;
export const settledLine = (x: http.RunView['settled'][number]): string => `${x.effect}  ${short(x.tool)}: ${AS[x.as]}, known ${moment(x.at)} ${BY[x.by]} (event ${x.revision})`;

const iso = (ms: number): string => new Date(ms).toISOString();
/** The effect's attempts and what is known of each, one line each, in their order. `events`: of the run, oldest first. */
export function attemptLines(events: readonly EventEnvelope[], effect: string): readonly string[] {
  const lines: string[] = [];
  let [n, target] = [0, ''];
  for (const e of events) {
    if (!('effect' in e.data) || e.data.effect !== effect) continue;
    const at = moment(iso(e.recordedAt));
    switch (e.type) {
      case 'effect.intended': target = short(e.data.scope.target); break;
      case 'effect.attempt-started': n = e.data.attemptNumber; lines.push(`attempt ${n}: claimed ${at}, to be sent to ${target} before ${moment(iso(e.data.dispatchBy))}`); break;
      case 'effect.observed': lines.push(`attempt ${n}: answered ${at}${e.data.ok ? '' : ', reporting failure'}`); break;
      case 'effect.refused': lines.push(`attempt ${n}: refused ${at} (${causeText(e.data.cause)})`); break;
      case 'effect.not-sent': lines.push(`attempt ${n}: not sent, ${at} (${causeText(e.data.cause)})`); break;
      case 'effect.outcome-unknown': lines.push(`attempt ${n}: outcome unknown since ${at} (${causeText(e.data.cause)})`); break;
      case 'effect.looked': lines.push(`look ${e.data.look}: ${e.data.answer}, ${at}${e.data.cause === '' ? '' : ` (${causeText(e.data.cause)})`}`); break;
      case 'effect.reconciled': lines.push(`settled ${at}: ${AS[e.data.as]}, ${BY[e.data.by]}`); break;
      case 'effect.denied': lines.push(`denied ${at}: ${short(e.data.reason, 300)} (${e.data.code})`); break;
      case 'effect.withdrawn': lines.push(`withdrawn ${at}: ${short(e.data.reason, 300)}`); break;
      default: break;
    }
  }
  return lines;
}
