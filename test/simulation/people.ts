/**
 * What people and systems do to the runs, through the api's own view of the store. They are honest: whoever says what happened has looked at the
 * world, and says nothing while a request may still arrive.
 */
import { randomUUID } from 'node:crypto';
import { contentOf, type AppendOutcome, type AppendRequest, type ContentUpload } from '@n17q/contracts';
import { fact, tenantStream, type Actor, type Amounts, type Fact, type RunId, type RunState, type TenantTopic } from '@n17q/domain';
import { ServiceLog, type StoreAccess } from '@n17q/event-log';
import type { Prng } from './prng.js';
import type { Owner, Scheduler } from './scheduler.js';
import type { SimulatedStore } from './store.js';
import { ALLOW, ASKS, FORBIDS, policy, profiles, registry, TENANT, TOOLS } from './tenant.js';
import type { World } from './world.js';

const OLGA: Actor = { kind: 'person', id: 'olga' };
const IVAN: Actor = { kind: 'person', id: 'ivan' };

export class People {
  private readonly owner: Owner = { name: 'api', alive: true };
  private readonly access: StoreAccess;
  private readonly log: ServiceLog;
  readonly runs: RunId[] = [];
  private removed: readonly string[] = [];
  private accounts: readonly string[] = ['first', 'second'];

  constructor(private readonly sched: Scheduler, private readonly store: SimulatedStore, private readonly world: World, private readonly rng: Prng) {
    this.access = store.access(this.owner, 'api');
    this.log = new ServiceLog(this.access, null, { clock: () => sched.now, pause: () => sched.sleep(this.owner, 'pauses', 20) });
  }

  async publish(topic: TenantTopic, f: Fact): Promise<AppendOutcome> {
    for (;;) {
      const { revision } = await this.store.memory.head(TENANT, tenantStream(topic));
      const request: AppendRequest = { tenant: TENANT, stream: tenantStream(topic), expected: revision, appendId: randomUUID(), actor: OLGA, correlation: topic, causation: null, events: [{ ...f, eventId: randomUUID() }], contents: [] };
      const o = await this.access.append(request);
      if (o.kind !== 'conflict' && o.kind !== 'busy') return o;
    }
  }
  private async say(run: RunId, actor: Actor, decide: (s: RunState) => { facts: readonly Fact[]; contents?: readonly ContentUpload[] } | null): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      const s = await this.log.state(TENANT, run);
      const d = decide(s);
      if (d === null) return;
      const o = await this.log.append(s, { ...d, actor });
      if (o.kind === 'appended' || o.kind === 'refused') return;
    }
  }

  async begin(o: { readonly run: RunId; readonly budget: Amounts; readonly retention: 'metadata-only' | 'standard'; readonly whenDone: 'end' | 'await-input'; readonly changePolicy: 'allow' | 'review' | 'forbid'; readonly tools: readonly string[] }): Promise<void> {
    const goal = contentOf(`do what is to be done in ${o.run}`, 'input');
    this.runs.push(o.run);
    await this.say(o.run, IVAN, (s) => (s.status !== 'new' ? null : {
      facts: [
        fact('run.created', { goal: goal.ref, title: o.run, retention: o.retention, world: { kind: 'real' }, budget: o.budget, constraints: ['be careful'], tools: o.tools, workspace: null, whenDone: o.whenDone, onBehalfOf: null, wallMs: null, changePolicy: o.changePolicy }),
        fact('input.received', { text: goal.ref }),
      ],
      contents: [goal],
    }));
  }

  private readonly request = (type: 'run.pause-requested' | 'run.resume-requested' | 'provider-response.continue-requested' | 'run.end-requested') => (run: RunId): Promise<void> => this.say(run, IVAN, () => ({ facts: [fact(type, { reason: 'asked' })] }));
  readonly pause = this.request('run.pause-requested');
  readonly resume = this.request('run.resume-requested');
  readonly continueResponse = this.request('provider-response.continue-requested');
  readonly end = this.request('run.end-requested');
  input(run: RunId): Promise<void> {
    const text = contentOf('and one more thing\nConstraint: none', 'input');
    return this.say(run, IVAN, () => ({ facts: [fact('input.received', { text: text.ref })], contents: [text] }));
  }
  note(run: RunId): Promise<void> {
    const text = contentOf('for the record', 'note');
    return this.say(run, IVAN, () => ({ facts: [fact('note.added', { text: text.ref, visibility: 'people' })], contents: [text] }));
  }

  /** Looks at the world and says what it saw; silent while anything may still arrive. */
  finding(run: RunId): Promise<void> {
    const evidence = contentOf('seen with own eyes', 'evidence');
    return this.say(run, this.rng.chance(0.85) ? OLGA : IVAN, (s) => {
      const e = Object.values(s.effects).find((x) => x.stage === 'unknown' && !s.findings.some((f) => f.effect === x.effect && !f.applied));
      if (e === undefined || this.world.ledger.sends.some((x) => x.effect === e.effect && x.state === 'travelling')) return null;
      return { facts: [fact('effect.finding-submitted', { finding: randomUUID(), effect: e.effect, verdict: this.world.happenedFor(e.effect) > 0 ? 'happened' : 'did-not-happen', evidence: evidence.ref })], contents: [evidence] };
    });
  }
  /** A tool calls back about something that it did. */
  receipt(run: RunId): Promise<void> {
    const receipt = contentOf('a receipt', 'receipt', 'application/json');
    return this.say(run, { kind: 'tool', id: 'sim' }, (s) => {
      const e = Object.values(s.effects).find((x) => this.world.happenedFor(x.effect) > 0 && (x.stage === 'unknown' || x.stage === 'in-flight'));
      return e === undefined ? null : { facts: [fact('receipt.received', { effect: e.effect, receipt: receipt.ref, from: 'sim' })], contents: [receipt] };
    });
  }
  approve(run: RunId): Promise<void> {
    return this.say(run, OLGA, (s) => {
      const a = Object.values(s.approvals).find((x) => x.stage === 'requested');
      return a === undefined ? null : { facts: [fact('approval.decided', { approval: a.approval, subject: a.subject, decision: this.rng.chance(0.8) ? 'approved' : 'rejected', note: '' })] };
    });
  }
  revoke(run: RunId): Promise<void> {
    return this.say(run, OLGA, (s) => {
      const a = Object.values(s.approvals).find((x) => x.stage === 'approved');
      return a === undefined ? null : { facts: [fact('approval.revoked', { approval: a.approval, reason: 'no longer' })] };
    });
  }

  changePolicy(): Promise<AppendOutcome> {
    const rules = this.rng.pick([ALLOW, ALLOW, `${ALLOW}\n${ASKS}`, `${ALLOW}\n${FORBIDS}`]);
    return this.publish('policy', fact('policy.published', policy(rules)));
  }
  changeRegistry(): Promise<AppendOutcome> {
    this.removed = this.removed.length > 0 ? [] : [this.rng.pick(TOOLS).name];
    return this.publish('registry', fact('registry.published', registry(this.removed)));
  }
  changeAccounts(): Promise<AppendOutcome> {
    this.accounts = this.rng.pick([['first'], ['second'], ['second', 'first'], ['first', 'second']]);
    return this.publish('profiles', fact('profiles.published', profiles(this.accounts)));
  }
  grant(): Promise<AppendOutcome> { return this.publish('budget', fact('allowance.granted', { amounts: { usd_micros: 500_000, tokens: 100_000, calls: 20 }, reason: 'more' })); }
}
