/**
 * An error of the provider, by status and code alone; sentences are for people, vendors reword them.
 *
 * A 500, a 504 and whatever an intermediary says in their place may hide an executed call: these are `unknown`, not refused.
 *
 * Rows: EFF-3.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Refused, RefusalCode, RetryClass, Unknown } from '../adapter.js';
import { scrubbed } from '../scrub.js';

const RETRY_AFTER_MS_MAX = 24 * 60 * 60 * 1000;

/** Status → what it means when the provider itself says it. What is not here and below 500 is REQUEST_REFUSED. */
const BY_STATUS: Readonly<Record<number, readonly [RefusalCode, RetryClass]>> = {
  400: ['INVALID_ARGUMENT', 'never-retry-as-is'],
  401: ['CREDENTIAL_REFUSED', 'rejected'],
  403: ['PERMISSION_DENIED', 'rejected'],
  404: ['NOT_FOUND', 'rejected'],
  409: ['CONFLICT', 'retry-later'],
  413: ['REQUEST_TOO_LARGE', 'never-retry-as-is'],
  429: ['RATE_LIMITED', 'retry-later'],
  503: ['UNAVAILABLE', 'retry-later'],
};
const TIMED_OUT = new Set([408, 499, 504]);

export interface ProviderError {
  readonly code: number | undefined;
  readonly status: string | undefined;
  readonly message: string;
  readonly details: readonly Readonly<Record<string, unknown>>[];
}

/** The error object of an answer, also if it is wrapped in an array; undefined if it is none. */
export function providerError(json: unknown): ProviderError | undefined {
  const body = Array.isArray(json) ? json[0] as unknown : json;
  const error = isObject(body) ? body['error'] : undefined;
  if (!isObject(error)) return undefined;
  return {
    code: typeof error['code'] === 'number' ? error['code'] : undefined,
    status: typeof error['status'] === 'string' ? error['status'] : undefined,
    message: typeof error['message'] === 'string' ? error['message'] : '',
    details: Array.isArray(error['details']) ? (error['details'] as unknown[]).filter(isObject) : [],
  };
}

/** `status`: of the HTTP answer; `means`: the status by which to judge, which an error inside a success carries itself. */
export function refusalOf(status: number, means: number, error: ProviderError | undefined, headers: IncomingHttpHeaders, known: readonly string[]): Refused | Unknown {
  const message = scrubbed(error?.message ?? '', known);
  if (TIMED_OUT.has(means)) return { kind: 'unknown', cause: 'PROVIDER_TIMEOUT', status, message };
  // only the provider's own word makes a 503 certain: an intermediary says it after forwarding, too
  if (means >= 500 && !(means === 503 && error?.status === 'UNAVAILABLE')) return { kind: 'unknown', cause: 'SERVER_ERROR', status, message };
  if (means < 400) return { kind: 'unknown', cause: 'UNEXPECTED_STATUS', status, message };
  const [code, retry] = judged(means, error);
  const retryAfterMs = retry === 'retry-later' ? retryAfter(error, headers) : undefined;
  const hint = hintOf(message);
  return {
    kind: 'refused', class: retry, code, message, status, executed: false,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }), ...(hint === undefined ? {} : { hint }),
  };
}

function judged(means: number, error: ProviderError | undefined): readonly [RefusalCode, RetryClass] {
  const reasons = (error?.details ?? []).map((detail) => detail['reason']);
  if (reasons.includes('API_KEY_INVALID')) return ['CREDENTIAL_REFUSED', 'rejected'];
  if (means === 400 && error?.status === 'FAILED_PRECONDITION') return ['FAILED_PRECONDITION', 'rejected'];
  if (means === 429 && isDailyQuota(error)) return ['QUOTA_EXHAUSTED', 'never-retry-as-is'];
  return BY_STATUS[means] ?? ['REQUEST_REFUSED', 'never-retry-as-is'];
}

function isDailyQuota(error: ProviderError | undefined): boolean {
  return (error?.details ?? []).some((detail) => Array.isArray(detail['violations'])
    && (detail['violations'] as unknown[]).some((violation) => isObject(violation) && typeof violation['quotaId'] === 'string' && /PerDay/i.test(violation['quotaId'])));
}

/** Provider advice in ms; absent, malformed, negative or absurd advice is no advice. Dates need a clock and are left out. */
function retryAfter(error: ProviderError | undefined, headers: IncomingHttpHeaders): number | undefined {
  const delays = (error?.details ?? []).map((detail) => detail['retryDelay']).filter((delay): delay is string => typeof delay === 'string');
  const seconds = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(delays[0] ?? '')?.[1] ?? /^(\d{1,9})$/.exec(headers['retry-after'] ?? '')?.[1];
  if (seconds === undefined) return undefined;
  const ms = Math.ceil(Number(seconds) * 1000);
  return ms <= RETRY_AFTER_MS_MAX ? ms : undefined;
}

function hintOf(message: string): Refused['hint'] {
  if (/thought[ _]signature/i.test(message)) return 'continuation';
  return /token count .*exceeds/i.test(message) ? 'context-too-long' : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
