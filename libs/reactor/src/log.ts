/** JSON lines on standard error, by pino. A line never holds content: callers give codes, ids and bounded words. Rows: CON-1, OPS-1. */
import { trace } from '@opentelemetry/api';
import { pino } from 'pino';

export type Log = ReturnType<typeof serviceLogger>;
export const serviceLogger = (service: string, level: string) => pino({
  name: service, level, base: { service, pid: process.pid }, messageKey: 'message',
  mixin: () => { const c = trace.getActiveSpan()?.spanContext(); return c === undefined ? {} : { trace_id: c.traceId, span_id: c.spanId }; },
}, pino.destination({ dest: 2, sync: true }));
