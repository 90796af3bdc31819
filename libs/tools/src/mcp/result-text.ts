/**
 * A tool's result as text and evidence. Text stays text; what is none becomes a description with its digest; nothing in it is obeyed.
 *
 * Rows: CTX-6, SEAL-7.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Json } from '@n17q/domain';
import { boundedText } from '../bounded-text.js';

type Part = CallToolResult['content'][number];
const WORD_CHARS_MAX = 200;
const RECEIPT_BYTES_MAX = 1024;

/** A server's word inside a description: one line, without the characters that frame it. */
const word = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}[\]]/gu, ' ').slice(0, WORD_CHARS_MAX).trim();

function described(mimeType: string | undefined, base64: string, more = ''): string {
  const bytes = Buffer.from(base64, 'base64');
  return `[${more}${word(mimeType ?? 'application/octet-stream')}, ${bytes.length} bytes, sha256 ${createHash('sha256').update(bytes).digest('hex')}]`;
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text': return part.text;
    case 'image': case 'audio': return described(part.mimeType, part.data);
    case 'resource_link': return `[link ${word(part.uri)}, ${word(part.name)}]`;
    case 'resource': {
      const { resource } = part;
      return 'text' in resource ? `[resource ${word(resource.uri)}, ${word(resource.mimeType ?? 'text/plain')}]\n${resource.text}` : described(resource.mimeType, resource.blob, `resource ${word(resource.uri)}, `);
    }
    default: { const never: never = part; return `[${word(String((never as { type?: unknown }).type))}]`; }
  }
}

/** Within `bytesMax` bytes. Structured content is given where no text says the same. `whole`: nothing was left out or only described. */
export function resultText(result: CallToolResult, bytesMax: number): { readonly text: string; readonly whole: boolean } {
  const texts = result.content.map(partText);
  const { structuredContent } = result;
  if (structuredContent !== undefined && !result.content.some((p) => p.type === 'text' && isDeepStrictEqual(jsonOf(p.text), structuredContent))) texts.push(JSON.stringify(structuredContent));
  const all = texts.join('\n');
  const text = boundedText(all, bytesMax);
  return { text, whole: text === all && result.content.every((p) => p.type === 'text') };
}

/** The value that a text is the JSON of, else undefined. */
export function jsonOf(text: string): unknown {
  try { return JSON.parse(text) as unknown; } catch { return undefined; }
}

export interface Answerer { readonly tool: string; readonly server: string; readonly protocol: string }

/** What the server answered, as evidence: whole where it is small, else by its digest. */
export function resultReceipt(result: CallToolResult, by: Answerer): Json {
  const text = JSON.stringify(result);
  const bytes = Buffer.byteLength(text);
  const from = { ...by, isError: result.isError === true };
  return bytes <= RECEIPT_BYTES_MAX ? { ...from, result: JSON.parse(text) as Json } : { ...from, resultBytes: bytes, resultSha256: createHash('sha256').update(text).digest('hex') };
}
