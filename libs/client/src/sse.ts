/** Reads server-sent events off a stream, as far as the API uses them: comments are skipped, data is one line or several. */
export interface ServerEvent { readonly id: string | undefined; readonly data: string }

/** One event may hold at most so many characters. */
const EVENT_CHARS_MAX = 4_000_000;

export async function* serverEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const block = rest.slice(0, end);
      rest = rest.slice(end + 2);
      const event = parsed(block);
      if (event !== undefined) yield event;
    }
    if (rest.length > EVENT_CHARS_MAX) throw new Error('a server-sent event is larger than this client takes');
  }
}

function parsed(block: string): ServerEvent | undefined {
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    if (at <= 0) continue; // a comment, or no field
    const value = line.slice(at + 1).replace(/^ /, '');
    if (line.startsWith('id:')) id = value;
    if (line.startsWith('data:')) data.push(value);
  }
  return data.length === 0 ? undefined : { id, data: data.join('\n') };
}
