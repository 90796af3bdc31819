/**
 * Events of a run as they come, as server-sent events. The id of each is its revision; a reader that comes back with it misses and repeats nothing.
 *
 * S1. What is sent is read from the store in order of revision. A trigger only shortens the wait, and none is needed.
 * S2. A slow reader is waited for; nothing is buffered beyond one page. The number of open streams is bounded.
 *
 * Rows: RUN-1, SVC-2 (for people).
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Response } from 'express';
import { runStream, type RunId, type TenantId } from '@n17q/domain';
import { StoreUnreachable, type BusStore } from '@n17q/event-log';
import { Problem } from '../http/problem.js';

export const STREAMS_MAX = 256;
const PAGE = 100;

interface Open { readonly key: string; wake(): void; end(): void }

export class EventStreams {
  readonly #open = new Set<Open>();
  #closed = false;
  constructor(private readonly store: BusStore, private readonly o: { readonly heartbeatMs: number; readonly pollMs: number }) {}

  get count(): number { return this.#open.size; }

  /** Something was appended to the run. */
  woke(tenant: TenantId, run: RunId): void { const key = `${tenant} ${run}`; for (const s of this.#open) if (s.key === key) s.wake(); }

  /** Ends every stream; readers come back elsewhere. */
  close(): void { this.#closed = true; for (const s of this.#open) s.end(); }

  /** Resolves when the reader has gone, or the service stops. */
  async send(res: Response, tenant: TenantId, run: RunId, from: number): Promise<void> {
    if (this.#closed) throw new Problem('NOT_READY', 'The service is stopping.');
    if (this.#open.size >= STREAMS_MAX) throw new Problem('TOO_MANY_STREAMS', `At most ${STREAMS_MAX} event streams are open at once.`, { retryAfterS: 5 });
    const ended = new AbortController();
    let wake: () => void = () => undefined;
    const mine: Open = { key: `${tenant} ${run}`, wake: () => wake(), end: () => ended.abort() };
    this.#open.add(mine);
    res.once('close', mine.end);
    try {
      res.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
      res.flushHeaders();
      await this.write(res, ended.signal, `retry: 1000\n\n`);
      let at = from;
      let quietSince = performance.now();
      while (!ended.signal.aborted) {
        const woken = new Promise<void>((resolve) => { wake = resolve; }); // set before the read: an append in between is not missed
        const page = await this.page(tenant, run, at);
        for (const e of page) {
          await this.write(res, ended.signal, `id: ${e.revision}\nevent: run-event\ndata: ${JSON.stringify(e)}\n\n`);
          at = e.revision;
        }
        if (page.length > 0) { quietSince = performance.now(); continue; }
        if (performance.now() - quietSince >= this.o.heartbeatMs) { await this.write(res, ended.signal, ': still here\n\n'); quietSince = performance.now(); }
        await Promise.race([woken, after(Math.min(this.o.pollMs, this.o.heartbeatMs), undefined, { signal: ended.signal }).catch(() => undefined)]);
      }
    } finally {
      this.#open.delete(mine);
      res.end();
    }
  }

  private async page(tenant: TenantId, run: RunId, at: number): ReturnType<BusStore['readEvents']> {
    try { return await this.store.readEvents(tenant, runStream(run), at, PAGE); } catch (e) {
      if (e instanceof StoreUnreachable) return []; // the reader keeps its place; the next look comes with the next poll
      throw e;
    }
  }

  private async write(res: Response, ended: AbortSignal, text: string): Promise<void> {
    if (ended.aborted || res.write(text)) return;
    await new Promise<void>((resolve) => { res.once('drain', resolve); ended.addEventListener('abort', () => resolve(), { once: true }); }); // keeps S2
  }
}
