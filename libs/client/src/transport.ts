/** One request to the API, over fetch. Nothing is ever repeated here: whether a repeat is safe is the caller's knowledge. */
import type { http } from '@n17q/contracts';
import { N17qProblem, N17qUnreachable } from './errors.js';

export interface ClientOptions {
  /** Where the API is, e.g. `http://127.0.0.1:8017`. */
  readonly baseUrl: string;
  readonly token: string;
  /** Bound of one request, not of a stream. Default 30,000. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof globalThis.fetch;
}
export interface Sent { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal; readonly unbounded?: boolean }

export class Transport {
  readonly #base: string;
  readonly #fetch: typeof globalThis.fetch;
  constructor(private readonly options: ClientOptions) {
    this.#base = options.baseUrl.replace(/\/+$/, '');
    this.#fetch = options.fetch ?? globalThis.fetch;
  }

  async json<T>(method: string, path: string, sent: Sent = {}): Promise<T> {
    const r = await this.send(method, path, sent);
    try { return (await r.json()) as T; } catch (e) { throw new N17qUnreachable('the answer broke off or was not JSON', { cause: e }); }
  }

  /** The response if its status is 2xx; throws N17qProblem or N17qUnreachable. */
  async send(method: string, path: string, sent: Sent = {}): Promise<Response> {
    const signals = [...(sent.signal === undefined ? [] : [sent.signal]), ...(sent.unbounded ? [] : [AbortSignal.timeout(this.options.timeoutMs ?? 30_000)])];
    let r: Response;
    try {
      r = await this.#fetch(`${this.#base}${path}`, {
        method, headers: { authorization: `Bearer ${this.options.token}`, ...(sent.body === undefined ? {} : { 'content-type': 'application/json' }), ...sent.headers },
        ...(sent.body === undefined ? {} : { body: JSON.stringify(sent.body) }), signal: AbortSignal.any(signals), redirect: 'error',
      });
    } catch (e) {
      sent.signal?.throwIfAborted();
      throw new N17qUnreachable(`${method} ${path}: no answer (${e instanceof Error ? ((e.cause as Error | undefined)?.message ?? e.message) : String(e)})`, { cause: e });
    }
    if (r.ok) return r;
    const text = await r.text().catch(() => '');
    let body: http.ProblemBody | undefined;
    try { body = JSON.parse(text) as http.ProblemBody; } catch { body = undefined; }
    if (typeof body?.code !== 'string') throw new N17qUnreachable(`${method} ${path}: status ${r.status} without a problem document; something else than the API answered`);
    const after = Number(r.headers.get('retry-after') ?? Number.NaN);
    throw new N17qProblem(body, Number.isFinite(after) ? after : undefined);
  }
}

export const segment = (text: string): string => encodeURIComponent(text);
/** `?a=1&b=2`, without what is undefined. */
export function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const set = Object.entries(values).flatMap(([k, v]) => (v === undefined ? [] : [`${k}=${encodeURIComponent(v)}`]));
  return set.length === 0 ? '' : `?${set.join('&')}`;
}
