/**
 * Reads of the store. Each is one statement and so one snapshot; a broken connection is retried once, since a read changes nothing.
 *
 * Rows: RUN-1, EFF-6, EFF-7.
 */
import pg from 'pg';
import type { Need } from '@n17q/contracts';
import { NOTHING, type Amounts, type Digest, type EventEnvelope, type OpenEffect, type ServiceName, type StreamId, type TenantId } from '@n17q/domain';
import type { StoredContent, StreamHead } from '../ports.js';
import { checkReadable } from '../readable.js';
import { StoreFault } from '../store-fault.js';
import {
  OPEN_EFFECTS_MAX, PAGE_BYTES_MAX, PAGE_EVENTS_MAX, type ArtifactEntry, type DecisionQuery, type DecisionView, type DueNeed, type EventStoreReads, type ListedRun, type LoadedRun, type NeedAt,
  type PositionedEvent, type StoredCheckpoint, type Suspect, type TenantOpenEffect,
} from '../store-port.js';
import * as sql from './reads.sql.js';
import { unpacker, type PackRow } from './section-pack.js';
import { classOf, eventFrom, type EventColumns } from '../row.js';
import { drawable, standing, type WindowRow } from '../windows.js';

interface OpenRow { readonly effect: string; readonly stream: string; readonly tool: string; readonly target: string; readonly fields: OpenEffect['scope']['fields']; readonly kind: string; readonly stage: string; readonly generation: string }
interface NeedRow { readonly tenant: string; readonly stream: string; readonly service: string; readonly reason: string; readonly due_at: string; readonly waits_for: string | null }
interface CheckpointRow { readonly checkpoint: string; readonly version: number; readonly cut: number; readonly sealed_revision: number; readonly manifest_digest: string }
interface MoneyRow { readonly account: Partial<Amounts>; readonly windows: readonly WindowRow[] }
interface ViewRow {
  readonly head: { revision: number; head: string } | null; readonly snapshot: { revision: number; state: string } | null; readonly tail: readonly EventColumns[]; readonly open: readonly OpenRow[] | null;
  readonly tenant: readonly { stream: string; revision: number; head: string; event: EventColumns | null }[] | null; readonly money: MoneyRow | null; readonly suspect: boolean; readonly now: string;
}

const openFrom = (r: OpenRow): TenantOpenEffect => ({ effect: r.effect, stream: r.stream, tool: r.tool, scope: { target: r.target, fields: r.fields }, kind: r.kind as OpenEffect['kind'], stage: r.stage as OpenEffect['stage'], generation: r.generation });
const needFrom = (r: NeedRow): DueNeed => ({ tenant: r.tenant, stream: r.stream, service: r.service as ServiceName, reason: r.reason, dueAt: Number(r.due_at), waitsFor: r.waits_for as Need['waitsFor'] });

export class PostgresReads implements EventStoreReads {
  constructor(private readonly pool: pg.Pool, private readonly foldSchema: string) {}

