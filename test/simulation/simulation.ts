/**
 * One seed, from an empty store to quiescence. Chaos first: processes crash, answers get lost, triggers are dropped, doubled and reordered, time
 * jumps, people interfere. Then calm: nothing breaks any more, and everything that can come to an end must.
 */
import { MemoryArtifactStore } from '@n17q/artifacts';
import { fact, NOTHING, runOf, waitCovered } from '@n17q/domain';
import type { Need } from '@n17q/contracts';
import { Model } from './model.js';
import { People } from './people.js';
import { Prng } from './prng.js';
import { Process, REACTORS, type Around, type ProcessSabotage } from './processes.js';
import { Scheduler } from './scheduler.js';
import { scriptOf, settingOf, type Setting } from './setting.js';
import { SimulatedStore, type Sabotage } from './store.js';
import { profiles, registry, roles, TENANT, TOOLS } from './tenant.js';
import { World } from './world.js';

export interface Saboteur extends Sabotage, ProcessSabotage { readonly setting?: Partial<Setting>; /** A saboteur may keep the rest from coming: no need to wait for it for long. */ readonly calmStepsMax?: number }
export interface Trouble { readonly who: string; readonly what: string; readonly message: string }
export interface Waits { readonly stream: string; readonly revision: number; readonly needs: readonly Need[] }
export interface Simulated {
  readonly seed: number;
  readonly setting: Setting;
  readonly store: SimulatedStore;
  readonly world: World;
  readonly model: Model;
  readonly artifacts: MemoryArtifactStore;
  readonly people: Pick<People, 'meanings' | 'decided'>;
  /** Who had work on a run after each of its appends, as the store says. */
  readonly waits: readonly Waits[];
  readonly troubles: readonly Trouble[];
  readonly trace: readonly string[];
  readonly steps: number;
  readonly crashes: number;
  readonly foundBySweep: number;
  /** Needs that stayed due although nothing moved any more, or that never came to an end. */
  readonly stuck: readonly string[];
}

interface Message { readonly service: (typeof REACTORS)[number]; readonly stream: string }
const MODEL_TIMEOUT_MS = 3000;
const CALM_STEPS_MAX = 12_000;
const IDLE_SWEEPS_MAX = 4;
const NEVER = 8_000_000_000_000_000;

class Simulation {
  readonly sched: Scheduler;
  readonly store: SimulatedStore;
  readonly world: World;
  readonly model: Model;
  readonly people: People;
  readonly artifacts = new MemoryArtifactStore();
  readonly troubles: Trouble[] = [];
  readonly processes: Process[] = [];
  readonly stuck: string[] = [];
  readonly waits: Waits[] = [];
  crashes = 0;
  foundBySweep = 0;
  private incarnations = 0;
  private messages: Message[] = [];
  private talking = 0;
  private readonly around: Around;

  constructor(readonly rng: Prng, readonly setting: Setting, private readonly saboteur: Saboteur) {
    this.sched = new Scheduler(rng);
    this.store = new SimulatedStore(this.sched, rng, setting.answerLoss, setting.innerSteps, saboteur);
    this.world = new World(this.sched, rng, { weights: setting.world, keyAware: setting.keyAware, queryWorks: setting.queryWorks, storePosition: () => this.store.position });
    this.model = new Model(this.sched, rng, { weights: setting.model, script: scriptOf(rng, setting.turns), storePosition: () => this.store.position, timeoutMs: MODEL_TIMEOUT_MS });
    this.people = new People(this.sched, this.store, this.world, rng, setting.tools.length > 0 ? setting.tools : TOOLS.map((t) => t.name), setting.source);
    this.around = {
      sched: this.sched, store: this.store, world: this.world, model: this.model, artifacts: this.artifacts, timeoutMs: MODEL_TIMEOUT_MS,
      onTrouble: (who, what, e) => { this.troubles.push({ who, what, message: e instanceof Error ? e.message : String(e) }); },
    };
    for (const service of REACTORS) for (const place of [1, 2]) this.processes.push(this.start(service, place));
    this.store.memory.onCommit(() => { this.watch(); this.announce(); });
  }
  private start(service: (typeof REACTORS)[number], place: number): Process { return new Process(service, place, (this.incarnations += 1), this.around, this.saboteur); }

