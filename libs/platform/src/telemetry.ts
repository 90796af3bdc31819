/**
 * Traces of one process. Trace context is made and handed on always, so that every event names the trace that wrote it; spans leave the process
 * only where an OTLP endpoint is set by the standard variables (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER, …).
 *
 * To be called before anything that is to be traced is imported. A second call does nothing more.
 *
 * Rows: SVC-3 (its ground: trace context in events from version 1).
 */
let started: Promise<() => Promise<void>> | undefined;

/** Resolves to the way to flush and end. */
export function startTelemetry(serviceName: string): Promise<() => Promise<void>> {
  started ??= exported() ? withExport(serviceName) : contextOnly();
  return started;
}

const exported = (): boolean =>
  process.env['OTEL_TRACES_EXPORTER'] !== 'none' && (process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? process.env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? process.env['OTEL_TRACES_EXPORTER']) !== undefined;

async function withExport(serviceName: string): Promise<() => Promise<void>> {
  const [{ NodeSDK }, { HttpInstrumentation }, { PgInstrumentation }] = await Promise.all([import('@opentelemetry/sdk-node'), import('@opentelemetry/instrumentation-http'), import('@opentelemetry/instrumentation-pg')]);
  const sdk = new NodeSDK({ serviceName: `n17q-${serviceName}`, instrumentations: [new HttpInstrumentation(), new PgInstrumentation({ requireParentSpan: true })] });
  sdk.start();
  return () => sdk.shutdown();
}

/** Real span contexts although nobody listens; a third of the whole SDK's start. */
async function contextOnly(): Promise<() => Promise<void>> {
  const [{ context, propagation, trace }, { TracerProvider }, { AsyncLocalStorageContextManager }, { W3CTraceContextPropagator }] = await Promise.all([
    import('@opentelemetry/api'), import('@opentelemetry/sdk-trace'), import('@opentelemetry/context-async-hooks'), import('@opentelemetry/core'),
  ]);
  const provider = new TracerProvider();
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return () => provider.shutdown();
}
