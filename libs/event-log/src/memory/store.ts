/**
 * The event store in memory, for the simulation: the clock is given, an append is judged and taken in within one turn of the event loop, and every answer
 * comes in a later microtask. It forgets nothing and survives nothing; what survives a crash in a simulation is the HeldStore that is passed on.
 *
 * Rows: RUN-1, RUN-4, EFF-6.
 */
import { canonical, type AppendOutcome, type Need } from '@n17q/contracts';
import { NOTHING, waitCovered, type Amounts, type EventEnvelope, type ServiceName, type StreamId, type TenantId } from '@n17q/domain';
import type { PreparedAppend, StoredContent, StreamHead } from '../ports.js';
import { positioned } from '../row.js';
import { checkReadable } from '../readable.js';
import { flawOf } from '../prepared.js';
import {
  OPEN_EFFECTS_MAX, PAGE_BYTES_MAX, PAGE_EVENTS_MAX, type ArtifactEntry, type DecisionQuery, type DecisionView, type DueNeed, type EventStorePort, type ListedRun, type LoadedRun, type PositionedEvent,
  type NeedAt, type StoredCheckpoint, type Suspect, type TenantDocument, type TenantOpenEffect,
} from '../store-port.js';
import { judge, take } from './append.js';
import { drawable, standing } from '../windows.js';
import { emptyStore, emptyTenant, headOf, type HeldStore, type HeldStream, type HeldTenant } from './state.js';

const paged = <T>(items: readonly T[], limit: number, bytes: (t: T) => number): readonly T[] => {
  let sum = 0;
  const page: T[] = [];
  for (const item of items.slice(0, Math.min(limit, PAGE_EVENTS_MAX))) {
    if (sum >= PAGE_BYTES_MAX) break;
    sum += bytes(item);
    page.push(item);
  }
  return page;
};
const compareNeeds = (a: NeedAt, b: NeedAt): number => a.dueAt - b.dueAt || (a.tenant !== b.tenant ? (a.tenant < b.tenant ? -1 : 1) : a.stream !== b.stream ? (a.stream < b.stream ? -1 : 1) : a.reason < b.reason ? -1 : a.reason > b.reason ? 1 : 0);
const sizes = new WeakMap<EventEnvelope, number>();
function dataBytes(e: EventEnvelope): number {
  const known = sizes.get(e) ?? Buffer.byteLength(canonical(e.data));
  sizes.set(e, known);
  return known;
}

export class MemoryEventStore implements EventStorePort {
  readonly #listeners = new Set<(events: readonly PositionedEvent[]) => void>();
  constructor(private readonly clock: () => number, readonly held: HeldStore = emptyStore('memory')) {}

