/** What a run retrieved: shown, approved for replays, rejected. What sources say is somebody else's text. */
import type { http } from '@n17q/contracts';
import { line } from '../terminal/plain.js';
import { withRun } from './api.js';
import { theOne } from './names.js';
import type { Output } from './output.js';
import { given } from './words-given.js';

const REPLAY: { readonly [from: string]: string } = { recording: 'a replay uses what was recorded', live: 'a replay retrieves it live', nowhere: 'a replay cannot have it yet' };
const sourceText = (run: string, s: http.ShownSource): string => [
  `${s.source}  ${line(s.identity, 200)}${s.required ? ' (required)' : ''}${s.missing ? ' MISSING' : ''}`,
  `  by ${line(s.tool)}, ${s.retrievedAt.slice(0, 19)}Z, ${s.review}${s.reviewedBy === null ? '' : ` (${line(s.reviewedBy.id)})`}; ${REPLAY[s.replay.from] ?? s.replay.from}${s.replay.why === null ? '' : `: ${line(s.replay.why, 200)}`}`,
  ...(s.excerpt.text === null || s.excerpt.text === '' ? [] : [`  | ${line(s.excerpt.text, 200)}`]),
  ...(s.review === 'unreviewed' && s.content !== null ? [`  ./n17q output ${run} ${s.effect} shows all of it; ./n17q source approve|reject ${run} ${s.source}`] : []),
].join('\n');

export async function sourcesCommand(name: string, out: Output): Promise<void> {
  const { run, view } = await withRun(name, async (client, id) => ({ run: id, view: await client.sources(id) }));
  out.answer(view, () => [...(view.sources.length === 0 ? ['This run has retrieved no source.'] : view.sources.map((s) => sourceText(run, s))), ...(view.omitted === 0 ? [] : [`and ${view.omitted} older, which the log has`])].join('\n'));
}

export async function reviewCommand(word: 'approve' | 'reject', name: string, source: string, o: { readonly note?: string }, out: Output): Promise<void> {
  if (o.note !== undefined) given('note', o.note, 4000);
  const { run, accepted } = await withRun(name, async (client, id) => {
    const { sources } = await client.sources(id);
    const only = theOne(source, sources.map((s) => s.source), 'source', `./n17q sources ${id} lists them`, 'src');
    return { run: id, accepted: await client.reviewSource(id, only, { decision: word === 'approve' ? 'approved' : 'rejected', ...(o.note === undefined ? {} : { note: o.note }) }) };
  });
  out.answer(accepted, () => `The source is ${word === 'approve' ? 'approved: a replay may use what was recorded' : 'rejected: nothing may rest on what was recorded'}. It is in the log at revision ${accepted.revision}; ./n17q sources ${run} shows it.`);
}