  async incarnation(): Promise<string> {
    return (await this.#rows<{ incarnation: string }>('incarnation', 'select incarnation::text from n17q.store', []))[0]?.incarnation ?? '';
  }
  async now(): Promise<number> {
    return Number((await this.#rows<{ now: string }>('now', 'select n17q.now_ms()::text as now', []))[0]?.now);
  }
  async head(tenant: TenantId, stream: StreamId): Promise<StreamHead> {
    return (await this.#rows<StreamHead>('head', sql.HEAD, [tenant, stream]))[0] ?? { revision: 0, head: '' };
  }
  async readEvents(tenant: TenantId, stream: StreamId, afterRevision: number, limit = PAGE_EVENTS_MAX): Promise<readonly EventEnvelope[]> {
    const rows = await this.#rows<EventColumns>('events_after', sql.EVENTS_AFTER, [tenant, stream, afterRevision, Math.min(limit, PAGE_EVENTS_MAX), PAGE_BYTES_MAX]);
    return rows.map(eventFrom);
  }
  async loadRun(tenant: TenantId, stream: StreamId, afterRevision?: number): Promise<LoadedRun> {
    const { head, snapshot, tail, more } = await this.#view({ tenant, stream, targets: [], ...(afterRevision === undefined ? {} : { afterRevision }) }, 'nothing');
    return { head, snapshot, tail, more };
  }
  async readByPosition(lane: number, after: number, limit: number): Promise<readonly PositionedEvent[]> {
    const rows = await this.#rows<EventColumns>('events_by_position', sql.EVENTS_BY_POSITION, [lane, after, Math.min(limit, PAGE_EVENTS_MAX), PAGE_BYTES_MAX]);
    return rows.map((r) => ({ event: eventFrom(r), position: Number(r.position), class: classOf(r.type), wake: (r.wake ?? 'none') as PositionedEvent['wake'] }));
  }
  decisionView(query: DecisionQuery): Promise<DecisionView> {
    return this.#view(query, 'all');
  }
  async needsDue(service: ServiceName, olderThanMs: number, limit: number, after?: NeedAt): Promise<readonly DueNeed[]> {
    const at = after ?? { dueAt: -1, tenant: '', stream: '', reason: '' };
    return (await this.#rows<NeedRow>('needs_due', sql.NEEDS_DUE, [service, Math.trunc(olderThanMs), limit, at.dueAt, at.tenant, at.stream, at.reason])).map(needFrom);
  }
  async needsOf(tenant: TenantId, stream: StreamId): Promise<readonly Need[]> {
    return (await this.#rows<NeedRow>('needs_of', sql.NEEDS_OF, [tenant, stream])).map(needFrom).map(({ service, reason, dueAt, waitsFor }) => ({ service, reason, dueAt, waitsFor }));
  }
  async openEffects(tenant: TenantId, targets: readonly string[] | 'all'): Promise<readonly TenantOpenEffect[]> {
    return (await this.#rows<OpenRow>('open_effects', sql.OPEN_EFFECTS, [tenant, targets === 'all' ? null : targets, OPEN_EFFECTS_MAX])).map(openFrom);
  }
  async account(tenant: TenantId): Promise<Amounts> {
    const row = (await this.#rows<MoneyRow & { now: string }>('account', sql.ACCOUNT, [tenant]))[0];
    return drawable({ ...NOTHING, ...row?.account }, row?.windows ?? [], Number(row?.now));
  }
  async suspects(limit: number): Promise<readonly Suspect[]> {
    const rows = await this.#rows<{ tenant: string; stream: string; event_id: string; why: string; since: string }>('suspects', sql.SUSPECTS, [limit]);
    return rows.map((r) => ({ tenant: r.tenant, stream: r.stream, eventId: r.event_id, why: r.why, since: Number(r.since) }));
  }
  async markSuspect(s: Omit<Suspect, 'since'>): Promise<void> { await this.#rows('mark_suspect', sql.MARK_SUSPECT, [s.tenant, s.stream, s.eventId, s.why]); }
  async clearSuspect(tenant: TenantId, stream: StreamId, by: string): Promise<boolean> {
    return (await this.#rows<{ cleared: boolean }>('clear_suspect', sql.CLEAR_SUSPECT, [tenant, stream, by]))[0]?.cleared === true;
  }
  async listRuns(tenant: TenantId, after: StreamId | '', limit: number): Promise<readonly ListedRun[]> {
    const rows = await this.#rows<{ stream: string; revision: number; head: string; created_at: string }>('list_runs', sql.LIST_RUNS, [tenant, after, limit]);
    return rows.map((r) => ({ stream: r.stream, revision: r.revision, head: r.head, createdAt: Number(r.created_at) }));
  }
  async contents(tenant: TenantId, commitments: readonly string[], by: { readonly reader: ServiceName }): Promise<readonly StoredContent[]> {
    const rows = await this.#rows<{ commitment: string; class: string; media: string; bytes: string; state: StoredContent['state']; salt: Buffer | null; body: Buffer | null }>('contents', sql.CONTENTS, [tenant, commitments]);
    return checkReadable(rows.map((r) => ({ ref: { commitment: r.commitment, bytes: Number(r.bytes), class: r.class as StoredContent['ref']['class'], media: r.media }, state: r.state, salt: r.salt, body: r.body })), by.reader);
  }
  async checkpointAt(tenant: TenantId, stream: StreamId, cut: number): Promise<StoredCheckpoint | null> {
    return this.#checkpoint(tenant, stream, (await this.#rows<CheckpointRow>('checkpoint_at', sql.CHECKPOINT_AT, [tenant, stream, cut]))[0]);
  }
  async latestCheckpoint(tenant: TenantId, stream: StreamId): Promise<StoredCheckpoint | null> {
    return this.#checkpoint(tenant, stream, (await this.#rows<CheckpointRow>('checkpoint_latest', sql.CHECKPOINT_LATEST, [tenant, stream]))[0]);
  }
  async sectionBodies(tenant: TenantId, stream: StreamId, cut: number): Promise<{ readonly [digest: string]: string }> {
    const rows = await this.#packs(tenant, stream, [cut]);
    if (rows.length === 0) return {};
    const own = unpacker(rows)(cut);
    const cuts = new Set(Object.values(own.held));
    for (const digest of own.sought) {
      const at = (await this.#rows<{ cut: number }>('section_cut', sql.SECTION_CUT, [tenant, stream, cut, digest]))[0]?.cut;
      if (at !== undefined) cuts.add(at);
    }
    const earlier = unpacker(await this.#packs(tenant, stream, [...cuts]));
    const wanted = new Set([...Object.keys(own.held), ...own.sought]);
    const found: Record<string, string> = { ...own.sections };
    for (const at of cuts) for (const [digest, body] of Object.entries(earlier(at).sections)) if (wanted.has(digest)) found[digest] = body;
    return found;
  }
  async registerArtifact(a: ArtifactEntry): Promise<'pending' | 'complete' | 'erased'> {
    const rows = await this.#rows<{ state: 'pending' | 'complete' | 'erased' }>('register_artifact', sql.REGISTER_ARTIFACT, [a.tenant, a.ref.commitment, a.stream, a.ref.class, a.ref.media, a.ref.bytes, a.state, a.salt === null ? null : Buffer.from(a.salt)]);
    return rows[0]?.state as 'pending' | 'complete' | 'erased';
  }

  #packs(tenant: TenantId, stream: StreamId, cuts: readonly number[]): Promise<readonly PackRow[]> { return this.#rows<PackRow>('packs', sql.PACKS, [tenant, stream, cuts]); }
  async #checkpoint(tenant: TenantId, stream: StreamId, r: CheckpointRow | undefined): Promise<StoredCheckpoint | null> {
    if (r === undefined) return null;
    const { manifest } = unpacker(await this.#packs(tenant, stream, [r.cut]))(r.cut);
    return { checkpoint: r.checkpoint, version: r.version, cut: r.cut, sealedRevision: r.sealed_revision, manifest, manifestDigest: r.manifest_digest as Digest };
  }
  async #view(q: DecisionQuery, part: 'all' | 'nothing'): Promise<DecisionView> {
    const values = [q.tenant, q.stream, q.afterRevision ?? null, PAGE_EVENTS_MAX, PAGE_BYTES_MAX, this.foldSchema, q.targets === 'all' ? null : q.targets, OPEN_EFFECTS_MAX + 1, JSON.stringify(q.tenantSeen ?? {}), part];
    const row = (await this.#rows<ViewRow>('view', sql.VIEW, values))[0] as ViewRow;
    const tail = row.tail.map(eventFrom);
    const head = row.head ?? { revision: 0, head: '' };
    const reached = tail.at(-1)?.revision ?? q.afterRevision ?? row.snapshot?.revision ?? 0;
    const open = (row.open ?? []).map(openFrom);
    return {
      head, snapshot: row.snapshot, tail, more: reached < head.revision, openEffects: open.slice(0, OPEN_EFFECTS_MAX), openEffectsCut: open.length > OPEN_EFFECTS_MAX,
      tenant: (row.tenant ?? []).map((t) => ({ stream: t.stream, revision: t.revision, head: t.head, event: t.event === null ? null : eventFrom(t.event) })),
      ...standing({ ...NOTHING, ...row.money?.account }, row.money?.windows ?? [], Number(row.now)), suspect: row.suspect, now: Number(row.now),
    };
  }

  async #rows<R>(name: string, text: string, values: unknown[]): Promise<readonly R[]> {
    const ask = async (): Promise<readonly R[]> => (await this.pool.query({ name: `n17q_${name}`, text, values })).rows as R[];
    try {
      return await ask();
    } catch (first) {
      if (first instanceof pg.DatabaseError && !/^(57P|08)/.test(first.code ?? '')) throw first;
      try {
        return await ask(); // the pool had a connection that died while it was idle
      } catch (cause) {
        if (cause instanceof pg.DatabaseError && !/^(57P|08|53)/.test(cause.code ?? '')) throw cause;
        throw new StoreFault('UNREACHABLE', 'The database cannot be read.', false, { cause });
      }
    }
  }
}
