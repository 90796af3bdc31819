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
import { delegating, MEANINGS, OTHERWISE, policy, profiles, registry, ROLES, roles, TENANT, type Delegated, type Meaning, type RegistryChange, type SourceKind } from './tenant.js';
import type { World } from './world.js';

const OLGA: Actor = { kind: 'person', id: 'olga' };
const IVAN: Actor = { kind: 'person', id: 'ivan' };
const MARA: Actor = { kind: 'person', id: 'mara' };
/** What a person was told to have been taken in. */
export interface Decided { readonly run: RunId; readonly approval: string; readonly decision: 'approved' | 'rejected' | 'revoked'; readonly by: string }

export class People {
  private readonly owner: Owner = { name: 'api', alive: true };
  private readonly access: StoreAccess;
  private readonly log: ServiceLog;
  readonly runs: RunId[] = [];
  /** By the event's id, what is meant by a policy. */
  readonly meanings = new Map<string, Meaning>();
  readonly decided: Decided[] = [];
  private changed: RegistryChange = { without: [], otherwise: {} };
  private accounts: readonly string[] = ['first', 'second'];

  constructor(private readonly sched: Scheduler, private readonly store: SimulatedStore, private readonly world: World, private readonly rng: Prng, private readonly tools: readonly string[], private readonly source: SourceKind) {
    this.access = store.access(this.owner, 'api');
    this.log = new ServiceLog(this.access, null, { clock: () => sched.now, pause: () => sched.sleep(this.owner, 'pauses', 20) });
  }

  async publish(topic: TenantTopic, f: Fact, meaning?: Meaning): Promise<AppendOutcome> {
    const eventId = randomUUID();
    if (meaning !== undefined) this.meanings.set(eventId, meaning);
    for (;;) {
      const { revision } = await this.store.memory.head(TENANT, tenantStream(topic));
      const request: AppendRequest = { tenant: TENANT, stream: tenantStream(topic), expected: revision, appendId: randomUUID(), actor: OLGA, correlation: topic, causation: null, events: [{ ...f, eventId }], contents: [] };
      const o = await this.access.append(request);
      if (o.kind !== 'conflict' && o.kind !== 'busy') return o;
    }
  }
  private async say(run: RunId, actor: Actor, decide: (s: RunState) => { facts: readonly Fact[]; contents?: readonly ContentUpload[] } | null): Promise<readonly Fact[] | null> {
    for (let tries = 0; tries < 20; tries++) {
      const s = await this.log.state(TENANT, run);
      const d = decide(s);
      if (d === null) return null;
      const o = await this.log.append(s, { ...d, actor });
      if (o.kind === 'refused') return null;
      if (o.kind === 'appended') return d.facts;
    }
    return null;
  }

  async begin(o: { readonly run: RunId; readonly budget: Amounts; readonly retention: 'metadata-only' | 'standard'; readonly whenDone: 'end' | 'await-input'; readonly changePolicy: 'allow' | 'review' | 'forbid'; readonly tools: readonly string[]; readonly onBehalfOf: string | null; readonly wallMs: number | null }): Promise<void> {
    const goal = contentOf(`do what is to be done in ${o.run}`, 'input');
    this.runs.push(o.run);
    await this.say(o.run, IVAN, (s) => (s.status !== 'new' ? null : {
      facts: [
        fact('run.created', { goal: goal.ref, title: o.run, retention: o.retention, world: { kind: 'real' }, budget: o.budget, constraints: ['be careful'], tools: o.tools, workspace: null, whenDone: o.whenDone, onBehalfOf: o.onBehalfOf, wallMs: o.wallMs, changePolicy: o.changePolicy }),
        fact('input.received', { text: goal.ref }),
      ],
      contents: [goal],
    }));
  }

  private readonly request = (type: 'run.pause-requested' | 'run.resume-requested' | 'provider-response.continue-requested' | 'run.end-requested') => (run: RunId): Promise<unknown> => this.say(run, IVAN, () => ({ facts: [fact(type, { reason: 'asked' })] }));
  readonly pause = this.request('run.pause-requested');
  readonly resume = this.request('run.resume-requested');
  readonly continueResponse = this.request('provider-response.continue-requested');
  readonly end = this.request('run.end-requested');
  input(run: RunId): Promise<unknown> {
    const text = contentOf('and one more thing\nConstraint: none', 'input');
    return this.say(run, IVAN, () => ({ facts: [fact('input.received', { text: text.ref })], contents: [text] }));
  }
  note(run: RunId): Promise<unknown> {
    const text = contentOf('for the record', 'note');
    return this.say(run, IVAN, () => ({ facts: [fact('note.added', { text: text.ref, visibility: 'people' })], contents: [text] }));
  }

