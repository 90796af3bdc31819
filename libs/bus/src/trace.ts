/** W3C trace context on NATS headers, and spans around what the bus does. Without a registered SDK all of it is free of effect. */
import {
  ROOT_CONTEXT, SpanKind, SpanStatusCode, context, propagation, trace, type Context, type TextMapGetter, type TextMapSetter,
} from '@opentelemetry/api';
import type { MsgHdrs } from 'nats';
import { messageOf } from './faults.js';

/** Trace context as it is stored in an event: the two W3C headers. */
export interface TraceHeaders { readonly traceparent?: string; readonly tracestate?: string }

const setter: TextMapSetter<MsgHdrs> = { set: (carrier, key, value) => carrier.set(key, value) };
const getter: TextMapGetter<MsgHdrs> = { get: (carrier, key) => carrier.get(key) || undefined, keys: (carrier) => carrier.keys() };

/** Writes the trace that the caller names, or else the active one. */
export function injectTrace(carrier: MsgHdrs, explicit?: TraceHeaders): void {
  if (explicit?.traceparent === undefined) {
    propagation.inject(context.active(), carrier, setter);
    return;
  }
  carrier.set('traceparent', explicit.traceparent);
  if (explicit.tracestate) carrier.set('tracestate', explicit.tracestate);
}

export const extractTrace = (carrier: MsgHdrs | undefined): Context =>
  carrier === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, carrier, getter);

export function traceHeadersOf(carrier: MsgHdrs): TraceHeaders {
  const traceparent = carrier.get('traceparent');
  const tracestate = carrier.get('tracestate');
  return { ...(traceparent && { traceparent }), ...(tracestate && { tracestate }) };
}

const tracer = trace.getTracer('@n17q/bus');

/** Runs `work` inside a span under `parent`; an exception marks the span and goes on. */
export async function inSpan<T>(name: string, kind: SpanKind, parent: Context, attributes: Record<string, string | number>, work: () => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(name, { kind, attributes }, parent, async (span) => {
    try {
      return await work();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error).slice(0, 200) });
      throw error;
    } finally {
      span.end();
    }
  });
}
export { SpanKind };
