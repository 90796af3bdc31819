/**
 * A run's events from any revision on, without gap and repeat, across connections that break.
 *
 * 1. The next event given out has the next revision, or there is an error: nothing is skipped.
 *
 * Rows: RUN-1, SVC-2 (shape).
 */
import type { EventEnvelope } from '@n17q/domain';
import { N17qGap, N17qProblem, N17qUnreachable } from './errors.js';
import { serverEvents } from './sse.js';
import { segment, type Transport } from './transport.js';

export interface EventsOptions {
  /** Revision after which to begin; 0 (default): from the first event. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** How long to keep trying to connect again before N17qUnreachable. Default 60,000. */
  readonly patienceMs?: number;
}

const AGAIN_MS = 100;
const AGAIN_MS_MAX = 5_000;

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void { clearTimeout(timer); signal?.removeEventListener('abort', done); resolve(); }
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** Ends when `signal` aborts; otherwise goes on for as long as it is asked. */
export async function* runEvents(transport: Transport, run: string, o: EventsOptions = {}): AsyncGenerator<EventEnvelope, void, undefined> {
  const patienceMs = o.patienceMs ?? 60_000;
  let at = o.after ?? 0;
  let brokenSince: number | undefined;
  let tries = 0;
  let gaps = 0;
  const gone = (): boolean => o.signal?.aborted === true;
  while (!gone()) {
    const connection = new AbortController();
    const signal = o.signal === undefined ? connection.signal : AbortSignal.any([o.signal, connection.signal]);
    try {
      const r = await transport.send('GET', `/v1/runs/${segment(run)}/stream`, { headers: { accept: 'text/event-stream', 'last-event-id': String(at) }, signal, unbounded: true });
      if (r.body === null) throw new N17qUnreachable('a stream without a body');
      for await (const sent of serverEvents(r.body as unknown as AsyncIterable<Uint8Array>)) {
        const e = JSON.parse(sent.data) as EventEnvelope;
        if (e.revision <= at) continue;
        if (e.revision !== at + 1) {
          if (++gaps > 1) throw new N17qGap(run, at + 1, e.revision); // keeps 1
          break; // asked once more from where we are
        }
        [brokenSince, tries, gaps, at] = [undefined, 0, 0, e.revision];
        yield e;
      }
    } catch (e) {
      if (gone()) return;
      if (e instanceof N17qGap || (e instanceof N17qProblem && e.status < 500 && e.status !== 429)) throw e;
      brokenSince ??= performance.now();
      if (performance.now() - brokenSince > patienceMs) throw e instanceof N17qProblem || e instanceof N17qUnreachable ? e : new N17qUnreachable('the stream of events broke off', { cause: e });
    } finally {
      connection.abort();
    }
    await pause(Math.min(AGAIN_MS_MAX, AGAIN_MS * 2 ** Math.min(tries++, 6)), o.signal);
  }
}