  /** Looks at the world and says what it saw; silent while anything may still arrive. */
  finding(run: RunId): Promise<unknown> {
    const evidence = contentOf('seen with own eyes', 'evidence');
    return this.say(run, this.rng.chance(0.85) ? OLGA : IVAN, (s) => {
      const e = Object.values(s.effects).find((x) => x.stage === 'unknown' && !s.findings.some((f) => f.effect === x.effect && !f.applied));
      if (e === undefined || this.world.ledger.sends.some((x) => x.effect === e.effect && x.state === 'travelling')) return null;
      return { facts: [fact('effect.finding-submitted', { finding: randomUUID(), effect: e.effect, verdict: this.world.happenedFor(e.effect) > 0 ? 'happened' : 'did-not-happen', evidence: evidence.ref })], contents: [evidence] };
    });
  }
  /** A tool calls back about something that it did. */
  receipt(run: RunId): Promise<unknown> {
    const receipt = contentOf('a receipt', 'receipt', 'application/json');
    return this.say(run, { kind: 'tool', id: 'sim' }, (s) => {
      const e = Object.values(s.effects).find((x) => this.world.happenedFor(x.effect) > 0 && (x.stage === 'unknown' || x.stage === 'in-flight'));
      return e === undefined ? null : { facts: [fact('receipt.received', { effect: e.effect, receipt: receipt.ref, from: 'sim' })], contents: [receipt] };
    });
  }
  /** Not everybody who decides may do so: the gate has to see. */
  private reviewer(): Actor { return { olga: OLGA, mara: MARA, ivan: IVAN }[this.rng.weighted({ olga: 5, mara: 2, ivan: 2 })]; }
  async approve(run: RunId): Promise<void> {
    const by = this.reviewer();
    const decision = this.rng.chance(0.8) ? 'approved' as const : 'rejected' as const;
    const said = await this.say(run, by, (s) => {
      const a = Object.values(s.approvals).find((x) => x.stage === 'requested');
      return a === undefined ? null : { facts: [fact('approval.decided', { approval: a.approval, subject: a.subject, decision, note: '' })] };
    });
    for (const f of said ?? []) if (f.type === 'approval.decided') this.decided.push({ run, approval: f.data.approval, decision, by: by.id });
  }
  async revoke(run: RunId): Promise<void> {
    const said = await this.say(run, OLGA, (s) => {
      const a = Object.values(s.approvals).find((x) => x.stage === 'approved' || x.stage === 'requested');
      return a === undefined ? null : { facts: [fact('approval.revoked', { approval: a.approval, reason: 'no longer' })] };
    });
    for (const f of said ?? []) if (f.type === 'approval.revoked') this.decided.push({ run, approval: f.data.approval, decision: 'revoked', by: OLGA.id });
  }
  /** Approves, and thinks better of it at once. */
  async hesitate(run: RunId): Promise<void> { await this.approve(run); await this.revoke(run); }

  publishPolicy(meaning: Meaning): Promise<AppendOutcome> { return this.publish('policy', fact('policy.published', policy(meaning)), meaning); }
  changePolicy(): Promise<AppendOutcome> { return this.publishPolicy(this.rng.pick(MEANINGS)); }
  private delegated: Delegated = { tools: ['*'], until: null };
  changeRoles(): Promise<AppendOutcome> { return this.publish('roles', fact('roles.published', delegating(this.rng.pick(ROLES), this.delegated))); }
  /** Gina lets Ivan act for her in all, in some, for a while, or no more. */
  delegate(): Promise<AppendOutcome> {
    this.delegated = this.rng.pick<Delegated>([null, { tools: ['*'], until: null }, { tools: ['read', 'mail', 'put'], until: null }, { tools: ['*'], until: this.sched.now + 3000 }]);
    return this.changeRoles();
  }
  raise(run: RunId): Promise<unknown> {
    return this.say(run, this.reviewer(), () => ({ facts: [fact('budget.raise-requested', { raise: randomUUID(), amounts: { usd_micros: 10_000, tokens: 20_000, calls: 2 }, wallMs: 5000, reason: 'more' })] }));
  }
  /** What was recorded of a source is approved or rejected; a source that is missing may be done without. */
  review(run: RunId): Promise<unknown> {
    const decision = this.rng.chance(0.75) ? 'approved' as const : 'rejected' as const;
    return this.say(run, this.reviewer(), (s) => {
      const x = s.sources.find((y) => y.review === 'unreviewed');
      return x === undefined ? null : { facts: [fact('source.reviewed', { source: x.source, decision, note: '' })] };
    });
  }
  /** Says of what is unknown that it is to be looked at as the tool that has its name now. */
  migrate(run: RunId): Promise<unknown> {
    return this.say(run, this.reviewer(), (s) => {
      const e = Object.values(s.effects).find((x) => x.stage === 'unknown' && x.migrated === null && s.migrations.every((m) => m.effect !== x.effect));
      return e === undefined ? null : { facts: [fact('effect.migration-requested', { migration: randomUUID(), effect: e.effect, tool: e.tool, reason: 'it is this one now' })] };
    });
  }
  /** Takes a tool away, puts another one behind its name, or has all as it was. */
  changeRegistry(): Promise<AppendOutcome> {
    const name = this.rng.pick(this.tools);
    const asItWas = this.changed.without.length + Object.keys(this.changed.otherwise).length > 0;
    this.changed = asItWas ? { without: [], otherwise: {} } : this.rng.chance(0.5) ? { without: [name], otherwise: {} } : { without: [], otherwise: { [name]: this.rng.pick(Object.keys(OTHERWISE)) } };
    return this.publish('registry', fact('registry.published', registry(this.changed, this.source)));
  }
  changeAccounts(): Promise<AppendOutcome> {
    this.accounts = this.rng.pick([['first'], ['second'], ['second', 'first'], ['first', 'second']]);
    return this.publish('profiles', fact('profiles.published', profiles(this.accounts)));
  }
  grant(): Promise<AppendOutcome> { return this.publish('budget', fact('allowance.granted', { amounts: { usd_micros: 500_000, tokens: 100_000, calls: 20 }, reason: 'more' })); }

  /** What is missing, or stands in the way of an end, is put right: somebody with authority is there again. */
  async restore(): Promise<void> {
    const streams = this.store.held.tenants.get(TENANT)?.streams;
    if (streams?.get('tenant/policy') === undefined) await this.publishPolicy(MEANINGS[0] as Meaning);
    if (streams?.get('tenant/registry') === undefined) await this.publish('registry', fact('registry.published', registry(undefined, this.source)));
    await this.publish('roles', fact('roles.published', roles));
  }
}
