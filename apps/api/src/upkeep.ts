/** Work that is done at the start and then from time to time; trouble is told and tried again sooner. */
import { setTimeout as after } from 'node:timers/promises';

export interface Upkeep { stop(): Promise<void> }
const AGAIN_MS = 500;

export function startUpkeep(o: { readonly everyMs: number; readonly work: () => Promise<void>; readonly onTrouble: (e: unknown) => void }): Upkeep {
  const ended = new AbortController();
  const done = (async () => {
    while (!ended.signal.aborted) {
      let waitMs = o.everyMs;
      try { await o.work(); } catch (e) { o.onTrouble(e); waitMs = Math.min(AGAIN_MS, o.everyMs); }
      await after(waitMs, undefined, { signal: ended.signal, ref: false }).catch(() => undefined);
    }
  })();
  return { stop: () => { ended.abort(); return done; } };
}
