/**
 * The main job, before the user's eyes: a coding run whose reconciler is killed in the middle of an effect, whose gateway is killed between a
 * result and the next request, and whose model account is taken away. Nothing here tells the services what to do; it breaks them and counts.
 *
 * M1. Everything that was started is stopped, however this ends. The data stays.
 * M2. Figures come from the ledgers, the log, the bus and the files, never from what the demo intended.
 *
 * Rows: RUN-2, RUN-4, SEAL-4, EFF-3, EFF-5, CON-4, RES-2, RES-3, SVC-1.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RunId, ServiceName, TenantId } from '@n17q/domain';
import { FIRST_ALLOWANCE, FIRST_POLICY, geminiAccount, openReader, OPERATOR_ROLES, profilesOf } from '@n17q/testing';
import { codingTools, probeIsolation } from '@n17q/tools';
import type { Once, ServicePart } from '../stack/fleet.js';
import { makePlaces, type Places } from '../stack/places.js';
import { supervise, type Supervised } from '../stack/supervisor.js';
import { rememberDemo } from '../stack/tokens.js';
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { openDesk, type Desk } from './desk.js';
import { startEmulators, type Emulators } from './emulators.js';
import { filesIn, Needles } from './leaks.js';
import type { DemoRepo } from './repo.js';
import { ACCOUNTS, KILLED_BEFORE_REQUEST, MODELS } from './scenario.js';
import { told } from './story.js';
import { begun, finished } from './unfinished.js';
import { verdicts, type Finding } from './verdict.js';
import { all, first, Watch } from './watch.js';
import { tap, type Wiretap } from './wiretap.js';

export interface DemoOptions { readonly places: Places; readonly repo: (dir: string) => Promise<DemoRepo>; readonly say: (line: string) => void; readonly signal: AbortSignal }
export interface DemoOutcome { readonly tenant: TenantId; readonly run: RunId; readonly findings: readonly Finding[]; readonly seconds: number }

const LEASE_MS = 5_000;
const STEP_MS = 60_000;
/** Settings of the user's own stack, which the demo's does not go by. */
const NOT_THE_USERS = { N17Q_NATS_URL: '', N17Q_DATABASE_URL: '', N17Q_NATS_PORT: '', N17Q_POSTGRES_PORT: '', N17Q_PROVIDERS_FILE: '', N17Q_TEST_CMD: '', N17Q_TICKETS_URL: '' };
const interrupted = (): Trouble => new Trouble('The demo was interrupted; what it had started is stopped.');

interface Scene { readonly stack: Supervised; readonly emulators: Emulators; readonly desk: Desk; readonly wiretap: Wiretap; readonly repo: DemoRepo; readonly tenant: TenantId; readonly say: (line: string) => void }

const partOf = (s: Supervised, name: ServiceName): ServicePart => s.services.find((x) => x.name === name) as ServicePart;

async function setTenant(scene: Scene): Promise<void> {
  await scene.desk.documents({
    policy: { ...FIRST_POLICY, leaseMs: LEASE_MS }, roles: OPERATOR_ROLES, allowance: FIRST_ALLOWANCE,
    registry: { tools: codingTools({ isolation: await probeIsolation(), testCommand: scene.repo.testCommand, ticketsUrl: scene.emulators.world.url }) },
  });
  await scene.desk.profiles(profilesOf((['first', 'second'] as const).map((a) => geminiAccount(ACCOUNTS[a], scene.emulators.provider.url, [MODELS[a]]))));
}

/** The world has the ticket and says nothing; the process that waits for its word dies. */
async function killReconciler(scene: Scene, watch: Watch): Promise<void> {
  const reconciler = partOf(scene.stack, 'effect-reconciler').keeper;
  await scene.emulators.world.ticketFiled(STEP_MS);
  const victim = reconciler.instance;
  if (victim?.kill === undefined) throw new Trouble('The effect reconciler is not there to be killed.');
  scene.say(`>> the ledger of the ticket service says 1, its reply is held: kill -9 of effect-reconciler (pid ${victim.pid})`);
  await victim.kill();
  await scene.emulators.world.answerNormally();
  await watch.until('a new effect-reconciler', STEP_MS, () => (reconciler.restarts > 0 && reconciler.instance !== undefined ? true : undefined));
  scene.say(`>> effect-reconciler is started again (pid ${reconciler.instance?.pid ?? '?'}); nobody may look before the claim's ${LEASE_MS / 1000} s are over`);
}

async function play(scene: Scene, watch: Watch): Promise<void> {
  await killReconciler(scene, watch);
  await watch.until('the effect as unknown', STEP_MS, (e) => first(e, 'effect.outcome-unknown'));
  await watch.until('the look that settles it', STEP_MS, (e) => first(e, 'effect.reconciled'));
  const gateway = partOf(scene.stack, 'provider-gateway').keeper;
  await watch.until('the end of the provider-gateway', STEP_MS, () => (gateway.restarts > 0 || gateway.instance === undefined ? true : undefined));
  scene.say('>> kill -9 of provider-gateway between a tool result and the next request');
  await watch.until('a new provider-gateway', STEP_MS, () => (gateway.restarts > 0 && gateway.instance !== undefined ? true : undefined));
  scene.say(`>> provider-gateway is started again (pid ${gateway.instance?.pid ?? '?'})`);
  const owner = first(watch.events, 'generation.started')?.data.owner;
  const rebuilt = await watch.until('a continued request by the new gateway', STEP_MS, (e) => all(e, 'generation.started').find((s) => s.data.owner !== owner));
  await watch.until('its acceptance', STEP_MS, (e) => first(e, 'generation.accepted', (d) => d.attempt === rebuilt.data.attempt));
  scene.say('>> the provider accepted the rebuilt continuation, byte for byte');
  scene.say(`>> the account ${ACCOUNTS.first} is removed, here and at the provider`);
  await scene.desk.removeAccount(ACCOUNTS.first);
  await scene.emulators.provider.removeAccount(ACCOUNTS.first);
  await watch.until('a second segment', STEP_MS, (e) => all(e, 'segment.started')[1]);
  await watch.until('the end of the run', STEP_MS, (e) => first(e, 'run.ended'));
}

