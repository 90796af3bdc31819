/** What a handler is told about a request beside its body: who calls, the idempotency key, the trace. */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { context, propagation } from '@opentelemetry/api';
import type { Actor, Trace } from '@n17q/domain';
import type { ReceiptFor } from '@n17q/tools';
import type { KnownRequest } from './intake.js';
import { Problem } from './problem.js';
import type { Caller } from './tokens.js';

export interface Asking extends Caller { readonly key: string | null; /** The document revision that the caller saw. */ readonly ifMatch: number | null; readonly trace: Trace | undefined; readonly operation: string; readonly body: unknown; /** Who speaks, where it is no person. */ readonly actor?: Actor }

const TRACE = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const KEY = /^[\x21-\x7e]{8,200}$/;

const single = (v: string | readonly string[] | undefined): string | undefined => (typeof v === 'string' ? v : v?.[0]);

/** A tool with a capability: it speaks as the effect that it may hand in a receipt for. */
const asTool = (f: ReceiptFor | undefined): (Caller & { readonly actor: Actor }) | undefined => f && { tenant: f.tenant, person: `the tool behind ${f.effect}`, actor: { kind: 'tool', id: f.effect } };

export function askingOf(req: KnownRequest): Asking {
  const caller = req.caller ?? asTool(req.receiptFor);
  if (caller === undefined) throw new Problem('UNAUTHENTICATED', 'Send a token as "Authorization: Bearer …".');
  const key = single(req.headers['idempotency-key']) ?? null;
  if (key !== null && !KEY.test(key)) throw new Problem('MALFORMED', 'An Idempotency-Key has 8 to 200 visible ASCII characters.');
  const match = single(req.headers['if-match']);
  const revision = match === undefined ? null : Number(/^"(\d{1,9})"$/.exec(match)?.[1] ?? Number.NaN);
  if (Number.isNaN(revision)) throw new Problem('MALFORMED', 'If-Match holds one revision in quotes, as the ETag does.');
  return { ...caller, key, ifMatch: revision, trace: traceOf(single(req.headers['traceparent'])), operation: `${req.method} ${req.path}`, body: req.body };
}

/** The trace that telemetry made of the caller's, or else the caller's own, so that its id reaches the events. */
function traceOf(sent: string | undefined): Trace | undefined {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  const traceparent = carrier['traceparent'] ?? (sent !== undefined && TRACE.test(sent) ? sent : undefined);
  return traceparent === undefined ? undefined : { traceparent, ...(carrier['tracestate'] ? { tracestate: carrier['tracestate'] } : {}) };
}

export const Ask = createParamDecorator((_: unknown, ctx: ExecutionContext): Asking => askingOf(ctx.switchToHttp().getRequest<KnownRequest>()));
