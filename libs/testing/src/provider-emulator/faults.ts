/** Ways in which an exchange goes wrong. `executed`: whether the ledger counts the call as run and billed all the same. */
import type { Socket } from 'node:net';
import type { ServerResponse } from 'node:http';

interface Extent { readonly executed?: boolean; /** How many requests it meets; 1 if absent. */ readonly times?: number }
export type Fault = Extent & (
  /** An error of the provider's own form; with `html` that of a proxy before it. */
  | { readonly kind: 'status'; readonly status: number; readonly error?: string; readonly message?: string; readonly retryDelay?: string; readonly retryAfter?: string; readonly quotaId?: string; readonly html?: boolean }
  /** Closed with a reset before any header. */
  | { readonly kind: 'reset' }
  /** The request is read; nothing is ever said. */
  | { readonly kind: 'silence' }
  /** `reset`, `close` and `hang` break a body of announced length; `unframed` closes cleanly one without a length. */
  | { readonly kind: 'cut'; readonly afterBytes: number; readonly how: 'reset' | 'close' | 'hang' | 'unframed' }
  | { readonly kind: 'error-in-200'; readonly code: number; readonly error: string; readonly message?: string }
  /** The answer is ready, and waits for a release. */
  | { readonly kind: 'hold' }
  /** These bytes, whatever they are. */
  | { readonly kind: 'body'; readonly status: number; readonly body: string; readonly contentType?: string }
);

export const FAULT_KINDS: readonly string[] = ['status', 'reset', 'silence', 'cut', 'error-in-200', 'hold', 'body'] satisfies readonly Fault['kind'][];

/** A fault after which work may have been done is counted as executed, the worse of the two cases. */
export function executes(fault: Fault): boolean {
  if (fault.executed !== undefined) return fault.executed;
  if (fault.kind === 'status') return fault.status >= 500 && fault.status !== 503;
  return fault.kind !== 'error-in-200';
}

/** Gives the answer `body` in the broken way of `fault`. `hold` is not done here: it ends well. */
export function breakAnswer(fault: Exclude<Fault, { kind: 'hold' }>, res: ServerResponse, body: string): void {
  const socket = res.socket as Socket;
  switch (fault.kind) {
    case 'silence': return;
    case 'reset': socket.resetAndDestroy(); return;
    case 'status': return fault.html === true ? html(res, fault.status) : errorStatus(fault, res);
    case 'error-in-200': return json(res, 200, { error: { code: fault.code, message: fault.message ?? 'failed', status: fault.error } });
    case 'body': {
      res.writeHead(fault.status, { 'content-type': fault.contentType ?? 'application/json' });
      res.end(fault.body);
      return;
    }
    case 'cut': return cut(fault, res, socket, Buffer.from(body));
    default: return fault satisfies never;
  }
}

function cut(fault: Extract<Fault, { kind: 'cut' }>, res: ServerResponse, socket: Socket, body: Buffer): void {
  const partial = body.subarray(0, fault.afterBytes);
  if (fault.how === 'unframed') {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n');
    socket.end(partial);
    return;
  }
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': String(body.length) });
  res.flushHeaders();
  res.write(partial, () => {
    if (fault.how === 'reset') socket.resetAndDestroy();
    if (fault.how === 'close') socket.end();
  });
}

function errorStatus(fault: Extract<Fault, { kind: 'status' }>, res: ServerResponse): void {
  const details = [
    ...(fault.retryDelay === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: fault.retryDelay }]),
    ...(fault.quotaId === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId: fault.quotaId }] }]),
  ];
  if (fault.retryAfter !== undefined) res.setHeader('retry-after', fault.retryAfter);
  json(res, fault.status, { error: { code: fault.status, message: fault.message ?? 'refused', status: fault.error ?? 'UNKNOWN', ...(details.length === 0 ? {} : { details }) } });
}

function html(res: ServerResponse, status: number): void {
  res.writeHead(status, { 'content-type': 'text/html' });
  res.end(`<html><head><title>${status}</title></head><body>The server encountered a temporary error.</body></html>`);
}

export function json(res: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  res.writeHead(status, { 'content-type': 'application/json; charset=UTF-8', 'content-length': String(bytes.length) });
  res.end(bytes);
}
