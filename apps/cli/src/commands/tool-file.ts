/**
 * A file of tools, as `tool draft` writes it or a person by hand, and where in it something is wrong.
 *
 * F1. What is no list of tools is told in one sentence that says what to do; nothing was sent by then.
 * F2. Nothing is added to a mapping but the digest of its schema and its first revision, where they are left out.
 *
 * Rows: TOOL-1.
 */
import { readFileSync } from 'node:fs';
import { digestOf, http } from '@n17q/contracts';
import type { Json, ToolMapping } from '@n17q/domain';
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';

const FORM = 'a file of tools is {"tools": [{"name": …}, …]}, as ./n17q tool draft writes it; docs/tools.md describes it';
const isRecord = (v: unknown): v is Record<string, Json> => v !== null && typeof v === 'object' && !Array.isArray(v);

function parsed(file: string): unknown {
  let text: string;
  try { text = readFileSync(file, 'utf8'); } catch (e) { throw new Trouble(`${line(file)} cannot be read (${String((e as NodeJS.ErrnoException).code)}): name a file of tools, such as one that ./n17q tool draft wrote.`, true); }
  if (text.trim() === '') throw new Trouble(`${line(file)} is empty: ${FORM}.`, true);
  try { return JSON.parse(text); } catch (e) { throw new Trouble(`${line(file)} is not JSON (${line(String((e as Error).message), 200)}): ${FORM}.`, true); }
}

/** The registry as it is sent must fit into one request. `usage`: the file alone is too large. */
export function requireSize(file: string, tools: readonly ToolMapping[], usage: boolean): void {
  const bytes = Buffer.byteLength(JSON.stringify({ tools }));
  if (bytes <= http.HTTP_BODY_BYTES_MAX) return;
  throw new Trouble(`${usage ? `${line(file)} holds ${bytes} bytes of tools` : `With ${line(file)} the registry would have ${bytes} bytes`}, at most ${http.HTTP_BODY_BYTES_MAX} are taken: leave out tools that nobody needs${usage ? '' : ' or ./n17q tool remove some'}, or shorten descriptions and schemas.`, usage);
}

export function toolsIn(file: string): readonly ToolMapping[] {
  const given = parsed(file);
  if (!isRecord(given) || !Array.isArray(given['tools'])) throw new Trouble(`${line(file)} holds ${given === null ? 'null' : Array.isArray(given) ? 'an array' : isRecord(given) ? 'no list "tools"' : `a ${typeof given}`}: ${FORM}.`, true);
  const list = given['tools'] as readonly Json[];
  if (list.length === 0) throw new Trouble(`${line(file)} names no tools: ${FORM}.`, true);
  const other = Object.keys(given).find((k) => k !== 'tools');
  if (other !== undefined) throw new Trouble(`${line(file)} has ${line(other, 60)} beside "tools": ${FORM}.`, true);
  const names = new Set<string>();
  const tools = list.map((t, n) => {
    if (!isRecord(t) || typeof t['name'] !== 'string' || t['name'] === '') throw new Trouble(`The ${ordinal(n + 1)} entry of "tools" in ${line(file)} is no tool with a name: ${FORM}.`, true);
    if (names.has(t['name'])) throw new Trouble(`${line(file)} has two tools named ${line(t['name'], 80)}: give one of them another name.`, true);
    names.add(t['name']);
    return { mappingRevision: 1, ...(t['schema'] === undefined ? {} : { schemaDigest: digestOf(t['schema']) }), ...t } as unknown as ToolMapping; // keeps F2
  });
  requireSize(file, tools, true);
  return tools;
}

const ordinal = (n: number): string => `${n}${n % 100 >= 11 && n % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th')}`;

/** Places in the registry that was sent, as places in the tool that a person knows by its name. */
export const byName = (detail: string, tools: readonly Pick<ToolMapping, 'name'>[]): string =>
  detail.replaceAll(/\/tools\/(\d+)(?=[/:])(\/[^\s:]+)?:?/gu, (whole, n: string, rest: string | undefined) => {
    const t = tools[Number(n)];
    return t === undefined ? whole : `tool ${line(String(t.name), 80)}:${rest === undefined ? '' : ` ${rest}:`}`;
  });
