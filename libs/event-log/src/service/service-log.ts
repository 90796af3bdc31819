/**
 * How a service sees the log: the run's state at its head, folded here; one place to append; texts by reference. Everything is loaded from the
 * store; what is kept in memory is only old, never wrong.
 *
 * Rows: RUN-4, EFF-6, RET-4 (reads verify digests).
 */
import { setTimeout as after } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { v5 as uuidv5 } from 'uuid';
import { commitment, digestOf, type AppendOutcome, type AppendRequest, type CheckpointUpload, type ContentUpload } from '@n17q/contracts';
import { emptyRun, fold, runOf, runStream, TENANT_TOPICS, tenantStream, type Actor, type Amounts, type ContentRef, type DecisionView, type EventEnvelope, type Fact, type RegistryDocument, type RunId, type RunState, type ServiceName, type StoreTimeMs, type StreamId, type TenantId, type TenantState, type Trace } from '@n17q/domain';
import type { StoredContent } from '../ports.js';
import type { DecisionQuery, DecisionView as StoreView, LoadedRun } from '../store-port.js';

/** What a service needs of the store, over the bus or in one process. The writer is bound to the connection. */
export interface StoreAccess {
  readonly service: ServiceName;
  append(request: AppendRequest): Promise<AppendOutcome>;
  loadRun(tenant: TenantId, stream: StreamId, afterRevision?: number): Promise<LoadedRun>;
  decisionView(query: DecisionQuery): Promise<StoreView>;
  contents(tenant: TenantId, commitments: readonly string[]): Promise<readonly StoredContent[]>;
  readEvents(tenant: TenantId, stream: StreamId, afterRevision: number, limit: number): Promise<readonly EventEnvelope[]>;
}
/** Bytes that are held outside the store's own tables, verified on read. */
export interface OutsideContent { get(tenant: TenantId, commitment: string): Promise<Uint8Array> }

export class ContentGone extends Error {
  constructor(readonly commitment: string, readonly why: 'missing' | 'erased' | 'altered' | 'pending') { super(`content ${commitment} is ${why}`); this.name = 'ContentGone'; }
}

export interface Decision {
  readonly facts: readonly Fact[];
  readonly contents?: readonly ContentUpload[];
  readonly checkpoint?: CheckpointUpload;
  /** Tenant streams that must stand as they were seen. A decision to wait for a change needs this: otherwise a change in between would wake nobody. */
  readonly requires?: DecisionView['standing'];
  readonly actor?: Actor;
  readonly causation?: string | null;
  readonly trace?: Trace;
}

export interface ServiceLogOptions { readonly clock?: () => number; readonly trace?: () => Trace | undefined; readonly pause?: (ms: number) => Promise<unknown>; readonly cachedRunsMax?: number }

const NAMESPACE = '6f2f6a3c-1d0b-5c86-9a55-2f1f0a0f7a51';
type Tenant = { -readonly [K in keyof TenantState]: TenantState[K] };

/** What is kept for long in memory of its own: a slice of a pool or of a message keeps the whole of it alive. */
const ownBytes = (b: Uint8Array): Uint8Array => (b.byteLength === b.buffer.byteLength ? b : Buffer.from(new Uint8Array(b).buffer));

const targetsOf = (s: RunState): readonly string[] => [...new Set(Object.values(s.effects).map((e) => e.scope.target))];

export class ServiceLog {
  private readonly states: LRUCache<string, RunState>;
  private readonly bodies: LRUCache<string, Uint8Array>;
  private readonly tenants = new Map<TenantId, Tenant>();
  private readonly registries = new LRUCache<string, RegistryDocument>({ max: 100 });
  private offsetMs = 0;

  private readonly clock: () => number;
  private readonly trace: () => Trace | undefined;
  /** Waits before deciding again; the simulation gives its own. */
  readonly pause: (ms: number) => Promise<unknown>;

