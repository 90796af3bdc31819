/**
 * What a run did, for a person to read: the change of its workspace, what the model and the tools said, and any one event in full.
 *
 * C1. Everything here was written by somebody else: it is bounded, each line stands behind a bar, and no control character reaches a terminal.
 * C2. Continuations are not asked for: they are the gateway's alone.
 *
 * Rows: RUN-2, CON-1.
 */
import { N17qProblem, type N17qClient } from '@n17q/client';
import { contentRefsIn, type ContentRef, type EventEnvelope, type OutputPart } from '@n17q/domain';
import { plain } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { size } from './amounts.js';
import { withRun } from './api.js';
import { attemptLines, causeText } from './effect-text.js';
import { eventsOf } from './events-of.js';
import { END_CHARS_MIN, theOne } from './names.js';
import type { Output } from './output.js';

const EACH_MAX = 2_000;
const WHOLE_MAX = 100_000;
const ALL_MAX = 400_000;

export interface Said { /** 0: of no single event. */ readonly revision: number; readonly what: string; readonly text: string; readonly cut: boolean }

/** Somebody else's text, each line behind a bar. */
export const barred = (text: string): string => plain(text).split('\n').map((l) => `  | ${l}`).join('\n');
const cutTo = (text: string, max: number): { readonly text: string; readonly cut: boolean } => ({ text: text.slice(0, max).toWellFormed(), cut: text.length > max });

/** A model's stored output as it reads; undefined: not in that form. */
export function spoken(stored: string): string | undefined {
  try {
    const { parts } = JSON.parse(stored) as { readonly parts?: readonly OutputPart[] };
    return parts?.flatMap((p) => (p.kind === 'text' ? [p.text] : p.kind === 'call' ? [`calls ${p.tool}(${JSON.stringify(p.args)})`] : [])).join('\n');
  } catch {
    return undefined;
  }
}

/** A content that is not there hides no other. */
const GONE: { readonly [code: string]: string } = { ERASED: '(erased)', NOT_FOUND: '(not there any more)', NOT_AT_HAND: '(not at hand just now)', CONTENT_ALTERED: '(ALTERED: it is not what the log names; ./n17q doctor says more)' };
async function textOf(client: N17qClient, run: string, ref: ContentRef): Promise<string> {
  if (ref.class === 'continuation') return '(the provider\'s own, which only the gateway reads)'; // keeps C2
  let bytes: Uint8Array;
  try {
    bytes = await client.content(run, ref.commitment);
  } catch (e) {
    if (!(e instanceof N17qProblem) || !Object.hasOwn(GONE, e.code)) throw e;
    return GONE[e.code] as string;
  }
  if (!/^(text\/|application\/json)/u.test(ref.media)) return `(${size(bytes.length)} of ${ref.media})`;
  const text = new TextDecoder().decode(bytes);
  return (ref.class === 'model-output' ? spoken(text) : undefined) ?? text;
}

/** What in this event is worth reading without being asked for. */
export function telling(e: EventEnvelope, toolOf: ReadonlyMap<string, string>): { readonly what: string; readonly ref: ContentRef } | { readonly what: string; readonly words: string } | undefined {
  const tool = 'effect' in e.data && typeof e.data.effect === 'string' ? (toolOf.get(e.data.effect) ?? 'a tool') : '';
  switch (e.type) {
    case 'generation.accepted': return { what: 'the model said', ref: e.data.output };
    case 'effect.observed': return { what: `${tool} answered${e.data.ok ? '' : ', reporting failure'}`, ref: e.data.text };
    case 'call.refused': return { what: `the call of ${e.data.tool} was refused (${e.data.code}); the model is told why`, words: e.data.reason };
    case 'effect.denied': return { what: `the call of ${tool} was denied by the gate (${e.data.code}); the model is told why`, words: e.data.reason };
    case 'effect.not-sent': return { what: `the call of ${tool} was not sent`, words: causeText(e.data.cause) };
    case 'effect.outcome-unknown': return { what: `the call of ${tool} has an unknown outcome`, words: causeText(e.data.cause) };
    case 'effect.refused': return { what: `${tool} refused (${e.data.cause})`, ref: e.data.text };
    case 'effect.reconciled': return e.data.text === null ? undefined : { what: `${tool} ${e.data.as === 'happened' ? 'happened' : 'did not happen'}, by ${e.data.by}`, ref: e.data.text };
    case 'input.received': return { what: 'a person said', ref: e.data.text };
    case 'note.added': return { what: 'a person noted', ref: e.data.text };
    default: return undefined;
  }
}