  private watch(): void {
    const last = this.store.held.lane.at(-1)?.event;
    const held = last === undefined ? undefined : this.store.held.tenants.get(last.tenant)?.streams.get(last.stream);
    if (last?.stream.startsWith('run/') && held !== undefined) this.waits.push({ stream: last.stream, revision: last.revision, needs: [...held.needs.values()] });
  }
  /** What the relay would publish: a hint whose move it is, to every service that it may concern. */
  private announce(): void {
    const last = this.store.held.lane.at(-1);
    if (last === undefined || last.wake === 'none' || !last.event.stream.startsWith('run/')) return;
    for (const service of REACTORS) if (last.wake === 'several' || last.wake === service) this.messages.push({ service, stream: last.event.stream });
  }
  private deliver(chaos: boolean): void {
    const at = this.rng.whole(0, this.messages.length - 1);
    const m = this.messages[at] as Message;
    if (!(chaos && this.rng.chance(this.setting.duplicateTrigger))) this.messages.splice(at, 1);
    if (chaos && this.rng.chance(this.setting.dropTrigger)) return this.sched.note(`drops ${m.service}`);
    const p = this.rng.pick(this.processes.filter((x) => x.service === m.service));
    this.sched.note(`wakes ${p.owner.name} for ${m.stream}`);
    p.wake(TENANT, runOf(m.stream) ?? '');
  }
  private crash(): void {
    const at = this.rng.whole(0, this.processes.length - 1);
    const p = this.processes[at] as Process;
    this.sched.note(`${p.owner.name} dies`);
    this.sched.kill(p.owner);
    this.crashes += 1;
    this.processes[at] = this.start(p.service, p.place);
  }
  private needs(due: (n: Need) => boolean): readonly (Need & { stream: string })[] {
    return [...this.store.held.tenants.values()].flatMap((t) => [...t.streams.values()].flatMap((s) => [...s.needs.values()].filter(due).map((n) => ({ ...n, stream: s.stream }))));
  }
  /** As the store hands them out. */
  private due(): readonly (Need & { stream: string })[] {
    const balance = { ...NOTHING, ...Object.fromEntries(this.store.held.tenants.get(TENANT)?.account ?? []) };
    return this.needs((n) => n.dueAt <= this.sched.now && waitCovered(n.waitsFor, balance));
  }
  private sweep(): number {
    const due = new Map(this.due().map((n) => [`${n.service} ${n.stream}`, { service: n.service as Message['service'], stream: n.stream }]));
    this.sched.note('sweeps');
    this.foundBySweep += due.size;
    this.messages.push(...due.values());
    return due.size;
  }
  private talk(work: Promise<unknown>): void {
    this.talking += 1;
    void work.catch((e: unknown) => this.around.onTrouble('api', 'people', e)).finally(() => { this.talking -= 1; });
  }
  private interfere(): void {
    const { rng, people } = this;
    const run = rng.pick(people.runs);
    const what = rng.weighted(this.setting.people);
    this.sched.note(`people: ${what} ${run}`);
    this.talk(people[what](run));
  }

