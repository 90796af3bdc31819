/**
 * Effects at an HTTP service.
 *
 * H1. One request at most (`httpOnce`): no retry, no redirect.
 * H2. Only a complete 2xx whose body is what it says it is counts as observed.
 * H3. Only a complete answer with a status of `finalRefusals` counts as refused.
 * H4. A look says *not-found* only for a status that the configuration names, or for a count of 0 that the service gave itself.
 * H5. Where a precondition is configured, no request leaves without exactly one value to compare with: a list or `*` would also match what the first attempt left.
 * H6. A contract that this configuration cannot keep sends nothing: a service is no fresh sandbox, *keyed* needs a header for the key, and *idempotent* the
 *     argument that the service compares.
 *
 * Rows: EFF-2, EFF-3, EFF-4, EFF-5, EFF-9.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { EffectContract, Json } from '@n17q/domain';
import { httpOnce, type OnceOutcome } from '@n17q/platform';
import { boundedText } from '../bounded-text.js';
import type { Connector, ConnectorOutcome, DispatchRequest, LookOutcome, QueryRequest } from '../connector.js';
import { receiptHeader } from '../receipt-capability.js';
import { httpContractProblem, PLACEHOLDER } from './http-check.js';
import { HttpToolConfig, type CredentialHeaders } from './http-config.js';

type Answered = Extract<OnceOutcome, { kind: 'answered' }>;

export class HttpConnector implements Connector {
  readonly kind = 'http';
  readonly #config: HttpToolConfig;
  readonly query?: (request: QueryRequest) => Promise<LookOutcome>;

  /**
   * `target` is compared with every request's: what was permitted for one place is not sent to another. `contract`: as the mapping declares it. Throws ZodError
   * on a bad `config`.
   */
  constructor(config: Json, readonly target: Json, readonly credentials: CredentialHeaders, readonly contract: EffectContract = { kind: 'neither' }) {
    this.#config = HttpToolConfig.parse(config);
    const query = this.#config.query;
    if (query) this.query = (request) => this.#look(request, query.path, query.notFoundStatuses);
  }

  async dispatch(request: DispatchRequest): Promise<ConnectorOutcome> {
    if (!isDeepStrictEqual(request.target, this.target)) return { kind: 'not-sent', cause: 'OTHER_TARGET' };
    if (httpContractProblem(this.#config, this.contract) !== undefined) return { kind: 'not-sent', cause: 'CONTRACT_NOT_POSSIBLE' }; // keeps H6
    const { method, path, keyHeader } = this.#config;
    const url = this.#url(path, request.args);
    if (url === undefined) return { kind: 'not-sent', cause: 'ARGUMENT_NOT_IN_PATH' };
    const headers = this.#headers();
    if (headers === undefined) return { kind: 'not-sent', cause: 'CREDENTIAL_UNAVAILABLE' };
    const guarded = this.#guarded(request.args);
    if (guarded === undefined) return { kind: 'not-sent', cause: 'PRECONDITION_MISSING' }; // keeps H5
    const receipt = this.#receipt(request);
    if (receipt === undefined) return { kind: 'not-sent', cause: 'RECEIPTS_OFF: the mapping wants a receipt by callback, and this reconciler has no N17Q_RECEIPT_KEY and N17Q_RECEIPT_URL' };
    const outcome = await httpOnce({
      method, url,
      headers: { ...headers, ...receipt, accept: 'application/json', ...(keyHeader ? { [keyHeader]: request.idempotencyKey } : {}), ...guarded.headers, ...(method === 'GET' ? {} : { 'content-type': 'application/json' }) },
      ...(method === 'GET' ? {} : { body: JSON.stringify(guarded.body) }),
      connectTimeoutMs: request.timeoutMs,
      timeoutMs: request.timeoutMs,
      responseBytesMax: request.outputBytesMax,
      beforeFirstByte: request.beforeFirstByte,
      ...(request.signal ? { signal: request.signal } : {}),
    });
    if (outcome.kind === 'not-sent') return { kind: 'not-sent', cause: outcome.cause };
    if (outcome.kind === 'cut') return { kind: 'unknown', cause: outcome.cause }; // keeps EFF-3, whatever status was seen before the cut
    return this.#classify(outcome, request.outputBytesMax);
  }

  #classify(answer: Answered, outputBytesMax: number): ConnectorOutcome {
    const text = boundedText(answer.body.toString('utf8'), outputBytesMax);
    if (this.#config.finalRefusals.includes(answer.status)) return { kind: 'refused', cause: `STATUS_${answer.status}`, text }; // keeps H3
    if (answer.status < 200 || answer.status > 299) return { kind: 'unknown', cause: `STATUS_${answer.status}` };
    const body = bodyOf(answer);
    if (body === undefined) return { kind: 'unknown', cause: 'RESPONSE_MALFORMED' }; // keeps H2
    return { kind: 'observed', ok: true, text, receipt: receiptOf(answer, body, text) };
  }

  async #look(request: QueryRequest, path: string, notFoundStatuses: readonly number[]): Promise<LookOutcome> {
    if (!isDeepStrictEqual(request.target, this.target)) return { kind: 'cannot-tell', cause: 'OTHER_TARGET' };
    const headers = this.#headers();
    if (headers === undefined) return { kind: 'cannot-tell', cause: 'CREDENTIAL_UNAVAILABLE' };
    const url = joined(this.#config.baseUrl, path.replaceAll('{key}', encodeURIComponent(request.idempotencyKey)));
    const answer = await httpOnce({
      method: 'GET', url, headers: { ...headers, accept: 'application/json' },
      connectTimeoutMs: request.timeoutMs, timeoutMs: request.timeoutMs, responseBytesMax: request.outputBytesMax,
      ...(request.signal ? { signal: request.signal } : {}),
    });
    if (answer.kind !== 'answered') return { kind: 'cannot-tell', cause: answer.cause };
    if (notFoundStatuses.includes(answer.status)) return { kind: 'not-found' };
    const body = answer.status === 200 ? bodyOf(answer) : undefined;
    if (body === undefined) return { kind: 'cannot-tell', cause: answer.status === 200 ? 'RESPONSE_MALFORMED' : `STATUS_${answer.status}` };
    const count = countOf(body);
    if (count === undefined) return { kind: 'cannot-tell', cause: 'RESPONSE_MALFORMED' };
    if (count === 0) return { kind: 'not-found' }; // keeps H4
    const text = boundedText(answer.body.toString('utf8'), request.outputBytesMax);
    return { kind: 'happened', count, receipt: receiptOf(answer, body, text), text };
  }

  #headers(): Readonly<Record<string, string>> | undefined {
    if (this.#config.credential === undefined) return {};
    try {
      return this.credentials(this.#config.credential);
    } catch {
      return undefined; // said to the caller as CREDENTIAL_UNAVAILABLE; the message could name a secret
    }
  }

  /** Undefined: the mapping names a header for it, and there is nothing to put into it. */
  #receipt(request: DispatchRequest): Readonly<Record<string, string>> | undefined {
    const header = this.#config.receipt?.header;
    if (header === undefined) return {};
    return request.receiptTo === undefined ? undefined : { [header]: receiptHeader(request.receiptTo) };
  }

  /** The arguments without the one that is a precondition, and that one as its header. Undefined when there is nothing to compare with. */
  #guarded(args: Json): { readonly headers: Readonly<Record<string, string>>; readonly body: Json } | undefined {
    const p = this.#config.precondition;
    if (p === undefined) return { headers: {}, body: args };
    if (args === null || typeof args !== 'object' || Array.isArray(args)) return undefined;
    const { [p.argument]: value, ...body } = args as Record<string, Json>;
    const text = typeof value === 'number' ? String(value) : value;
    return typeof text === 'string' && ONE_VALUE.test(text) && text !== '*' ? { headers: { [p.header]: text }, body } : undefined;
  }

  #url(path: string, args: Json): string | undefined {
    let complete = true;
    const filled = path.replace(PLACEHOLDER, (_, name: string) => {
      const value = args !== null && typeof args === 'object' && !Array.isArray(args) ? (args as Record<string, Json>)[name] : undefined;
      // an empty or dotted segment would name another resource
      if (typeof value === 'number' || (typeof value === 'string' && value !== '' && value !== '.' && value !== '..')) return encodeURIComponent(String(value));
      complete = false;
      return '';
    });
    return complete ? joined(this.#config.baseUrl, filled) : undefined;
  }
}

