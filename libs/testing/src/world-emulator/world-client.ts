import type { LedgerView } from './ledger.js';
import type { WorldMode } from './world-emulator.js';

async function control<T>(url: string, token: string, path: string, init: RequestInit = {}): Promise<T> {
  const res = await fetch(`${url}/control/${path}`, { ...init, headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(5_000) });
  if (!res.ok) throw new Error(`world emulator: ${path} answered ${res.status}`);
  return (await res.json()) as T;
}

/** What the ticket service at `url` accepted so far, by its own ledger. */
export const ledgerOf = (url: string, token: string): Promise<LedgerView> => control(url, token, 'ledger');
/** Changes how it treats requests from now on; answers with the whole mode. */
export const setWorldMode = (url: string, token: string, change: Partial<WorldMode>): Promise<WorldMode> =>
  control(url, token, 'mode', { method: 'POST', body: JSON.stringify(change) });
/** Lets the held replies go; answers how many. */
export const releaseWorld = async (url: string, token: string): Promise<number> => (await control<{ released: number }>(url, token, 'release', { method: 'POST' })).released;

/** Polls the ledger until `done` says so; rejects with what was there last after `timeoutMs`. */
export async function ledgerUntil(url: string, token: string, done: (l: LedgerView) => boolean, timeoutMs: number): Promise<LedgerView> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const ledger = await ledgerOf(url, token);
    if (done(ledger)) return ledger;
    if (performance.now() > end) throw new Error(`the ledger did not get there in ${timeoutMs} ms: ${JSON.stringify(ledger)}`);
    await new Promise((r) => setTimeout(r, 20));
  }
}
