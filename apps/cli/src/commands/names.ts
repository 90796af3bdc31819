/** Names of runs, effects and approvals as people give them: whole, or a beginning or an end that only one thing has. Ids of one moment begin alike; their ends differ. */
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';

export const PREFIX_CHARS_MIN = 4;
export const END_CHARS_MIN = 6;
const TAIL_CHARS = 8;

/** An id as it can be given on the command line: its end, or all of one that is short anyway. */
export const tail = (id: string): string => (id.length <= TAIL_CHARS + 4 ? id : id.slice(-TAIL_CHARS));
const LISTED_MAX = 8;

/** Those of `names` that `given` may mean; a whole name means itself alone. The kind before the first dash may be left out (`effect-01…`, `01…`). */
export function meant(given: string, names: readonly string[], kind?: string): readonly string[] {
  if (names.includes(given)) return [given];
  if (given.length < PREFIX_CHARS_MIN) return [];
  return [...new Set(names)].filter((n) => n.startsWith(given) || (given.length >= END_CHARS_MIN && n.endsWith(given)) || (kind !== undefined && n.startsWith(`${kind}-${given}`)));
}

/** The one that is meant. `what`: "run"; `where`: how to see those that there are. Throws a Trouble that says why there is none, or lists them. */
export function theOne(given: string, names: readonly string[], what: string, where: string, kind?: string): string {
  const found = meant(given, names, kind);
  const [only] = found;
  if (only === undefined) throw new Trouble(`There is no ${what} ${line(given, 80)}${given.length < PREFIX_CHARS_MIN ? ` (a short name has at least ${PREFIX_CHARS_MIN} characters)` : ''}: ${where}.`);
  if (found.length > 1) throw new Trouble(`${line(given, 80)} may be ${found.length} ${what}s, give more of the name: ${found.slice(0, LISTED_MAX).map((n) => line(n, 80)).join(', ')}${found.length > LISTED_MAX ? ', …' : ''}.`, true);
  return only;
}
