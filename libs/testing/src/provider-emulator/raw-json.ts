/**
 * The source text of members and items of a JSON value. Written apart from the adapter's own scan: a shared mistake there
 * would be invisible here. Only for text that `JSON.parse` has accepted.
 */
interface Token { readonly at: number; readonly end: number; readonly depth: number; readonly char: string }

/** Strings count as one token; so do the characters of structure. */
function* structure(text: string): Generator<Token> {
  let depth = 0;
  for (const match of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]/gs)) {
    const char = (match[0] as string)[0] as string;
    if (char === '}' || char === ']') depth -= 1;
    yield { at: match.index, end: match.index + match[0].length, depth, char };
    if (char === '{' || char === '[') depth += 1;
  }
}

/** Source of the member `name` of the object that `text` is; the last one, if it stands there more than once. */
export function memberSource(text: string, ...names: readonly string[]): string | undefined {
  let found: string | undefined;
  let key: string | undefined;
  let from = -1;
  for (const token of structure(text)) {
    if (token.depth === 1 && token.char === '"' && from < 0) key = JSON.parse(text.slice(token.at, token.end)) as string;
    if (token.depth === 1 && token.char === ':') from = token.end;
    if ((token.depth === 1 && token.char === ',') || (token.depth === 0 && token.char === '}')) {
      if (from >= 0 && key !== undefined && names.includes(key)) found = text.slice(from, token.at).trim();
      from = -1;
    }
  }
  return found;
}

/** For each item of the array that `text` is: what stands between the opening bracket and the item, unchanged. */
export function textBeforeItems(text: string): string[] {
  const before: string[] = [];
  const inside = text.indexOf('[') + 1;
  let end = inside;
  for (const token of structure(text)) {
    if ((token.depth === 1 && token.char === ',') || (token.depth === 0 && token.char === ']')) {
      before.push(text.slice(inside, end));
      end = token.at;
    }
  }
  return before;
}

/** What stands inside the brackets of the array that `text` is. */
export function insideOf(text: string): string {
  return text.slice(text.indexOf('[') + 1, text.lastIndexOf(']'));
}

/** JSON with sorted keys, to compare values. */
export function canonical(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  return `{${Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}
