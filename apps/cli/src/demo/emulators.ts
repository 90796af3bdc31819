/** The demo's outside world: a model provider and a ticket service, each its own process with a ledger that nobody else writes. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ledgerOf, ledgerUntil, setWorldMode, spawnService, type ProviderLedgerView, type Script, type ServiceHandle } from '@n17q/testing';

const program = (name: string): string => join(dirname(fileURLToPath(import.meta.resolve('@n17q/testing'))), name, 'main.js');
const secret = (): string => randomBytes(18).toString('base64url');
const READY_MS = 20_000;

export interface Provider {
  readonly url: string;
  readonly keys: Readonly<Record<string, string>>;
  ledger(): Promise<ProviderLedgerView>;
  /** Every opaque value that it issued. */
  issued(): Promise<readonly string[]>;
  removeAccount(account: string): Promise<void>;
  requestBody(order: number): Promise<string>;
}
export interface World {
  readonly url: string;
  tickets(): Promise<Awaited<ReturnType<typeof ledgerOf>>>;
  /** Resolves when its ledger has a ticket. */
  ticketFiled(withinMs: number): Promise<void>;
  answerNormally(): Promise<void>;
}
export interface Emulators { readonly provider: Provider; readonly world: World; stop(): Promise<void> }

export async function startEmulators(dir: string, accounts: readonly string[], script: Script): Promise<Emulators> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const keys = Object.fromEntries(accounts.map((a) => [a, secret()]));
  writeFileSync(join(dir, 'accounts.json'), JSON.stringify(keys), { mode: 0o600 });
  writeFileSync(join(dir, 'script.json'), JSON.stringify(script), { mode: 0o600 });
  const token = secret();
  const started: ServiceHandle[] = [];
  const spawn = async (o: { name: string; args: string[]; env: Record<string, string> }): Promise<ServiceHandle> => {
    const handle = await spawnService({ ...o, dir, entry: program(o.name) });
    started.push(handle);
    return handle;
  };
  const stop = async (): Promise<void> => { await Promise.allSettled(started.map((h) => h.stop())); };
  try {
    const [provider, world] = await Promise.all([
      spawn({ name: 'provider-emulator', args: ['--accounts', join(dir, 'accounts.json'), '--script', join(dir, 'script.json'), '--strict', 'account,model,prefix'], env: { N17Q_EMULATOR_CONTROL_TOKEN: token } }),
      spawn({ name: 'world-emulator', args: ['--ledger', join(dir, 'tickets.jsonl'), '--mode', JSON.stringify({ reply: 'hold', query: true, keyAware: false })], env: { N17Q_WORLD_TOKEN: token } }),
    ]);
    const providerUrl = `http://127.0.0.1:${(await provider.waitForLine(/"port":(\d+)/, READY_MS))[1] ?? ''}`;
    const worldUrl = (await world.waitForLine(/"url":"([^"]+)"/, READY_MS))[1] ?? '';
    const control = async <T>(path: string, method = 'GET'): Promise<T> => {
      const res = await fetch(`${providerUrl}/control/${path}`, { method, headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(5_000) });
      if (!res.ok) throw new Error(`the provider emulator answered ${res.status} to ${path}`);
      return (await res.json()) as T;
    };
    return {
      provider: {
        url: providerUrl, keys, ledger: () => control('ledger'), issued: async () => (await control<{ values: readonly string[] }>('issued')).values,
        removeAccount: async (a) => { await control(`accounts/${a}`, 'DELETE'); }, requestBody: async (n) => (await control<{ body: string | null }>(`requests/${n}/body`)).body ?? '',
      },
      world: { url: worldUrl, tickets: () => ledgerOf(worldUrl, token), ticketFiled: async (ms) => { await ledgerUntil(worldUrl, token, (l) => l.accepted > 0, ms); }, answerNormally: async () => { await setWorldMode(worldUrl, token, { reply: 'normal' }); } },
      stop,
    };
  } catch (e) {
    await stop();
    throw e;
  }
}
