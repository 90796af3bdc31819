/**
 * Traces of one process. Trace context is made and handed on always, so that every event names the trace that wrote it; spans leave the process
 * only where an OTLP endpoint is set by the standard variables (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER, …).
 *
 * To be called before anything that is to be traced is imported. A second call does nothing more.
 *
 * Rows: SVC-3 (its ground: trace context in events from version 1).
 */
import type { NodeSDK } from '@opentelemetry/sdk-node';

let started: Promise<() => Promise<void>> | undefined;

/** Keeps nothing: with it the SDK makes real span contexts although nobody listens. */
const NOBODY = { onStart() {}, onEnd() {}, shutdown: () => Promise.resolve(), forceFlush: () => Promise.resolve() };

/** Resolves to the way to flush and end. */
export function startTelemetry(serviceName: string): Promise<() => Promise<void>> {
  started ??= begin(serviceName);
  return started;
}

async function begin(serviceName: string): Promise<() => Promise<void>> {
  const { NodeSDK: Sdk } = await import('@opentelemetry/sdk-node');
  const exported = process.env['OTEL_TRACES_EXPORTER'] !== 'none' && (process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? process.env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? process.env['OTEL_TRACES_EXPORTER']) !== undefined;
  let sdk: NodeSDK;
  if (exported) {
    const [{ HttpInstrumentation }, { PgInstrumentation }] = await Promise.all([import('@opentelemetry/instrumentation-http'), import('@opentelemetry/instrumentation-pg')]);
    sdk = new Sdk({ serviceName: `n17q-${serviceName}`, instrumentations: [new HttpInstrumentation(), new PgInstrumentation({ requireParentSpan: true })] });
  } else {
    sdk = new Sdk({ serviceName: `n17q-${serviceName}`, spanProcessors: [NOBODY], instrumentations: [] });
  }
  sdk.start();
  return () => sdk.shutdown();
}