async function count(scene: Scene, places: Places, run: RunId, repoBefore: string): Promise<readonly Finding[]> {
  const { provider, world } = scene.emulators;
  const [ledger, tickets, issued] = [await provider.ledger(), await world.tickets(), await provider.issued()];
  const needles = new Needles(issued);
  const bodies = await Promise.all(ledger.entries.map((e) => provider.requestBody(e.order)));
  const reader = openReader(scene.stack.site.databases.reader);
  try {
    const answers = await scene.desk.answers(run);
    const contents = (await reader.contents(scene.tenant)).flatMap((c) => (c.class === 'continuation' || c.body === null ? [] : [c.body]));
    // a request in flight when its account was taken away may be refused for just that
    const refusals = ledger.entries.filter((e) => e.refusal !== undefined && !(e.account === ACCOUNTS.first && e.refusal.code === 403)).length;
    return verdicts({
      events: await reader.events(scene.tenant, run), ticketsInLedger: tickets.accepted, ticketRequests: tickets.arrived, providerRefusals: refusals,
      reconcilerKills: partOf(scene.stack, 'effect-reconciler').keeper.restarts, gatewayKills: partOf(scene.stack, 'provider-gateway').keeper.restarts, removedAccount: ACCOUNTS.first,
      leaks: {
        values: needles.values, inRequests: needles.seenIn(bodies), messages: scene.wiretap.messages, inMessages: needles.seenIn(scene.wiretap.heard()), inLogs: needles.seenIn([...filesIn(places.logs), ...filesIn(places.nats)]),
        inStore: needles.seenIn(await reader.texts(scene.tenant)), inContents: needles.seenIn([...contents, ...(await scene.desk.outside())]), apiAnswers: answers.length, inApi: needles.seenIn(answers),
      },
      repoUntouched: (await scene.repo.fingerprint()) === repoBefore,
    });
  } finally {
    await reader.close();
  }
}

export async function runDemo(o: DemoOptions): Promise<DemoOutcome> {
  const began = performance.now();
  const say = (text: string): void => o.say(`${((performance.now() - began) / 1000).toFixed(1).padStart(5)} s  ${line(text, 200)}`);
  makePlaces(o.places);
  const dir = join(o.places.data, 'demo');
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const ends: (() => Promise<unknown>)[] = [];
  begun(o.places.data);
  const stopAll = async (): Promise<void> => { for (const end of ends.splice(0).reverse()) await end().catch((e: unknown) => say(`while stopping: ${String(e)}`)); }; // keeps M1
  try {
    const repo = await o.repo(join(dir, 'repo'));
    const repoBefore = await repo.fingerprint();
    say('starting a model provider and a ticket service');
    const emulators = await startEmulators(dir, Object.values(ACCOUNTS), repo.script);
    ends.push(() => emulators.stop());
    const tenant = `demo-${Date.now().toString(36)}` as TenantId;
    const token = randomBytes(24).toString('base64url');
    rememberDemo(o.places.demos, { token, tenant, person: 'operator' });
    const observer = randomBytes(24).toString('base64url');
    const once: Once = new Map([['provider-gateway', { N17Q_FAILPOINT: `generation.before-request-after-results@${KILLED_BEFORE_REQUEST}` }]]);
    const env = { ...process.env, ...NOT_THE_USERS, N17Q_API_PORT: '0' };
    const stack = await supervise({ places: o.places, mode: 'separate', env, progress: say, once, observer });
    ends.push(() => stack.stop(say));
    if (o.signal.aborted) throw interrupted();
    const wiretap = await tap(stack.site.natsUrl, observer);
    ends.push(() => wiretap.stop());
    const desk = openDesk({ stack, places: o.places, tenant, token, keys: emulators.provider.keys });
    const scene: Scene = { stack, emulators, desk, wiretap, repo, tenant, say };
    await setTenant(scene);
    const run = await desk.createRun(repo.goal, repo.path);
    say(`run ${run} works on a copy of ${repo.path}`);
    const reader = openReader(stack.site.databases.reader);
    ends.push(() => reader.close());
    const toolOf = new Map<string, string>();
    const watch = new Watch(reader, tenant, run, (e) => {
      if (e.type === 'effect.intended') toolOf.set(e.data.effect, e.data.tool);
      const words = told(e, toolOf);
      if (words !== undefined) say(words);
    });
    ends.push(() => watch.stop());
    const aborted = new Promise<never>((_, reject) => { o.signal.addEventListener('abort', () => reject(interrupted()), { once: true }); });
    await Promise.race([play(scene, watch), aborted]);
    finished(o.places.data);
    say('counting');
    const findings = await count(scene, o.places, run, repoBefore);
    await stopAll();
    return { tenant, run, findings, seconds: (performance.now() - began) / 1000 };
  } finally {
    await stopAll();
  }
}
