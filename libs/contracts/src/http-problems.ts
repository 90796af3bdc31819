/**
 * What the HTTP API says when it does not do what it was asked: RFC 9457 problem details with a code from a closed list.
 *
 * Rows: CON-3, SEC-1.
 */
import { z } from 'zod';

export const PROBLEMS = {
  MALFORMED: { status: 400, title: 'The request does not have the documented shape' },
  UNAUTHENTICATED: { status: 401, title: 'No valid token came with the request' },
  FORBIDDEN: { status: 403, title: 'This is not handed out' },
  LOCAL_REPOS_OFF: { status: 403, title: 'This server does not read repositories of its own machine' },
  NOT_YOURS: { status: 403, title: 'Only whoever gave this can give it or take it back' },
  DELEGATION_ABSENT: { status: 403, title: 'No delegation lets the caller act for that person' },
  NOT_FOUND: { status: 404, title: 'There is nothing under this name' },
  METHOD_UNKNOWN: { status: 404, title: 'There is no such operation' },
  REFUSED: { status: 409, title: 'The event store refused this' },
  ILLEGAL: { status: 409, title: 'This cannot follow the state of the run' },
  NOT_AT_HAND: { status: 409, title: 'The content is not complete yet' },
  RECORDING_UNREVIEWED: { status: 409, title: 'Nobody has approved the recording' },
  RECORDING_REJECTED: { status: 409, title: 'A person rejected the recording' },
  RECORDING_ABSENT: { status: 409, title: 'There is no recording: it must be retrieved live' },
  ERASED: { status: 410, title: 'The content was erased' },
  PRECONDITION_FAILED: { status: 412, title: 'The document has another revision' },
  TOO_LARGE: { status: 413, title: 'The request is too large' },
  UNSUPPORTED_MEDIA: { status: 415, title: 'Bodies are application/json' },
  CARRIER_FIELD: { status: 422, title: 'A field is reserved for provider continuations' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'The idempotency key came with another request before' },
  RULES_BROKEN: { status: 422, title: 'These rules cannot be in force' },
  REPOSITORY_UNUSABLE: { status: 422, title: 'The repository cannot be used' },
  TOO_MANY_RECEIPTS: { status: 429, title: 'This effect has as many receipts as are taken' },
  TOO_MANY_STREAMS: { status: 429, title: 'Too many event streams are open' },
  DEFECT: { status: 500, title: 'Something went wrong here' },
  CONTENT_ALTERED: { status: 500, title: 'The stored bytes do not match their digest' },
  STORE_UNREACHABLE: { status: 503, title: 'The event store is out of reach; nothing was done' },
  OUTCOME_UNKNOWN: { status: 503, title: 'The event store did not answer; the request may have been taken in' },
  BUSY: { status: 503, title: 'Others were faster every time; nothing was done' },
  NOT_READY: { status: 503, title: 'The service is not ready' },
} as const satisfies { readonly [code: string]: { readonly status: number; readonly title: string } };
export type ProblemCode = keyof typeof PROBLEMS;
export const PROBLEM_CODES = Object.keys(PROBLEMS) as readonly ProblemCode[];
export const PROBLEM_MEDIA = 'application/problem+json';

/** `path`: JSON Pointer of the field at fault. `storeCode`: the store's own word for its refusal. Other members are facts of the code. */
export const problemBody = z.looseObject({
  type: z.string(), title: z.string(), status: z.int(), code: z.enum(PROBLEM_CODES as [ProblemCode, ...ProblemCode[]]), detail: z.string(),
  path: z.string().optional(), storeCode: z.string().optional(), revision: z.int().optional(),
});
export type ProblemBody = z.infer<typeof problemBody>;
