/**
 * The event store of a simulation: the store in memory behind two replicas of the real guard, and the way from a process to them, on which
 * answers get lost. A lost answer is asked for again with the same append id, as the client over the bus does.
 */
import type { AppendOutcome, AppendRequest } from '@n17q/contracts';
import type { ServiceName } from '@n17q/domain';
import { emptyStore, GuardedStore, MemoryEventStore, type EventStorePort, type HeldStore, type StoreAccess } from '@n17q/event-log';
import type { Prng } from './prng.js';
import type { Owner, Scheduler } from './scheduler.js';

/** What stands at the store's door: the guard, or a saboteur. */
export interface Door { append(raw: AppendRequest, writer: ServiceName, bytes: number): Promise<AppendOutcome> }
export interface Sabotage {
  readonly door?: (port: EventStorePort, clock: { now(): number }) => Door;
  readonly port?: (port: EventStorePort) => EventStorePort;
  readonly access?: (access: StoreAccess) => StoreAccess;
}
export interface RefusedAppend { readonly writer: ServiceName; readonly code: string; readonly message: string; readonly types: readonly string[] }

const TRIES = 6;
export class StoreLost extends Error { readonly kind = 'transient'; constructor(what: string) { super(`the store did not answer: ${what}`); } }

export class SimulatedStore {
  readonly held: HeldStore = emptyStore('simulated');
  readonly memory: MemoryEventStore;
  readonly refusals: RefusedAppend[] = [];
  private readonly doors: readonly Door[];
  private readonly port: EventStorePort;
  private readonly owner: Owner = { name: 'store', alive: true };
  calm = false;

  constructor(private readonly sched: Scheduler, private readonly rng: Prng, private readonly loss: number, private readonly innerSteps: number, private readonly sabotage: Sabotage) {
    const clock = { now: () => sched.now };
    this.memory = new MemoryEventStore(clock.now, this.held);
    this.port = sabotage.port?.(this.memory) ?? this.memory;
    const stepped = this.stepped(this.port);
    this.doors = [0, 1].map(() => sabotage.door?.(stepped, clock) ?? new GuardedStore(stepped, { clock, cachedRunsMax: 8 }));
  }
  get position(): number { return this.held.lane.length; }

  /** The guard's own calls to its database wait for their turn too, so that two replicas of it interleave. */
  private stepped(port: EventStorePort): EventStorePort {
    const wait = async (label: string): Promise<void> => { if (!this.calm && this.rng.chance(this.innerSteps)) await this.sched.park(this.owner, label, () => undefined); };
    return new Proxy(port, { get: (target, name, self) => {
      const f = Reflect.get(target, name, self) as unknown;
      if (typeof f !== 'function' || !['append', 'loadRun', 'head', 'readEvents'].includes(String(name))) return typeof f === 'function' ? (f as (...a: unknown[]) => unknown).bind(target) : f;
      return async (...args: unknown[]) => { await wait(`database ${String(name)}`); return (f as (...a: unknown[]) => unknown).apply(target, args); };
    } });
  }

  access(process: Owner, service: ServiceName): StoreAccess {
    const ask = <T>(label: string, work: () => Promise<T>): Promise<T> => this.sched.park(process, label, work);
    const own: StoreAccess = {
      service,
      append: (r) => this.append(process, service, r),
      loadRun: (t, s, after) => ask(`loads ${s}`, () => this.port.loadRun(t, s, after)),
      decisionView: (q) => ask(`views ${q.stream}`, () => this.port.decisionView(q)),
      readEvents: (t, s, after, limit) => ask(`reads ${s}`, () => this.port.readEvents(t, s, after, limit)),
      contents: (t, c) => ask('reads contents', () => this.port.contents(t, c, { reader: service })),
    };
    return this.sabotage.access?.(own) ?? own;
  }

  private async append(process: Owner, service: ServiceName, r: AppendRequest): Promise<AppendOutcome> {
    const bytes = Buffer.byteLength(JSON.stringify(r));
    const what = r.events.map((e) => e.type).join(' ');
    for (let tries = 0; tries < TRIES; tries++) {
      const door = this.rng.pick(this.doors);
      const asked = this.sched.park(process, `appends ${what}`, () => {
        // the request is on its way: from here on it is the store's, whatever becomes of the process
        const done = door.append(r, service, bytes);
        done.catch(() => undefined); // heard below, if anybody still listens
        return { done };
      });
      const { done } = await asked;
      const outcome = await this.sched.park(process, `hears of ${what}`, () => done.then((o) => (!this.calm && this.rng.chance(this.loss) ? null : o)));
      if (outcome === null) continue;
      if (outcome.kind === 'refused') this.refusals.push({ writer: service, code: outcome.code, message: outcome.message, types: r.events.map((e) => e.type) });
      return outcome;
    }
    throw new StoreLost(what);
  }
}
