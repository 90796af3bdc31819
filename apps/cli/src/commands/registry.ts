/**
 * What a publication of tools makes of the registry that stands.
 *
 * W2. A tool of another server or connector is never replaced but where the person names it; nothing else is taken away.
 * W3. A tool that is new here begins above the registry's revision: an earlier tool of its name may have been removed, and what is unresolved is bound to its revision.
 * W4. Removing takes all named tools away, or none.
 *
 * Rows: TOOL-1, TOOL-3.
 */
import type { ToolMapping } from '@n17q/domain';
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';

type Known = Pick<ToolMapping, 'name' | 'server' | 'connector'>;
export const providerOf = (t: Known): string => `${line(String(t.server), 80)} (${line(String(t.connector.kind), 40)})`;
const sameProvider = (a: Known, b: Partial<Known>): boolean => a.server === b.server && a.connector.kind === b.connector?.kind;

/** Throws where a name belongs to another server or connector and is not among `replace`, and where `replace` names what is not published. */
export function requireFreeNames(now: readonly ToolMapping[], added: readonly ToolMapping[], replace: readonly string[], file: string): void {
  const idle = replace.filter((name) => !added.some((t) => t.name === name));
  if (idle.length > 0) throw new Trouble(`--replace names ${idle.map((n) => line(n, 80)).join(', ')}, which ${line(file)} does not have: name tools of the file.`, true);
  const taken = now.filter((t) => !replace.includes(t.name) && added.some((a) => a.name === t.name && !sameProvider(t, a)));
  if (taken.length === 0) return;
  const names = taken.map((t) => t.name).join(',');
  throw new Trouble(`Nothing was published: ${taken.map((t) => `${line(t.name, 80)} is provided by ${providerOf(t)}`).join(', ')} now. Give the new tools other names with ./n17q tool draft … --prefix PREFIX_, or say that they take that place: ./n17q tool publish ${line(file)} --replace ${line(names, 2000)}`);
}

/** The registry with these tools added, or put in the place of those with the same names, with a higher revision. */
export function withTools(now: readonly ToolMapping[], added: readonly ToolMapping[], registryRevision: number): readonly ToolMapping[] {
  const next = added.map((t) => ({ ...t, mappingRevision: Math.max(t.mappingRevision, (now.find((x) => x.name === t.name)?.mappingRevision ?? registryRevision) + 1) })); // keeps W3
  return [...now.filter((t) => !next.some((x) => x.name === t.name)), ...next];
}

/** Throws for names that the registry does not have, and for tools of the stack itself (keeps W4). */
export function withoutTools(now: readonly ToolMapping[], names: readonly string[], isStacks: (t: ToolMapping) => boolean): readonly ToolMapping[] {
  const unknown = names.filter((name) => !now.some((t) => t.name === name));
  if (unknown.length > 0) throw new Trouble(`Nothing was removed: the registry has no ${unknown.map((n) => line(n, 80)).join(', ')}. ./n17q tool list says what it has.`, true);
  const own = now.filter((t) => names.includes(t.name) && isStacks(t));
  if (own.length > 0) throw new Trouble(`Nothing was removed: ${own.map((t) => line(t.name, 80)).join(', ')} ${own.length === 1 ? 'is a tool' : 'are tools'} of the stack itself, which ./n17q up would publish again. Forbid ${own.length === 1 ? 'it' : 'them'} with a rule instead (./n17q policy publish)${own.some((t) => t.name === 'run_tests') ? '; without a test command (N17Q_TEST_CMD= ./n17q up) there is no run_tests' : ''}.`, true);
  return now.filter((t) => !names.includes(t.name));
}
