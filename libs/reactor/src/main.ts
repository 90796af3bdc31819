/** Runs one service as a process: says when it is ready, stops in order on SIGTERM, and ends when its bus connection is gone for good. Rows: SVC-1, SVC-4, RUN-4. */
import { startTelemetry } from '@n17q/platform';
import type { Settings } from './settings.js';

export interface Running {
  /** Resolves when the service can no longer do its work and must end: with the cause. */
  readonly lost: Promise<Error | undefined>;
  /** Takes nothing new, lets what is in work end, closes. A repeat waits for the same end. */
  stop(): Promise<void>;
  /** Where it listens, if it does; said in the ready line. */
  readonly port?: number;
}
export type ServiceStart = (settings: Settings) => Promise<Running>;

const say = (event: string, fields: object): void => { process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`); };

/** `load` is called after telemetry has begun, so that what it imports can be traced. */
export async function runMain(service: string, load: () => Promise<{ readonly start: ServiceStart }>): Promise<void> {
  let running: Running | undefined;
  let stopping = false;
  let flush = (): Promise<void> => Promise.resolve();
  const end = (code: number): void => {
    if (stopping) return;
    stopping = true;
    const bound = setTimeout(() => process.exit(code === 0 ? 1 : code), 30_000);
    bound.unref();
    void (running?.stop() ?? Promise.resolve()).then(flush).then(() => process.exit(code), (e: unknown) => { process.stderr.write(`${service}: ${String(e)}\n`); process.exit(1); });
  };
  process.once('SIGTERM', () => end(0));
  process.once('SIGINT', () => end(0));
  try {
    flush = await startTelemetry(service);
    running = await (await load()).start(process.env);
  } catch (e) {
    process.stderr.write(`${service} did not start: ${e instanceof Error ? e.message : String(e)}\n`);
    process.exit(1);
  }
  say('ready', { service, pid: process.pid, ...(running.port === undefined ? {} : { port: running.port }) });
  void running.lost.then((cause) => { if (!stopping) { process.stderr.write(`${service}: ${cause?.message ?? 'its connection closed'}\n`); end(1); } });
}
