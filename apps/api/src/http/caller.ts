/** What a handler is told about a request beside its body: who calls, the idempotency key, the trace. */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Trace } from '@n17q/domain';
import type { KnownRequest } from './intake.js';
import { Problem } from './problem.js';
import type { Caller } from './tokens.js';

export interface Asking extends Caller { readonly key: string | null; /** The document revision that the caller saw. */ readonly ifMatch: number | null; readonly trace: Trace | undefined; readonly operation: string; readonly body: unknown }

const TRACE = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const KEY = /^[\x21-\x7e]{8,200}$/;

const single = (v: string | readonly string[] | undefined): string | undefined => (typeof v === 'string' ? v : v?.[0]);

export function askingOf(req: KnownRequest): Asking {
  if (req.caller === undefined) throw new Problem('UNAUTHENTICATED', 'Send a token as "Authorization: Bearer …".');
  const key = single(req.headers['idempotency-key']) ?? null;
  if (key !== null && !KEY.test(key)) throw new Problem('MALFORMED', 'An Idempotency-Key has 8 to 200 visible ASCII characters.');
  const match = single(req.headers['if-match']);
  const revision = match === undefined ? null : Number(/^"(\d{1,9})"$/.exec(match)?.[1] ?? Number.NaN);
  if (Number.isNaN(revision)) throw new Problem('MALFORMED', 'If-Match holds one revision in quotes, as the ETag does.');
  const traceparent = single(req.headers['traceparent']);
  return { ...req.caller, key, ifMatch: revision, trace: traceparent !== undefined && TRACE.test(traceparent) ? { traceparent } : undefined, operation: `${req.method} ${req.path}`, body: req.body };
}

export const Ask = createParamDecorator((_: unknown, ctx: ExecutionContext): Asking => askingOf(ctx.switchToHttp().getRequest<KnownRequest>()));
