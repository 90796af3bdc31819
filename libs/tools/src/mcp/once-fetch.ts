/**
 * What the SDK's streamable HTTP transport fetches with: one connection per request, and an answer that can be read while it comes.
 *
 * F1. The `tools/call` is written in the same turn of the event loop in which the last check said yes, on a connection that stands.
 * F2. Nothing is sent a second time: no redirect is followed (the SDK would send a POST again for 307 and 308), nothing is retried, no standing stream is
 *     opened, and a stream that broke is not resumed.
 * F3. What comes is bounded (`Inflow`): one message, and all of them. A JSON answer is one message; in an event stream a blank line ends one.
 * F4. A body whose end did not come, or that is shorter than it said, is an error to whoever reads it.
 * F5. What cannot be written as a request is refused before the call counts as written, and nobody's process ends over it.
 *
 * Rows: EFF-2, EFF-3.
 */
import * as http from 'node:http';
import * as net from 'node:net';
import * as tls from 'node:tls';
import type { FetchLike } from '@modelcontextprotocol/client';
import { ANSWERS_MAX, type Inflow } from './inflow.js';
import { isAnswer, isToolCall, Stopped, type OneCall } from './one-call.js';

export interface OnceFetchOptions {
  readonly call: OneCall;
  readonly inflow: Inflow;
  /** The answer to the call is over, whole or not; what it brought is still on its way through the SDK, which does not tell when a stream ends without an answer. */
  readonly callEnded: (cause: string) => void;
  /** Added to each request, as the credential says. */
  readonly headers: Readonly<Record<string, string>>;
}

export function onceFetch(options: OnceFetchOptions): FetchLike {
  let answers = 0;
  return async (url, init = {}) => {
    const method = init.method ?? 'GET';
    if (method === 'GET') return new Response(null, { status: 405 }); // keeps F2: neither a standing stream nor a resumption
    const body = typeof init.body === 'string' ? init.body : undefined;
    const message: unknown = body === undefined ? undefined : JSON.parse(body);
    if (isAnswer(message) && ++answers > ANSWERS_MAX) return new Response(null, { status: 202 });
    return exchange(new URL(url), { method, body, headers: { ...Object.fromEntries(new Headers(init.headers)), ...options.headers }, ...(init.signal ? { signal: init.signal } : {}) },
      isToolCall(message) ? { admit: () => options.call.admit(), ended: options.callEnded } : NO_CALL, options.inflow);
  };
}

interface AsCall { readonly admit: () => void; readonly ended: (cause: string) => void }
const NO_CALL: AsCall = { admit: () => undefined, ended: () => undefined };
interface Outgoing { readonly method: string; readonly body: string | undefined; readonly headers: Readonly<Record<string, string>>; readonly signal?: AbortSignal }

function exchange(url: URL, o: Outgoing, call: AsCall, inflow: Inflow): Promise<Response> {
  return new Promise((resolve, reject) => {
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const isTls = url.protocol === 'https:';
    const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
    if (o.signal?.aborted) return reject(new Stopped('ABORTED'));
    const socket = isTls ? tls.connect({ host, port, servername: net.isIP(host) ? '' : host }) : net.connect({ host, port });
    const fail = (e: Error): void => { socket.destroy(); reject(e); };
    const onAbort = (): void => fail(new Stopped('ABORTED'));
    o.signal?.addEventListener('abort', onAbort, { once: true });
    socket.setNoDelay(true);
    socket.once('close', () => { o.signal?.removeEventListener('abort', onAbort); reject(new Stopped('CLOSED')); });
    socket.on('error', (e: NodeJS.ErrnoException) => fail(new Stopped(e.code ?? e.message)));
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      let req: http.ClientRequest;
      try {
        req = http.request({
          method: o.method, path: `${url.pathname}${url.search}`, createConnection: () => socket,
          headers: { ...o.headers, host: url.host, connection: 'close', 'accept-encoding': 'identity', ...(o.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(o.body)) }) },
        });
      } catch { return fail(new Stopped('REQUEST_UNUSABLE')); } // keeps F5
      req.on('error', (e: NodeJS.ErrnoException) => fail(new Stopped(e.code ?? e.message)));
      req.on('response', (res) => {
        const status = res.statusCode ?? 0;
        if (status < 200 || (status >= 300 && status < 400)) return fail(new Stopped(`STATUS_${status}`)); // keeps F2
        resolve(new Response([204, 205].includes(status) ? null : bodyOf(res, socket, inflow, call.ended), { status, headers: headersOf(res) }));
      });
      try { call.admit(); } catch (e) { return fail(e as Error); } // keeps F1: a request is written by its end alone
      req.end(o.body);
    });
  });
}

function headersOf(res: http.IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(res.headers)) if (typeof value === 'string') headers.set(name, value);
  return headers;
}

function bodyOf(res: http.IncomingMessage, socket: net.Socket, inflow: Inflow, ended: (cause: string) => void): ReadableStream<Uint8Array> {
  const events = /^text\/event-stream\b/i.test(res.headers['content-type'] ?? '');
  const lines = new BlankLines();
  return new ReadableStream<Uint8Array>({
    start(c) {
      let open = true;
      const fail = (cause: string): void => {
        if (!open) return;
        open = false;
        c.error(new Stopped(cause));
        ended(cause);
        socket.destroy();
      };
      res.on('data', (chunk: Buffer) => {
        if (!open) return;
        if (!(events ? lines.pass(chunk, inflow) : inflow.bytes(chunk.length))) return fail('RESPONSE_TOO_LARGE'); // keeps F3
        c.enqueue(chunk);
        if ((c.desiredSize ?? 1) <= 0) res.pause();
      });
      res.on('aborted', () => fail('RESPONSE_CUT'));
      res.on('error', () => fail('RESPONSE_CUT'));
      res.on('close', () => fail('RESPONSE_CUT'));
      res.on('end', () => {
        if (!res.complete) return fail('RESPONSE_CUT'); // keeps F4
        if (!open) return;
        open = false;
        inflow.messageEnded();
        c.close();
        ended('NO_ANSWER');
      });
    },
    pull: () => { res.resume(); },
    cancel: () => { socket.destroy(); },
  }, { highWaterMark: 4 });
}

/** Cuts an event stream's bytes into messages, for counting only. */
class BlankLines {
  #lineEmpty = true;

  pass(chunk: Buffer, inflow: Inflow): boolean {
    let from = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i];
      if (byte === 0x0d) continue;
      if (byte === 0x0a && this.#lineEmpty) {
        if (!inflow.bytes(i + 1 - from) || !inflow.messageEnded()) return false;
        from = i + 1;
      }
      this.#lineEmpty = byte === 0x0a;
    }
    return inflow.bytes(chunk.length - from);
  }
}