/** Visible ASCII without the comma, which would make it a list. */
const ONE_VALUE = /^[!-+\--~]{1,200}$/;
const RECEIPT_BODY_BYTES_MAX = 1024;

/** What the service answered, as evidence. A large body that stands whole in the text beside it is named by its digest, not kept twice. */
function receiptOf(answer: Answered, body: Json, text: string): Json {
  const { status } = answer;
  if (answer.body.length <= RECEIPT_BODY_BYTES_MAX || text !== answer.body.toString('utf8')) return { status, body };
  return { status, bodyBytes: answer.body.length, bodySha256: createHash('sha256').update(answer.body).digest('hex') };
}

const joined = (baseUrl: string, path: string): string => `${baseUrl.replace(/\/+$/, '')}${path}`;

/** The body as JSON if it says that it is JSON, else as text; undefined if it is not what it says. */
function bodyOf(answer: Answered): Json | undefined {
  const text = answer.body.toString('utf8');
  if (!/[/+]json\b/i.test(answer.headers['content-type'] ?? '')) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** A list counts its entries, an object with `count` counts itself, any other object is one. */
function countOf(body: Json): number | undefined {
  if (Array.isArray(body)) return body.length;
  if (body === null || typeof body !== 'object') return undefined;
  const count = (body as Record<string, Json>)['count'];
  if (count === undefined) return 1;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}
