/** The services of a stack, each kept running: as a process, or in this one. Same program, same settings, NATS in between in both cases. Rows: SVC-1, SVC-4, RUN-4. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ServiceName } from '@n17q/domain';
import { serviceProgram, settingsOf, spawnService, STACK_SERVICES, type Site } from '@n17q/testing';
import { Keeper, type Instance } from './keeper.js';

const READY_MS = 60_000;
const STOP_MS = 20_000;

export interface ServicePart { readonly name: ServiceName; readonly keeper: Keeper; readonly log: string }
interface RunningHere { readonly lost: Promise<Error | undefined>; stop(): Promise<void> }

export const builtServices = (): readonly ServiceName[] => STACK_SERVICES.filter((s) => existsSync(serviceProgram(s, 'main')));

/** Settings for the next start of a service only, such as a failpoint. */
export type Once = Map<ServiceName, Readonly<Record<string, string>>>;

async function asProcess(name: ServiceName, site: Site, logs: string, once: Once, signal: AbortSignal): Promise<Instance> {
  const extra = once.get(name) ?? {};
  once.delete(name);
  const handle = await spawnService({ name, dir: logs, entry: serviceProgram(name, 'main'), env: { ...settingsOf(name, site), ...extra } });
  const cut = (): void => { void handle.stop(STOP_MS).catch(() => undefined); }; // the wait below says how it ended
  signal.addEventListener('abort', cut, { once: true });
  if (signal.aborted) cut();
  await handle.waitForLine(/"event":"ready"/, READY_MS).finally(() => signal.removeEventListener('abort', cut)).catch(async (e: unknown) => {
    await handle.kill();
    const said = handle.stderr().trim().split('\n').at(-1);
    throw new Error(said === undefined || said === '' ? String(e) : said.slice(0, 500), { cause: e });
  });
  return { pid: handle.pid, ended: handle.exited.then((x) => `ended with ${x.signal ?? `code ${String(x.code)}`}`), stop: () => handle.stop(STOP_MS), kill: () => handle.kill() };
}

async function here(name: ServiceName, site: Site): Promise<Instance> {
  const program = await import(pathToFileURL(serviceProgram(name, 'index')).href) as { start(s: Readonly<Record<string, string>>): Promise<RunningHere> };
  const running = await program.start(settingsOf(name, site));
  let stopped: (how: string) => void = () => undefined;
  const asked = new Promise<string>((resolve) => { stopped = resolve; });
  const lost = running.lost.then(async (cause) => {
    await running.stop().catch(() => undefined); // what is left of it; it is started anew
    return cause?.message ?? 'lost its connection';
  });
  return { pid: process.pid, ended: Promise.race([asked, lost]), stop: async () => { try { await running.stop(); } finally { stopped('stopped'); } }, kill: undefined };
}

/** The store first, since the others ask it; then all others at once. `parts` grows as they come, so that a failed start can be undone. */
export async function startFleet(o: { readonly mode: 'one-process' | 'separate'; readonly site: Site; readonly logs: string; readonly once: Once; readonly changed: () => void; readonly parts: ServicePart[]; readonly afterStore: () => Promise<void> }): Promise<void> {
  const open = async (name: ServiceName): Promise<void> => {
    const keeper = new Keeper((signal) => (o.mode === 'separate' ? asProcess(name, o.site, o.logs, o.once, signal) : here(name, o.site)), o.changed);
    o.parts.push({ name, keeper, log: join(o.logs, o.mode === 'separate' ? `${name}.err` : 'supervisor.log') });
    await keeper.open().catch((e: unknown) => { throw new Error(`${name} did not start: ${e instanceof Error ? e.message : String(e)}`, { cause: e }); });
  };
  const wanted = builtServices();
  if (wanted.includes('event-store')) await open('event-store');
  const outcomes = await Promise.allSettled([o.afterStore(), ...wanted.filter((s) => s !== 'event-store').map(open)]);
  const failed = outcomes.find((x) => x.status === 'rejected');
  if (failed !== undefined) throw failed.reason as Error;
}