  constructor(private readonly store: StoreAccess, private readonly outside: OutsideContent | null, o: ServiceLogOptions = {}) {
    this.clock = o.clock ?? Date.now;
    this.trace = o.trace ?? (() => undefined);
    this.pause = o.pause ?? after;
    this.states = new LRUCache({ max: o.cachedRunsMax ?? 1000 });
    this.bodies = new LRUCache({ maxSize: 64 * 1024 * 1024, sizeCalculation: (b) => b.length + 100 });
  }
  get service(): ServiceName { return this.store.service; }

  /** The store's time as far as its last answer tells; it only ever decides when to ask, the store checks. */
  now(): StoreTimeMs { return this.clock() + this.offsetMs; }

  async state(tenant: TenantId, run: RunId): Promise<RunState> {
    const stream = runStream(run);
    let state = this.states.get(`${tenant} ${run}`);
    for (;;) {
      const page = await this.store.loadRun(tenant, stream, state?.revision);
      state = this.advance(tenant, stream, state, page);
      if (!page.more) return state;
    }
  }

  /** The run, every unresolved effect of the tenant, its documents and balances, in one snapshot of the store. */
  async view(tenant: TenantId, run: RunId): Promise<DecisionView> {
    const stream = runStream(run);
    const known = this.tenants.get(tenant);
    for (let pages = 0; pages < 1000; pages++) {
      const state = this.states.get(`${tenant} ${run}`);
      const targets = pages === 0 || state === undefined ? ('all' as const) : targetsOf(state);
      const seen = known === undefined ? {} : Object.fromEntries((['policy', 'registry', 'profiles', 'roles'] as const).flatMap((k) => (known[k] === null ? [] : [[`tenant/${k}`, known[k].revision]])));
      const v = await this.store.decisionView({ tenant, stream, ...(state === undefined ? {} : { afterRevision: state.revision }), targets, tenantSeen: seen });
      const now = this.advance(tenant, stream, state, v);
      this.offsetMs = v.now - this.clock();
      if (v.more) continue;
      if (v.openEffectsCut) { if (targets !== 'all') throw new Error('more unresolved effects share a target than can be looked at'); continue; }
      if (targets !== 'all' && targetsOf(now).some((x) => !targets.includes(x))) continue; // keeps EFF-6: this page brought intents whose targets were not asked about
      const documents = this.documents(tenant, v.tenant);
      return { state: now, tenant: documents, open: v.openEffects.map((o) => ({ ...o, run: runOf(o.stream) ?? '' })), balance: v.account as Amounts, windowEndsAt: v.windowEndsAt, suspect: v.suspect, standing: TENANT_TOPICS.map((t) => ({ stream: tenantStream(t), revision: v.tenant.find((d) => d.stream === tenantStream(t))?.revision ?? 0 })), now: v.now };
    }
    throw new Error(`run ${run} could not be read to its head`);
  }

  /** The registry as it was at a revision; null: there is none. What an effect pins stays what it was (TOOL-3). */
  async registryAt(tenant: TenantId, revision: number): Promise<RegistryDocument | null> {
    const key = `${tenant} ${revision}`;
    const known = this.registries.get(key);
    if (known !== undefined) return known;
    const [e] = revision < 1 ? [] : await this.store.readEvents(tenant, tenantStream('registry'), revision - 1, 1);
    if (e?.type !== 'registry.published') return null;
    this.registries.set(key, e.data);
    return e.data;
  }

