/**
 * The processes of a simulation: two replicas of each of the five services, each with the real handler, its own memory and its own identity.
 * A crash loses all of that; what is started in its place begins with nothing.
 */
import { createHash } from 'node:crypto';
import { keeping, MemoryArtifactStore } from '@n17q/artifacts';
import type { Reactor, RunId, TenantId } from '@n17q/domain';
import { runStream } from '@n17q/domain';
import { ServiceLog, type StoreAccess } from '@n17q/event-log';
import { Credential, type ProviderAdapter } from '@n17q/providers';
import { validateArguments, type Connector } from '@n17q/tools';
import type { ToolMapping } from '@n17q/domain';
import { erasing } from '../../apps/checkpoint-sealer/src/erase-artifacts.js';
import { sealRun } from '../../apps/checkpoint-sealer/src/seal-run.js';
import { compileRun } from '../../apps/context-compiler/src/compile-run.js';
import { reconciler } from '../../apps/effect-reconciler/src/reconcile-run.js';
import { judgeRun } from '../../apps/policy-gate/src/judge-run.js';
import { RuleSets } from '../../apps/policy-gate/src/rule-sets.js';
import { gateway } from '../../apps/provider-gateway/src/generate-run.js';
import { sealingWith } from '../../apps/provider-gateway/src/sealing.js';
import type { Model } from './model.js';
import type { Owner, Scheduler } from './scheduler.js';
import type { SimulatedStore } from './store.js';
import type { World } from './world.js';

export type React = (tenant: TenantId, run: RunId) => Promise<void>;
export const REACTORS: readonly Reactor[] = ['checkpoint-sealer', 'context-compiler', 'policy-gate', 'effect-reconciler', 'provider-gateway'];
export const sealing = sealingWith(createHash('sha256').update('simulation').digest());
/** What a process gets; a saboteur may put something else in its place. */
export interface Around { readonly sched: Scheduler; readonly store: SimulatedStore; readonly world: World; readonly model: Model; readonly artifacts: MemoryArtifactStore; readonly timeoutMs: number; onTrouble(who: string, what: string, e: unknown): void }
export interface ProcessSabotage {
  readonly connector?: (own: Connector, t: ToolMapping) => Connector;
  readonly adapter?: (own: ProviderAdapter) => ProviderAdapter;
  readonly react?: (service: Reactor, own: React, log: ServiceLog, around: Around, owner: Owner) => React;
  readonly monotonicMs?: (own: () => number) => () => number;
}

/** Compiled rules hold nothing of a process. */
const RULES = new RuleSets();

export class Process {
  readonly owner: Owner;
  private readonly busy = new Set<string>();
  private readonly again = new Set<string>();
  private readonly react: React;

  constructor(readonly service: Reactor, readonly place: number, incarnation: number, private readonly a: Around, sabotage: ProcessSabotage) {
    this.owner = { name: `${service}/${place}.${incarnation}`, alive: true };
    const access: StoreAccess = a.store.access(this.owner, service);
    const log = new ServiceLog(access, { get: (t, c) => a.artifacts.get(t, c) }, { clock: () => a.sched.now, pause: () => a.sched.sleep(this.owner, 'pauses', 20), cachedRunsMax: 8 });
    const own = this.handler(log, access, sabotage);
    this.react = sabotage.react?.(service, own, log, a, this.owner) ?? own;
  }

  private handler(log: ServiceLog, access: StoreAccess, sabotage: ProcessSabotage): React {
    const { sched, world, model, store, artifacts } = this.a;
    const clock = (): number => sched.now;
    const monotonicMs = sabotage.monotonicMs?.(clock) ?? clock;
    const register = async (tenant: TenantId, r: RunId, ref: Parameters<Parameters<typeof keeping>[1]>[2]): Promise<void> => { await sched.park(this.owner, 'registers', () => store.memory.registerArtifact({ tenant, stream: runStream(r), ref, salt: null, state: 'complete' })); };
    const common = { log, incarnation: this.owner.name, monotonicMs, keep: keeping(artifacts, register), onTrouble: (what: string, e: unknown) => this.a.onTrouble(this.owner.name, what, e) };
    switch (this.service) {
      case 'checkpoint-sealer': return sealRun(log, erasing(access, artifacts));
      case 'context-compiler': return compileRun(log, common.keep);
      case 'policy-gate': return judgeRun(log, { ruleSets: RULES, hook: () => Promise.resolve({ answer: 'allow', reason: '' }) });
      case 'effect-reconciler': return reconciler({ ...common, register, validate: validateArguments, scopeSalt: (t) => `salt of ${t}`, connector: (t) => { const c = world.connector(this.owner, t); return sabotage.connector?.(c, t) ?? c; } }).run;
      case 'provider-gateway': {
        const adapter = model.adapter(this.owner);
        const given = sabotage.adapter?.(adapter) ?? adapter;
        return gateway({ ...common, sealing, adapter: (name) => (name === 'simulated' ? given : undefined), credentials: { credential: (account) => Promise.resolve({ kind: 'found', credential: new Credential(account) }) }, requestTimeoutMs: this.a.timeoutMs }).run;
      }
    }
  }

  /** One at a time per run, as the run queue does; a trigger meanwhile means once more. */
  wake(tenant: TenantId, run: RunId): void {
    const key = `${tenant} ${run}`;
    if (this.busy.has(key)) { this.again.add(key); return; }
    this.busy.add(key);
    void this.react(tenant, run)
      .catch((e: unknown) => { if (this.owner.alive) this.a.onTrouble(this.owner.name, 'handler', e); })
      .finally(() => {
        this.busy.delete(key);
        if (this.again.delete(key) && this.owner.alive) this.wake(tenant, run);
      });
  }
  get working(): boolean { return this.busy.size > 0; }
}
