/**
 * The provider's parts, split into what everybody may read and what only the gateway keeps.
 *
 * Shared by whole answers and (chunk by chunk) streams: parts are appended, never joined.
 *
 * O1. Every part of the answer has its own place in the output; nothing is merged or left out, however empty.
 * O2. A signature beside a text or a call is kept as the JSON string token that came. A thought, a signed empty text and a
 *     part of a kind that we do not know is kept whole as it came.
 * O3. On text and calls these fields are dropped: `partMetadata`, `videoMetadata`, `thought: false`.
 *
 * Rows: CON-1, RUN-5.
 */
import type { Json, OpaquePiece, OutputPart } from '@n17q/domain';
import { memberSpan, sliceOf, type Span } from '../json-spans.js';

export type PartsFault = 'CALL_MALFORMED' | 'CALL_ID_DUPLICATE';
export type ReadParts =
  | { readonly kind: 'parts'; readonly parts: readonly OutputPart[]; readonly pieces: readonly OpaquePiece[] }
  | { readonly kind: 'fault'; readonly fault: PartsFault; readonly detail: string };

const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/;
const CALL_ID_CHARS_MAX = 256;
const CALL_FIELDS = new Set(['id', 'name', 'args']);
const SIDE_FIELDS = new Set(['text', 'functionCall', 'function_call', 'thought', 'thoughtSignature', 'thought_signature', 'partMetadata', 'part_metadata', 'videoMetadata', 'video_metadata']);

/** `text` is the answer's JSON; `spans` the places of its parts in order. */
export function readParts(text: string, spans: readonly Span[], newCallId: (partIndex: number) => string): ReadParts {
  const parts: OutputPart[] = [];
  const pieces: OpaquePiece[] = [];
  const ids = new Set<string>();
  const fault = (code: PartsFault, partIndex: number, why: string): ReadParts => ({ kind: 'fault', fault: code, detail: `part ${partIndex}: ${why}` });
  for (const [partIndex, span] of spans.entries()) {
    const value: unknown = JSON.parse(sliceOf(text, span));
    if (!isObject(value)) return fault('CALL_MALFORMED', partIndex, 'not an object');
    const call = value['functionCall'] ?? value['function_call'];
    if (call !== undefined) {
      const why = callFault(call, text, memberSpan(text, span, 'functionCall') ?? memberSpan(text, span, 'function_call'));
      if (why !== undefined) return fault('CALL_MALFORMED', partIndex, why);
    } else if (isOpaque(value)) {
      parts.push({ kind: 'opaque' });
      pieces.push({ partIndex, placement: 'part', bytes: Buffer.from(sliceOf(text, span)) });
      continue;
    }
    const token = memberSpan(text, span, 'thoughtSignature') ?? memberSpan(text, span, 'thought_signature');
    if (token !== undefined) {
      if (text[token.start] !== '"') return fault('CALL_MALFORMED', partIndex, 'a signature that is no string');
      pieces.push({ partIndex, placement: 'side', bytes: Buffer.from(sliceOf(text, token)) }); // keeps O2
    }
    if (call === undefined) { parts.push({ kind: 'text', text: value['text'] as string }); continue; }
    const { id, name, args } = call as { id?: string; name: string; args?: Json };
    if (id !== undefined && ids.has(id)) return fault('CALL_ID_DUPLICATE', partIndex, 'two calls share one id');
    if (id !== undefined) ids.add(id);
    // the whole answer has arrived, so an absent `args` is the wire's form of no arguments
    parts.push({ kind: 'call', callId: newCallId(partIndex), tool: name, args: args ?? {}, ...(id === undefined ? {} : { providerCallId: id }) });
  }
  return { kind: 'parts', parts, pieces };
}

function isOpaque(part: Readonly<Record<string, unknown>>): boolean {
  if (part['thought'] === true || typeof part['text'] !== 'string') return true;
  if (Object.keys(part).some((key) => !SIDE_FIELDS.has(key))) return true;
  return part['text'] === '' && (part['thoughtSignature'] ?? part['thought_signature']) !== undefined;
}

function callFault(call: unknown, text: string, span: Span | undefined): string | undefined {
  if (!isObject(call) || span === undefined) return 'the call is no object';
  if (typeof call['name'] !== 'string' || !TOOL_NAME.test(call['name'])) return 'the call has no legal name';
  if (call['args'] !== undefined && !isObject(call['args'])) return 'the arguments are no object';
  if (call['id'] !== undefined && (typeof call['id'] !== 'string' || call['id'] === '' || call['id'].length > CALL_ID_CHARS_MAX)) return 'the id is no bounded text';
  if (Object.keys(call).some((key) => !CALL_FIELDS.has(key))) return 'the call has fields that we do not know';
  const args = memberSpan(text, span, 'args');
  return args !== undefined && hasInexactNumber(sliceOf(text, args)) ? 'an argument is a number that cannot be kept exactly' : undefined;
}

/** A whole number that would be written back with other digits must not become an argument of an effect. */
function hasInexactNumber(json: string): boolean {
  let inexact = false;
  const reviver = (_key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value === 'number' && (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value) && digitsOf(String(value)) !== digitsOf(context?.source ?? '')))) inexact = true;
    return value;
  };
  JSON.parse(json, reviver as (key: string, value: unknown) => unknown);
  return inexact;
}

/** The significant digits of a number's text and their place, whether it is written with a point, an exponent or neither. */
function digitsOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end--;
  return `${sign}${digits.slice(0, end)}E${Number(power) - fraction.length + digits.length - end}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
