/**
 * What one answer of `generateContent` means.
 *
 * I1. Accepted only with a finish reason that we know as good, and at least one part. No finish reason: unknown, not "stop".
 * I2. Calls are handed out only if the output finished as it should; a bad finish wins over calls that happen to parse.
 * I3. A complete answer that we cannot read is unknown: the provider executed something.
 * I4. No byte of a piece, of the credential or of a look-alike stands in a message, cause or observation.
 *
 * | answer | outcome |
 * |---|---|
 * | not sent | not-sent |
 * | cut anywhere | unknown, the transport's cause |
 * | 4xx, own 503 | refused by status (refusals.ts), not executed |
 * | 408, 499, 504 | unknown PROVIDER_TIMEOUT |
 * | other 5xx | unknown SERVER_ERROR |
 * | 1xx–3xx but 200 | unknown UNEXPECTED_STATUS |
 * | 200, not JSON | unknown INVALID_JSON |
 * | 200, error object of class 4xx | refused as that status |
 * | 200, other error object | unknown ERROR_IN_SUCCESS |
 * | 200, prompt blocked | refused PROMPT_BLOCKED |
 * | 200, no candidate / several | unknown NO_CANDIDATE / SEVERAL_CANDIDATES |
 * | 200, no finish reason | unknown NO_TERMINAL_MARKER |
 * | 200, bad finish (finishes.ts) | refused by finish, executed |
 * | 200, malformed call / shared id | refused CALL_MALFORMED / CALL_ID_DUPLICATE, executed |
 * | 200, cut by length with calls | refused CALLS_IN_UNFINISHED_OUTPUT, executed |
 * | 200, good finish, no parts | refused OUTPUT_EMPTY, executed |
 * | 200, call to a tool not offered | accepted, named in `problems` |
 *
 * Rows: EFF-3, CON-1, NAT-1.
 */
import type { OnceOutcome } from '@n17q/platform';
import type { Usage } from '@n17q/domain';
import type { Interpretation, InterpretContext, Observed, RefusalCode, Refused, RetryClass } from '../adapter.js';
import { itemSpans, memberSpan, wholeSpan } from '../json-spans.js';
import { scrubbed } from '../scrub.js';
import { finishOf, type Finish } from './finishes.js';
import { readParts } from './parts.js';
import { signatureOf } from './pieces.js';
import { providerError, refusalOf } from './refusals.js';
import { usageOf } from './usage.js';

export function interpretGemini(outcome: OnceOutcome, context: InterpretContext): Interpretation {
  const known = secretsOf(context);
  if (outcome.kind === 'not-sent') return { kind: 'not-sent', cause: scrubbed(outcome.cause, known) };
  if (outcome.kind === 'cut') return { kind: 'unknown', cause: scrubbed(outcome.cause, known), ...(outcome.status === undefined ? {} : { status: outcome.status }) };
  const text = decoded(outcome.body);
  const json = text === undefined ? undefined : parsed(text);
  const error = providerError(json);
  if (outcome.status !== 200) return refusalOf(outcome.status, outcome.status, error, outcome.headers, known);
  if (text === undefined || json === undefined) return { kind: 'unknown', cause: 'INVALID_JSON', status: 200 };
  if (error !== undefined) {
    return error.code !== undefined && error.code >= 400 && error.code < 500 ? refusalOf(200, error.code, error, outcome.headers, known)
      : { kind: 'unknown', cause: 'ERROR_IN_SUCCESS', status: 200, message: scrubbed(error.message, known) };
  }
  return interpretAnswer(text, json, context, known);
}

function interpretAnswer(text: string, json: unknown, context: InterpretContext, known: readonly string[]): Interpretation {
  if (!isObject(json)) return { kind: 'unknown', cause: 'INVALID_JSON', status: 200 };
  const usage = usageOf(json['usageMetadata'], known);
  const observed = observedOf(json, known);
  const unknown = (cause: string): Interpretation => ({ kind: 'unknown', cause, status: 200, usageLowerBound: usage });
  const ended = { usage, observed, known };
  const candidates = Array.isArray(json['candidates']) ? json['candidates'] as unknown[] : [];
  if (candidates.length > 1) return unknown('SEVERAL_CANDIDATES');
  const candidate = candidates[0];
  if (!isObject(candidate)) {
    const blocked = isObject(json['promptFeedback']) ? json['promptFeedback']['blockReason'] : undefined;
    return typeof blocked === 'string' ? badEnd('PROMPT_BLOCKED', 'never-retry-as-is', `prompt blocked: ${blocked}`, { ...ended, finish: 'filtered' }) : unknown('NO_CANDIDATE');
  }
  const reason = candidate['finishReason'];
  if (typeof reason !== 'string' || reason === '') return unknown('NO_TERMINAL_MARKER'); // keeps I1
  const { finish, refusal } = finishOf(reason);
  if (refusal !== undefined) { // keeps I2: before any part is looked at
    return badEnd(refusal.code, refusal.class, `${reason} ${typeof candidate['finishMessage'] === 'string' ? candidate['finishMessage'] : ''}`, { ...ended, finish });
  }
  const first = itemSpans(text, memberSpan(text, wholeSpan(text), 'candidates') ?? { start: 0, end: 0 })[0];
  const span = memberSpan(text, memberSpan(text, first, 'content'), 'parts');
  const read = readParts(text, span === undefined ? [] : itemSpans(text, span), context.newCallId);
  if (read.kind === 'fault') return badEnd(read.fault, 'retry-later', read.detail, { ...ended, finish: 'malformed-call' });
  if (read.parts.length === 0) return badEnd('OUTPUT_EMPTY', finish === 'length' ? 'repairable-once' : 'retry-later', 'the output has no parts', { ...ended, finish });
  const calls = read.parts.filter((part) => part.kind === 'call');
  if (finish !== 'stop' && calls.length > 0) return badEnd('CALLS_IN_UNFINISHED_OUTPUT', 'repairable-once', 'the output limit was reached in an output with calls', { ...ended, finish });
  const offered = new Set(context.offered);
  const problems = calls.filter((call) => !offered.has(call.tool)).map((call) => ({ callId: call.callId, code: 'TOOL_NOT_OFFERED' as const }));
  return { kind: 'accepted', parts: read.parts, pieces: read.pieces, finish, usage, observed, problems };
}

interface Ended { readonly usage: Usage; readonly observed: Observed; readonly known: readonly string[]; readonly finish: Finish['finish'] }

function badEnd(code: RefusalCode, retry: RetryClass, message: string, { usage, observed, known, finish }: Ended): Refused {
  return { kind: 'refused', class: retry, code, message: scrubbed(message, known), status: 200, executed: code !== 'PROMPT_BLOCKED', finish, usage, observed };
}

function observedOf(json: Readonly<Record<string, unknown>>, known: readonly string[]): Observed {
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' && /^[\w.:/@+=-]{1,256}$/.test(value) && !known.some((secret) => secret !== '' && value.includes(secret)) ? value : undefined;
  const [responseId, modelServed] = [text(json['responseId']), text(json['modelVersion'])];
  return { ...(responseId === undefined ? {} : { responseId }), ...(modelServed === undefined ? {} : { modelServed }) };
}

/** Values that the provider could echo at us (I4). */
function secretsOf(context: InterpretContext): string[] {
  const sent = [...(context.sent?.values() ?? [])].flat().map(signatureOf).filter((value) => value !== undefined);
  return context.credential === undefined ? sent : [context.credential, ...sent];
}

function decoded(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined; // named INVALID_JSON by the caller
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // named INVALID_JSON by the caller; the parser's message quotes the text
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
