/** What runs, for people. Loads little: where nothing runs it should be said at once. */
import { dataDir, placesIn } from '../stack/places.js';
import { statusCode, statusOf, type Status } from '../stack/status.js';
import { line, table } from '../terminal/plain.js';
import type { Output } from './output.js';

const ago = (iso: string): string => {
  const s = Math.max(0, Math.round((Date.now() - Date.parse(iso)) / 1000));
  return s < 90 ? `${s} s ago` : s < 5400 ? `${Math.round(s / 60)} min ago` : s < 129_600 ? `${Math.round(s / 3600)} h ago` : iso.slice(0, 10);
};

export function statusText(s: Status, notes: readonly string[]): string {
  const head = s.stack === 'stopped' ? 'The stack is stopped. ./n17q up starts it.' : `The stack is ${s.stack} (version ${s.version ?? '?'}, ${s.mode === 'separate' ? 'each service its own process' : 'all services in one process'}).`;
  const rows = s.parts.map((p) => [p.name, p.state, p.pid === null ? 'no process' : `pid ${p.pid}`, p.since === null ? '' : `since ${ago(p.since)}`, p.version, p.address ?? '']);
  return [head, ...(rows.length === 0 ? [] : [table(rows)]), ...s.problems.map((p) => `! ${line(p, 400)}`), ...notes.map((n) => `  ${n}`)].join('\n');
}

async function apiSilence(apiUrl: string): Promise<string | undefined> {
  try {
    await fetch(`${apiUrl}/v1/runs`, { signal: AbortSignal.timeout(3_000) }).then((r) => r.body?.cancel());
    return undefined;
  } catch {
    return `The API at ${apiUrl} does not answer.`;
  }
}

export async function statusCommand(out: Output): Promise<void> {
  const s = await statusOf(placesIn(dataDir()).state, apiSilence);
  const notes = s.stack === 'running' ? (await import('./notes.js')).notesOf(s.notes) : s.notes;
  out.answer(s, () => statusText(s, notes));
  process.exitCode = statusCode(s);
}
