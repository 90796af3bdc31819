/**
 * Where the members of a JSON value stand in its text, so that a provider's bytes can be kept exactly as they came.
 *
 * Only for text that `JSON.parse` has accepted: the scan trusts the grammar. The last of equal keys wins, as in the parse.
 *
 * Rows: CON-1.
 */
export interface Span { readonly start: number; readonly end: number }

export function wholeSpan(text: string): Span {
  const start = skipSpace(text, 0);
  return { start, end: valueEnd(text, start) };
}

export function sliceOf(text: string, span: Span): string {
  return text.slice(span.start, span.end);
}

/** Spans of an array's items; empty for anything else. */
export function itemSpans(text: string, span: Span): Span[] {
  const items: Span[] = [];
  if (text[span.start] !== '[') return items;
  let at = skipSpace(text, span.start + 1);
  while (at < span.end && text[at] !== ']') {
    const end = valueEnd(text, at);
    items.push({ start: at, end });
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return items;
}

/** Span of an object's member; undefined if there is none or the value is no object. */
export function memberSpan(text: string, span: Span | undefined, name: string): Span | undefined {
  if (span === undefined || text[span.start] !== '{') return undefined;
  let found: Span | undefined;
  let at = skipSpace(text, span.start + 1);
  while (at < span.end && text[at] !== '}') {
    const keyEnd = stringEnd(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    if (key === name) found = { start, end };
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return found;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\r\n'.includes(text[at] as string)) at += 1;
  return at;
}

function stringEnd(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function valueEnd(text: string, from: number): number {
  const first = text[from];
  if (first === '"') return stringEnd(text, from);
  let at = from;
  if (first !== '{' && first !== '[') {
    while (at < text.length && !',]} \t\r\n'.includes(text[at] as string)) at += 1;
    return at;
  }
  let depth = 0;
  while (at < text.length) {
    const c = text[at];
    if (c === '"') { at = stringEnd(text, at); continue; }
    if (c === '{' || c === '[') depth += 1;
    if (c === '}' || c === ']') depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
  return at;
}