  onCommit(tell: (events: readonly PositionedEvent[]) => void): () => void {
    this.#listeners.add(tell);
    return () => this.#listeners.delete(tell);
  }
  async append(p: PreparedAppend): Promise<AppendOutcome> {
    const flaw = flawOf(p);
    if (flaw !== undefined) return flaw;
    try {
      for (const r of p.rows) canonical(r.data);
    } catch (error) {
      return { kind: 'refused', code: 'MALFORMED', message: (error as Error).message, facts: {} };
    }
    const now = this.clock();
    const tenant = this.#tenant(p.tenant);
    const outcome = judge(tenant, p, now, this.#isSuspect(p.tenant, p.stream));
    if (outcome !== undefined) return outcome;
    if (!this.held.tenants.has(p.tenant)) this.held.tenants.set(p.tenant, tenant);
    const taken = take(this.held, tenant, p, now);
    const events = this.#listeners.size === 0 || taken.kind !== 'appended' ? [] : positioned(p, 0, Number(taken.position.split(':')[1]));
    for (const tell of this.#listeners) tell(events);
    return taken;
  }
  async registerArtifact(a: ArtifactEntry): Promise<'pending' | 'complete' | 'erased'> {
    const tenant = this.#tenant(a.tenant);
    this.held.tenants.set(a.tenant, tenant);
    const there = tenant.contents.get(a.ref.commitment);
    if (there === undefined) tenant.contents.set(a.ref.commitment, { stream: a.stream, class: a.ref.class, media: a.ref.media, bytes: a.ref.bytes, state: a.state, salt: a.salt, body: null });
    else if (there.state === 'pending' && a.state === 'complete' && there.bytes === a.ref.bytes && there.class === a.ref.class) tenant.contents.set(a.ref.commitment, { ...there, state: 'complete', salt: a.salt ?? there.salt });
    return tenant.contents.get(a.ref.commitment)?.state ?? a.state;
  }

  async incarnation(): Promise<string> { return this.held.incarnation; }
  async now(): Promise<number> { return this.clock(); }
  async head(tenant: TenantId, stream: StreamId): Promise<StreamHead> { return headOf(this.#stream(tenant, stream)); }
  async readEvents(tenant: TenantId, stream: StreamId, afterRevision: number, limit = PAGE_EVENTS_MAX): Promise<readonly EventEnvelope[]> {
    return paged((this.#stream(tenant, stream)?.events ?? []).slice(afterRevision).map((h) => h.event), limit, dataBytes);
  }
  async loadRun(tenant: TenantId, stream: StreamId, afterRevision?: number): Promise<LoadedRun> { return this.#load(tenant, stream, afterRevision); }
  async readByPosition(lane: number, after: number, limit: number): Promise<readonly PositionedEvent[]> {
    return lane !== 0 ? [] : paged(this.held.lane.slice(after), limit, (h) => dataBytes(h.event));
  }
  async decisionView(q: DecisionQuery): Promise<DecisionView> {
    const open = this.#open(q.tenant, q.targets);
    return {
      ...this.#load(q.tenant, q.stream, q.afterRevision), openEffects: open.slice(0, OPEN_EFFECTS_MAX), openEffectsCut: open.length > OPEN_EFFECTS_MAX,
      tenant: this.#documents(q.tenant, q.tenantSeen ?? {}), ...standing(this.#holds(q.tenant), this.#tenant(q.tenant).windows.rows, this.clock()), suspect: this.#isSuspect(q.tenant, q.stream), now: this.clock(),
    };
  }
  async needsDue(service: ServiceName, olderThanMs: number, limit: number, after?: NeedAt): Promise<readonly DueNeed[]> {
    const due: DueNeed[] = [];
    for (const [tenant, t] of this.held.tenants) for (const s of t.streams.values()) for (const n of s.needs.values()) if (n.service === service && n.dueAt <= this.clock() - olderThanMs && waitCovered(n.waitsFor, this.#account(tenant))) due.push({ tenant, stream: s.stream, ...n });
    return due.filter((n) => after === undefined || compareNeeds(n, after) > 0).sort(compareNeeds).slice(0, limit);
  }
  async needsOf(tenant: TenantId, stream: StreamId): Promise<readonly Need[]> {
    return [...(this.#stream(tenant, stream)?.needs.values() ?? [])].sort((a, b) => (a.service + a.reason < b.service + b.reason ? -1 : 1)).map(({ service, reason, dueAt, waitsFor }) => ({ service, reason, dueAt, waitsFor }));
  }
  async openEffects(tenant: TenantId, targets: readonly string[] | 'all'): Promise<readonly TenantOpenEffect[]> { return this.#open(tenant, targets).slice(0, OPEN_EFFECTS_MAX); }
  async account(tenant: TenantId): Promise<Amounts> { return this.#account(tenant); }
  async suspects(limit: number): Promise<readonly Suspect[]> {
    return [...this.held.suspects.values()].filter((s) => s.clearedBy === null).slice(0, limit).map(({ tenant, stream, eventId, why, since }) => ({ tenant, stream, eventId, why, since }));
  }
  async markSuspect(s: Omit<Suspect, 'since'>): Promise<void> {
    const key = `${s.tenant}\u0000${s.stream}`;
    if (this.held.suspects.get(key)?.eventId !== s.eventId) this.held.suspects.set(key, { ...s, since: this.clock(), clearedBy: null });
  }
  async clearSuspect(tenant: TenantId, stream: StreamId, by: string): Promise<boolean> {
    const held = this.held.suspects.get(`${tenant}\u0000${stream}`);
    if (held === undefined || held.clearedBy !== null) return false;
    this.held.suspects.set(`${tenant}\u0000${stream}`, { ...held, clearedBy: by });
    return true;
  }
  async listRuns(tenant: TenantId, after: StreamId | '', limit: number): Promise<readonly ListedRun[]> {
    const runs = [...this.#tenant(tenant).streams.values()].filter((s) => s.stream.startsWith('run/') && s.stream > after).sort((a, b) => (a.stream < b.stream ? -1 : 1));
    return runs.slice(0, limit).map((s) => ({ stream: s.stream, ...headOf(s), createdAt: s.createdAt }));
  }
  async contents(tenant: TenantId, commitments: readonly string[], by: { readonly reader: ServiceName }): Promise<readonly StoredContent[]> {
    const found = [...new Set(commitments)].flatMap((commitment) => {
      const h = this.#tenant(tenant).contents.get(commitment);
      return h === undefined ? [] : [{ ref: { commitment, bytes: h.bytes, class: h.class, media: h.media }, state: h.state, salt: h.salt, body: h.body }];
    });
    return checkReadable(found, by.reader);
  }
  async checkpointAt(tenant: TenantId, stream: StreamId, cut: number): Promise<StoredCheckpoint | null> { return this.#stream(tenant, stream)?.checkpoints.get(cut) ?? null; }
  async latestCheckpoint(tenant: TenantId, stream: StreamId): Promise<StoredCheckpoint | null> {
    const all = this.#stream(tenant, stream)?.checkpoints ?? new Map<number, StoredCheckpoint>();
    return all.get(Math.max(...all.keys())) ?? null;
  }
  async sectionBodies(tenant: TenantId, stream: StreamId, cut: number): Promise<{ readonly [digest: string]: string }> {
    const all = this.#tenant(tenant).sections;
    return Object.fromEntries((this.#stream(tenant, stream)?.sections.get(cut) ?? []).flatMap((d) => (all.has(d) ? [[d, all.get(d) as string]] : [])));
  }

  #isSuspect(tenant: TenantId, stream: StreamId): boolean { return this.held.suspects.get(`${tenant}\u0000${stream}`)?.clearedBy === null; }
  #tenant(tenant: TenantId): HeldTenant { return this.held.tenants.get(tenant) ?? emptyTenant(); }
  #stream(tenant: TenantId, stream: StreamId): HeldStream | undefined { return this.held.tenants.get(tenant)?.streams.get(stream); }
  #load(tenant: TenantId, stream: StreamId, afterRevision: number | undefined): LoadedRun {
    const held = this.#stream(tenant, stream);
    const snapshot = afterRevision === undefined ? (held?.snapshot ?? null) : null;
    const from = afterRevision ?? snapshot?.revision ?? 0;
    const tail = paged((held?.events ?? []).slice(from).map((h) => h.event), PAGE_EVENTS_MAX, dataBytes);
    const head = headOf(held);
    return { head, snapshot, tail, more: (tail.at(-1)?.revision ?? from) < head.revision };
  }
  #open(tenant: TenantId, targets: readonly string[] | 'all'): TenantOpenEffect[] {
    return [...this.#tenant(tenant).openEffects.values()].filter((o) => targets === 'all' || targets.includes(o.scope.target)).sort((a, b) => (a.effect < b.effect ? -1 : 1));
  }
  #holds(tenant: TenantId): Amounts { return { ...NOTHING, ...Object.fromEntries(this.#tenant(tenant).account) }; }
  #account(tenant: TenantId): Amounts { return drawable(this.#holds(tenant), this.#tenant(tenant).windows.rows, this.clock()); }
  #documents(tenant: TenantId, seen: { readonly [stream: string]: number }): TenantDocument[] {
    const streams = [...this.#tenant(tenant).streams.values()].filter((s) => s.stream.startsWith('tenant/')).sort((a, b) => (a.stream < b.stream ? -1 : 1));
    return streams.map((s) => ({ stream: s.stream, ...headOf(s), event: seen[s.stream] === s.events.length ? null : (s.events.at(-1)?.event ?? null) }));
  }
}