  async chaos(): Promise<void> {
    const { sched, rng, setting, people } = this;
    const say = (topic: Parameters<People['publish']>[0], f: Parameters<People['publish']>[1]) => people.publish(topic, f);
    const { opening } = setting;
    this.talk(Promise.all([
      ...(opening.policy === null ? [] : [people.publishPolicy(opening.policy)]), ...(opening.registry ? [say('registry', fact('registry.published', registry(undefined, setting.source)))] : []), ...(opening.profiles ? [say('profiles', fact('profiles.published', profiles(['first', 'second'])))] : []),
      say('roles', fact('roles.published', roles)), say('budget', fact('allowance.granted', { amounts: setting.allowance, reason: 'to begin with' })),
    ]));
    for (let r = 1; r <= setting.runs; r++) this.talk(people.begin({ run: `run-${r}`, budget: setting.budget, retention: setting.retention, whenDone: setting.whenDone, changePolicy: setting.changePolicy, tools: setting.tools, onBehalfOf: setting.onBehalfOf, wallMs: setting.wallMs }));
    await sched.settle();
    while (sched.steps < setting.stepsMax) {
      const w = setting.weights;
      const what = rng.weighted({ run: sched.runnable > 0 ? w.run : 0, deliver: this.messages.length > 0 ? w.deliver : 0, crash: w.crash, jump: w.jump, sweep: w.sweep, people: this.talking < 3 ? w.people : 0 });
      if (what === 'run') { await sched.step(); continue; }
      if (what === 'deliver') this.deliver(true);
      else if (what === 'crash') this.crash();
      else if (what === 'jump') sched.advanceTo(sched.now + rng.pick([100, 700, 2100, 5000, 12_000]));
      else if (what === 'people') this.interfere();
      else this.sweep();
      await sched.settle();
    }
  }

  /** Nothing breaks any more. Ends when nothing is left to do now or at any time that comes by itself. */
  async calm(): Promise<void> {
    const { sched } = this;
    this.store.calm = true; this.world.calm = true; this.model.calm = true;
    const until = sched.steps + (this.saboteur.calmStepsMax ?? CALM_STEPS_MAX);
    let idle = 0;
    let position = -1;
    await sched.settle();
    while (sched.steps < until) {
      if (sched.runnable > 0) { await sched.step(); continue; }
      if (this.messages.length > 0) { this.deliver(false); await sched.settle(); continue; }
      if (this.store.position !== position) { position = this.store.position; idle = 0; }
      if (idle < 2 && this.sweep() > 0) { idle += 1; continue; }
      const next = [sched.nextWake, ...this.needs((n) => n.dueAt > sched.now && n.dueAt < NEVER).map((n) => n.dueAt)].filter((t): t is number => t !== undefined);
      if (next.length > 0) { sched.advanceTo(Math.min(...next)); idle = 0; continue; }
      if (this.due().length === 0) return;
      if (++idle > IDLE_SWEEPS_MAX) { this.stuck.push(...this.due().map((n) => `${n.stream}: ${n.service} ${n.reason} stays due and nothing moves`)); return; }
      this.sweep();
    }
    this.stuck.push(`no rest within ${CALM_STEPS_MAX} steps: ${this.due().map((n) => `${n.stream} ${n.service} ${n.reason}`).join('; ')}`);
  }

  /** People do what the system waits for, then it comes to rest again. */
  async help(): Promise<void> {
    this.talk(this.people.restore());
    await this.calm();
    for (const run of this.people.runs) for (const what of ['finding', 'approve', 'resume'] as const) this.talk(this.people[what](run));
    await this.calm();
  }
}

export async function simulate(seed: number, saboteur: Saboteur = {}): Promise<Simulated> {
  const rng = new Prng(seed);
  const setting = { ...settingOf(rng), ...saboteur.setting };
  const s = new Simulation(rng, setting, saboteur);
  await s.chaos();
  await s.calm();
  for (let n = 0; n < 2 && s.stuck.length === 0; n++) await s.help();
  return { seed, setting, store: s.store, world: s.world, model: s.model, artifacts: s.artifacts, people: s.people, waits: s.waits, troubles: s.troubles, trace: s.sched.trace, steps: s.sched.steps, crashes: s.crashes, foundBySweep: s.foundBySweep, stuck: s.stuck };
}