const saidText = (run: string, s: Said): string => `${s.revision === 0 ? '' : `event ${s.revision}: `}${plain(s.what)}\n${barred(s.text)}${s.cut ? `\n  (cut; ./n17q output ${run} ${s.revision} shows more)` : ''}`;

async function everythingSaid(client: N17qClient, run: string): Promise<readonly Said[]> {
  const events = await eventsOf(client, run);
  const toolOf = new Map(events.flatMap((e) => (e.type === 'effect.intended' ? [[e.data.effect, e.data.tool] as const] : [])));
  const said: Said[] = [];
  let chars = 0;
  for (const e of events) {
    const t = telling(e, toolOf);
    if (t === undefined) continue;
    if (chars > ALL_MAX) { said.push({ revision: e.revision, what: `there is more from here on; ./n17q output ${run} EVENT shows each`, text: '', cut: false }); break; }
    const text = cutTo('ref' in t ? await textOf(client, run, t.ref) : t.words, EACH_MAX);
    chars += text.text.length;
    said.push({ revision: e.revision, what: t.what, ...text });
  }
  return said;
}

/** One event in full, with the contents that it cites. */
async function wholeEvent(client: N17qClient, run: string, e: EventEnvelope): Promise<readonly Said[]> {
  const contents: Said[] = [];
  for (const ref of contentRefsIn(e.data)) contents.push({ revision: e.revision, what: `${ref.class}, ${size(ref.bytes)}`, ...cutTo(await textOf(client, run, ref), WHOLE_MAX) });
  return [{ revision: e.revision, what: `${e.type}, by ${e.writer}, ${new Date(e.recordedAt).toISOString()}`, ...cutTo(JSON.stringify(e.data, null, 2), WHOLE_MAX) }, ...contents];
}

/** The end of an effect's id may be digits alone. */
const isEnd = (given: string, events: readonly EventEnvelope[]): boolean => given.length >= END_CHARS_MIN && events.some((e) => e.type === 'effect.intended' && e.data.effect.endsWith(given));

/** The events that `given` names: one revision, or all that are about an effect. */
async function named(client: N17qClient, run: string, given: string): Promise<{ readonly events: readonly EventEnvelope[]; readonly attempts: readonly string[] }> {
  const events = await eventsOf(client, run);
  if (/^\d{1,9}$/u.test(given)) {
    const e = events.find((x) => x.revision === Number(given));
    if (e === undefined && !isEnd(given, events)) throw new Trouble(`Run ${run} has no event ${given}: it has ${events.length}; ./n17q show ${run} --events lists them.`);
    if (e !== undefined) return { events: [e], attempts: [] };
  }
  const effect = theOne(given, events.flatMap((e) => (e.type === 'effect.intended' ? [e.data.effect] : [])), 'effect', `./n17q show ${run} --events lists them`, 'eff');
  const about = events.filter((e) => (e.type === 'effect.intended' && e.data.effect === effect) || (contentRefsIn(e.data).length > 0 && 'effect' in e.data && e.data.effect === effect));
  return { events: about, attempts: attemptLines(events, effect) };
}

export async function outputCommand(given: string, event: string | undefined, out: Output): Promise<void> {
  const { run, said } = await withRun(given, async (client, run) => {
    if (event === undefined) return { run, said: await everythingSaid(client, run) };
    const list: Said[] = [];
    const { events, attempts } = await named(client, run, event);
    if (attempts.length > 0) list.push({ revision: 0, what: 'what became of it', text: attempts.join('\n'), cut: false });
    for (const e of events) list.push(...(await wholeEvent(client, run, e)));
    return { run, said: list };
  });
  out.answer({ run, said }, () => (said.length === 0 ? 'Nobody has said anything in this run yet.' : `Words of models, tools and people, as they came; each line behind a bar.\n\n${said.map((s) => saidText(run, s)).join('\n\n')}`));
}

/** A patch for reading: of a binary file, that it changed, not its bytes. */
export function readable(patch: string): string {
  return patch.split(/^(?=diff --git )/mu).map((file) => {
    const at = file.search(/^GIT binary patch$/mu);
    return at < 0 ? file : `${file.slice(0, at)}(a binary file; into a pipe or file its bytes come too)\n`;
  }).join('');
}

/** On a terminal behind bars; into a pipe or file as it is, so that `git apply` reads it. */
export async function diffCommand(given: string, out: Output): Promise<void> {
  const { run, diff } = await withRun(given, async (client, run) => ({ run, diff: await client.diff(run) }));
  const onTerminal = process.stdout.isTTY === true;
  if (!out.json && !onTerminal && diff !== '') { process.stdout.write(diff); return; }
  out.answer({ run, diff }, () => (diff === '' ? 'The run has changed nothing in its workspace.' : barred(readable(diff).trimEnd())));
}