  /** Appends at the state that was decided on. Ids derive from run, revision and decision, so a repeat of the same decision is the same append. */
  async append(s: RunState, d: Decision): Promise<AppendOutcome> {
    const stream = runStream(s.run);
    const service = this.store.service;
    const trace = d.trace ?? this.trace();
    const request: AppendRequest = {
      tenant: s.tenant, stream, expected: s.revision, actor: d.actor ?? { kind: 'service', id: service }, correlation: s.run, causation: d.causation ?? null,
      // over all that is sent: two processes may decide the same with other contents, and then these are two appends of which one loses
      appendId: uuidv5(`${s.tenant} ${stream} ${s.revision} ${service} ${digestOf([d.facts, (d.contents ?? []).map((c) => c.ref.commitment), d.checkpoint ?? null, d.requires ?? null, d.actor ?? null, d.causation ?? null])}`, NAMESPACE),
      events: d.facts.map((f, i) => ({ ...f, eventId: uuidv5(`${s.tenant} ${stream} ${s.revision + 1 + i} ${service} ${digestOf(f)}`, NAMESPACE) })),
      contents: (d.contents ?? []).map((c) => ({ ref: c.ref, salt: Buffer.from(c.salt).toString('base64'), body: Buffer.from(c.body).toString('base64') })),
      ...(d.checkpoint === undefined ? {} : { checkpoint: d.checkpoint }), ...(d.requires === undefined ? {} : { requires: d.requires }), ...(trace === undefined ? {} : { trace }),
    };
    const outcome = await this.store.append(request);
    if (outcome.kind === 'appended') this.offsetMs = Math.max(this.offsetMs, outcome.recordedAt - this.clock());
    for (const c of d.contents ?? []) if (outcome.kind === 'appended' && c.ref.class !== 'continuation') this.bodies.set(c.ref.commitment, ownBytes(c.body));
    return outcome;
  }

  /** Bytes by reference, each verified against its commitment. Throws ContentGone for the first that is not to be had. */
  async bytes(tenant: TenantId, refs: readonly ContentRef[]): Promise<ReadonlyMap<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    const missing: string[] = [];
    for (const r of refs) {
      const b = this.bodies.get(r.commitment);
      if (b !== undefined) found.set(r.commitment, b); else if (!missing.includes(r.commitment)) missing.push(r.commitment);
    }
    for (let at = 0; at < missing.length; at += 8) {
      for (const c of await this.store.contents(tenant, missing.slice(at, at + 8))) found.set(c.ref.commitment, await this.verified(tenant, c));
    }
    for (const m of missing) {
      const b = found.get(m);
      if (b === undefined) throw new ContentGone(m, 'missing');
      this.bodies.set(m, ownBytes(b));
    }
    return found;
  }
  async texts(tenant: TenantId, refs: readonly ContentRef[]): Promise<ReadonlyMap<string, string>> {
    return new Map([...(await this.bytes(tenant, refs))].map(([k, b]) => [k, Buffer.from(b).toString('utf8')]));
  }

  private async verified(tenant: TenantId, c: StoredContent): Promise<Uint8Array> {
    if (c.state !== 'complete') throw new ContentGone(c.ref.commitment, c.state);
    if (c.body === null || c.salt === null) {
      if (this.outside === null) throw new ContentGone(c.ref.commitment, 'missing');
      return this.outside.get(tenant, c.ref.commitment);
    }
    if (commitment(c.salt, c.body) !== c.ref.commitment) throw new ContentGone(c.ref.commitment, 'altered');
    return c.body;
  }

  private advance(tenant: TenantId, stream: StreamId, known: RunState | undefined, page: Pick<LoadedRun, 'snapshot' | 'tail'>): RunState {
    const run = runOf(stream) ?? '';
    const base = known ?? (page.snapshot === null ? emptyRun(tenant, run) : (JSON.parse(page.snapshot.state) as RunState));
    const state = fold(base, page.tail as readonly EventEnvelope[]);
    // what was erased must not be read out of memory either: the store alone knows from here on
    if ((state.contentErased && !base.contentErased) || (state !== base && state.status === 'ended' && state.retention === 'metadata-only')) this.bodies.clear();
    this.states.set(`${tenant} ${run}`, state);
    return state;
  }

  private documents(tenant: TenantId, docs: StoreView['tenant']): TenantState {
    const t: Tenant = this.tenants.get(tenant) ?? { policy: null, registry: null, profiles: null, roles: null };
    for (const d of docs) {
      const topic = d.stream.slice('tenant/'.length);
      if (d.event === null || !(topic in t)) continue;
      (t as { [k: string]: unknown })[topic] = { revision: d.revision, document: d.event.data, digest: d.event.digest };
    }
    this.tenants.set(tenant, t);
    return { ...t };
  }
}
