/** One Postgres, one NATS, one fitted database, and the services on it: each in a process of its own, or all in one. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUS_USERS, connectBus, natsConfig } from '@n17q/bus';
import { BusStore, migrate, roles } from '@n17q/event-log';
import { fitBus, openSandbox, serviceProgram, settingsOf } from '@n17q/testing';

const secret = () => randomBytes(24).toString('base64url');
const HOST = join(import.meta.dirname, 'host.mjs');
const READY_MS = 60_000;

export async function openSite({ profileDir } = {}) {
  const busPasswords = Object.fromEntries(BUS_USERS.map((u) => [u, secret()]));
  const sandbox = await openSandbox({ postgres: true, nats: { configText: natsConfig({ passwords: busPasswords }), syncInterval: '10s' } });
  try {
    const dir = (name) => { const d = join(sandbox.dir, name); mkdirSync(d, { recursive: true, mode: 0o700 }); return d; };
    const ownerUrl = await sandbox.database();
    await migrate(ownerUrl);
    const databases = await roles(ownerUrl, { store: secret(), api: secret(), reader: secret() });
    await fitBus({ natsUrl: sandbox.nats.url, busPasswords });
    const tokensFile = join(sandbox.dir, 'tokens.json');
    writeFileSync(tokensFile, '[]', { mode: 0o600 });
    const site = {
      natsUrl: sandbox.nats.url, busPasswords, databases, artifactsDir: dir('artifacts'), scratchDir: dir('scratch'), credentialsDir: dir('credentials'), toolCredentialsDir: dir('tool-credentials'),
      continuationKey: randomBytes(32).toString('hex'), scopeKey: secret(), tokensFile, apiPort: 0, compileCacheDir: dir('compile-cache'), settings: { N17Q_LOG_LEVEL: 'warn' },
    };
    return { sandbox, ownerUrl, site, profileDir, buses: [] };
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

/** The store as `service` reaches it. */
export async function storeAs(s, service) {
  const bus = await connectBus({ service, url: s.site.natsUrl, password: s.site.busPasswords[service] });
  s.buses.push(bus);
  return new BusStore(bus, service);
}

const profiling = (s, name) => (s.profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${s.profileDir}`, `--cpu-prof-name=${name}.cpuprofile`]);

async function spawned(s, name, entry, env, label = name, nodeArgs = []) {
  const p = await s.sandbox.spawnService({ name: label, entry, env, nodeArgs: [...profiling(s, label), ...nodeArgs] });
  await p.waitForLine(/"event":"ready"/, READY_MS);
  return p;
}
export const startService = (s, service, label) => spawned(s, service, serviceProgram(service, 'main'), settingsOf(service, s.site), label);

async function hosted(s, services, label, nodeArgs) {
  const plan = services.map((name) => ({ name, program: serviceProgram(name, 'index'), settings: settingsOf(name, s.site) }));
  const file = join(s.sandbox.dir, `${label}.json`);
  writeFileSync(file, JSON.stringify(plan), { mode: 0o600 });
  return spawned(s, 'host', HOST, { N17Q_BENCH_PLAN: file, ...(plan[0].settings.NODE_OPTIONS ? { NODE_OPTIONS: plan[0].settings.NODE_OPTIONS } : {}) }, label, nodeArgs);
}

/** Starts services as processes of their own (`separate`) or in one. Returns the processes by name, and the way to stop them. `collects`: each can be told to collect its garbage. */
export async function startServices(s, services, separate, label, { collects = false } = {}) {
  if (!separate) {
    const one = await hosted(s, services, label);
    return { processes: { all: one }, stop: () => one.stop() };
  }
  const processes = {};
  for (const group of [services.filter((x) => x === 'event-store'), services.filter((x) => x !== 'event-store')]) {
    await Promise.all(group.map(async (name) => { processes[name] = await (collects ? hosted(s, [name], `${label}-${name}`, ['--expose-gc']) : startService(s, name, `${label}-${name}`)); }));
  }
  return { processes, stop: async () => { await Promise.all(Object.entries(processes).map(([name, p]) => (name === 'event-store' ? undefined : p.stop()))); await processes['event-store']?.stop(); } };
}

/** Resident memory of a process in bytes; null where the system does not say. */
export function residentBytes(pid) {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  } catch {
    return null;
  }
}

export async function closeSite(s) {
  await Promise.allSettled(s.buses.map((b) => b.close(1_000)));
  await s.sandbox.close();
}
