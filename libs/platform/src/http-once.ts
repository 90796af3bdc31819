/**
 * One HTTP request, at most once on the wire, with an honest answer about what may have left.
 *
 * Deliberately without: retries, redirects, keep-alive, pooling, decompression. A retry after dispatch would be a
 * second attempt that nobody recorded.
 *
 * H1. `not-sent` is only said while no byte was handed to a connected socket.
 * H2. `answered` is only said for a complete response (its end was seen and no length was missing).
 * H3. Everything else is `cut`: the other side may have acted.
 * H4. `beforeFirstByte` runs synchronously between the connection's readiness and the first write; no other code of
 *     this process runs in between.
 * H5. What cannot be written as a request is `not-sent`, and nobody's process ends over it.
 *
 * Rows: EFF-2, EFF-3.
 */
import * as http from 'node:http';
import * as net from 'node:net';
import * as tls from 'node:tls';

export interface OnceRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Until the connection is ready. */
  readonly connectTimeoutMs?: number;
  /** From the first byte to the end of the response. */
  readonly timeoutMs?: number;
  /** A longer response is `cut` with cause RESPONSE_TOO_LARGE. */
  readonly responseBytesMax?: number;
  /** Called once, synchronously, right before the first byte. `false` stops: the outcome is then `not-sent`. */
  readonly beforeFirstByte?: () => boolean;
  /** Aborting before the first byte is `not-sent`, afterwards `cut`. */
  readonly signal?: AbortSignal;
}

export type OnceOutcome =
  | { readonly kind: 'not-sent'; readonly cause: string }
  | { readonly kind: 'answered'; readonly status: number; readonly headers: http.IncomingHttpHeaders; readonly body: Buffer }
  | { readonly kind: 'cut'; readonly cause: string; readonly status?: number; readonly partial: Buffer };

const CONNECT_TIMEOUT_MS = 5_000;
const TIMEOUT_MS = 60_000;
const RESPONSE_BYTES_MAX = 16 * 1024 * 1024;

/** Sends `request` at most once. Never rejects for anything the network or the peer does; a malformed URL throws. */
export function httpOnce(request: OnceRequest): Promise<OnceOutcome> {
  const url = new URL(request.url);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new TypeError(`httpOnce: ${url.protocol} is not http or https`);
  return new Promise((resolve) => {
    let sent = false;
    let done = false;
    const chunks: Buffer[] = [];
    let status: number | undefined;
    let timer: NodeJS.Timeout | undefined;
    let socket: net.Socket | undefined;

    const finish = (outcome: OnceOutcome): void => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', onAbort);
      socket?.destroy();
      resolve(outcome);
    };
    const fail = (cause: string): void =>
      finish(sent ? { kind: 'cut', cause, ...(status === undefined ? {} : { status }), partial: Buffer.concat(chunks) } : { kind: 'not-sent', cause });
    const onAbort = (): void => fail('ABORTED');

    if (request.signal?.aborted) return fail('ABORTED');
    request.signal?.addEventListener('abort', onAbort, { once: true });
    timer = setTimeout(() => fail('CONNECT_TIMEOUT'), request.connectTimeoutMs ?? CONNECT_TIMEOUT_MS);

    const host = url.hostname.replace(/^\[|\]$/g, '');
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
    const isTls = url.protocol === 'https:';
    socket = isTls ? tls.connect({ host, port, servername: net.isIP(host) ? '' : host }) : net.connect({ host, port });
    socket.setNoDelay(true);
    socket.on('error', (e: NodeJS.ErrnoException) => fail(e.code ?? e.message));
    socket.once('close', () => fail('CLOSED'));
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      if (done) return;
      clearTimeout(timer);
      // keeps H4: nothing awaits between this check and req.end() below
      if (request.beforeFirstByte && !request.beforeFirstByte()) return fail('STOPPED_BEFORE_FIRST_BYTE');
      timer = setTimeout(() => fail('TIMEOUT'), request.timeoutMs ?? TIMEOUT_MS);
      const body = request.body === undefined ? undefined : Buffer.from(request.body as Uint8Array);
      let req: http.ClientRequest;
      try {
        req = http.request({
          method: request.method,
          path: `${url.pathname}${url.search}`,
          headers: {
            host: url.host, connection: 'close', 'accept-encoding': 'identity', ...request.headers,
            ...(body === undefined ? {} : { 'content-length': String(body.length) }),
          },
          createConnection: () => socket as net.Socket,
        });
      } catch { return fail('REQUEST_UNUSABLE'); } // keeps H1, H5: a header or method that cannot be written; the error could quote a secret
      sent = true; // keeps H1: from here on a byte may have left
      req.on('error', (e: NodeJS.ErrnoException) => fail(e.code ?? e.message));
      req.on('response', (res) => {
        status = res.statusCode;
        let bytes = 0;
        res.on('data', (c: Buffer) => {
          bytes += c.length;
          if (bytes > (request.responseBytesMax ?? RESPONSE_BYTES_MAX)) return fail('RESPONSE_TOO_LARGE');
          chunks.push(c);
        });
        res.on('aborted', () => fail('RESPONSE_CUT'));
        res.on('error', (e: NodeJS.ErrnoException) => fail(e.code ?? e.message));
        res.on('end', () => {
          if (!res.complete) return fail('RESPONSE_CUT'); // keeps H2
          finish({ kind: 'answered', status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks) });
        });
      });
      req.end(body);
    });
  });
}
