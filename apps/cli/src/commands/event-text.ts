/** A run's events as text for a terminal: one line each, with what its data says. */
import type { EventEnvelope } from '@n17q/domain';
import { line, table } from '../terminal/plain.js';
import { amount, size } from './amounts.js';

const CHARS_MAX = 400;
const VALUE_MAX = 120;
/** Digests and salts: there to be compared by programs. The event's whole data is one command away. */
const UNSAID = new Set(['owner', 'previous', 'version', 'mapping', 'compiler', 'handle', 'partIndex', 'placement', 'schemaVersion', 'subject', 'key', 'wire', 'wirePrefix', 'manifest', 'exact', 'sealed', 'native', 'schemaDigest', 'tenant']);
/** What tells most comes first; the rest follows as it stands. */
const FIRST = ['tool', 'stage', 'code', 'reason', 'cause', 'form', 'as', 'by', 'how', 'verdict', 'answer', 'ok', 'finish', 'calls', 'decision', 'summary', 'title', 'text', 'effect', 'call', 'generation'];
const DIMENSIONS = ['usd_micros', 'tokens', 'calls'];

type Data = { readonly [key: string]: unknown };
const isData = (v: unknown): v is Data => v !== null && typeof v === 'object' && !Array.isArray(v);
const shortened = (text: string): string => line(text.replaceAll(/\b(c1\.)?([0-9a-f]{12})[0-9a-f]{20,}\b/gu, '$1$2…'), VALUE_MAX);

function told(v: unknown): string | undefined {
  if (v === null || v === undefined || v === '') return undefined;
  if (typeof v === 'string') return shortened(v);
  if (typeof v === 'number' || typeof v === 'boolean') return String(v);
  if (typeof v !== 'object') return undefined;
  if (Array.isArray(v)) {
    if (v.length === 0) return undefined;
    const each = v.map((x) => (isData(x) && typeof x['tool'] === 'string' ? x['tool'] : (told(x) ?? ''))).filter((x) => x !== '');
    return each.length === 0 ? String(v.length) : v.length === 1 || v.every((x) => typeof x === 'string') ? shortened(each.join(', ')) : `${v.length}: ${shortened(each.join(', '))}`;
  }
  const d = v as Data;
  if (typeof d['commitment'] === 'string' && typeof d['bytes'] === 'number') return `${String(d['class'])} of ${size(d['bytes'])}`;
  if (typeof d['account'] === 'string' && typeof d['model'] === 'string') return shortened(`${d['account']}/${d['model']}`);
  if (DIMENSIONS.every((x) => typeof d[x] === 'number')) return DIMENSIONS.map((x) => (x === 'usd_micros' ? amount(x, d[x] as number) : `${amount(x, d[x] as number)} ${x}`)).join(' ');
  const inner = Object.entries(d).filter(([k]) => !UNSAID.has(k)).flatMap(([k, x]) => { const t = told(x); return t === undefined ? [] : [`${k} ${t}`]; });
  return inner.length === 0 ? undefined : `(${inner.join(', ')})`;
}

/** What the event says, in at most 400 characters. */
export function gist(e: EventEnvelope): string {
  const d = e.data as Data;
  const entries = [...FIRST.filter((k) => k in d), ...Object.keys(d).filter((k) => !FIRST.includes(k))].map((k) => [k, d[k]] as const);
  const words = entries.filter(([k]) => !UNSAID.has(k)).flatMap(([k, v]) => { const t = told(v); return t === undefined ? [] : [`${line(k, 40)} ${t}`]; });
  return line(words.join(', '), CHARS_MAX);
}
export const eventRows = (events: readonly EventEnvelope[]): string => table(events.map((e) => [String(e.revision), new Date(e.recordedAt).toISOString().slice(11, 23), line(e.type, 40), gist(e)]));
