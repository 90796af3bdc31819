/**
 * What the event store keeps and answers, whoever implements it. Two implementations pass one conformance suite: Postgres, and memory for the simulation.
 *
 * P1. append: all of it or nothing; a repeat with the same append id and request digest gets the first answer with `fresh: false`.
 * P2. decisionView: everything in it was true at one instant.
 * P3. A read's cost depends on what it returns, never on the length of a run.
 *
 * Rows: RUN-1, RUN-4, SEAL-2, SEAL-3, EFF-6, EFF-7, BUD-2, BUD-5, OPS-2.
 */
import type { AppendOutcome, Need } from '@n17q/contracts';
import type { Amounts, ContentRef, Digest, EffectId, EventClass, EventEnvelope, EventId, OpenEffect, ServiceName, StreamId, TenantId } from '@n17q/domain';
import type { PreparedAppend, StoredContent, StreamHead } from './ports.js';
import type { StandingLimit } from './windows.js';

/** Names the meaning of a snapshot's text. Raise it with every change of the fold or of RunState: older snapshots are then passed over. */
export const FOLD_SCHEMA = 'run/7';
export const PAGE_EVENTS_MAX = 512;
/** Bytes of event data in one page; a page holds at least one event. */
export const PAGE_BYTES_MAX = 512 * 1024;
export const OPEN_EFFECTS_MAX = 1000;

/** A state to start the fold from: canonical JSON, made in the append's own transaction. */
export interface Snapshot { readonly revision: number; readonly state: string }

export interface LoadedRun {
  readonly head: StreamHead;
  /** Null when the caller named a revision to read after, when there is none, or when it was made by another fold. */
  readonly snapshot: Snapshot | null;
  /** Consecutive, from the snapshot (or the caller's revision) on. */
  readonly tail: readonly EventEnvelope[];
  /** True: the tail ends before `head`; read on after its last revision. */
  readonly more: boolean;
}

export interface TenantDocument { readonly stream: StreamId; readonly revision: number; readonly head: Digest; /** The stream's newest event; null when the caller named this revision as seen. */ readonly event: EventEnvelope | null }
/** An unresolved effect of any run of the tenant. */
export interface TenantOpenEffect extends OpenEffect { readonly stream: StreamId }

export interface DecisionQuery {
  readonly tenant: TenantId;
  readonly stream: StreamId;
  /** What the caller has folded already; absent: from the snapshot. */
  readonly afterRevision?: number;
  /** Which unresolved effects: those of these scopes, or all of the tenant. */
  readonly targets: readonly string[] | 'all';
  /** Tenant streams whose document the caller has, by revision: their event is left out. */
  readonly tenantSeen?: { readonly [stream: string]: number };
}
export interface DecisionView extends LoadedRun {
  readonly openEffects: readonly TenantOpenEffect[];
  /** True: more than OPEN_EFFECTS_MAX matched. Nothing may be decided from such a view but a refusal. */
  readonly openEffectsCut: boolean;
  readonly tenant: readonly TenantDocument[];
  /** What runs may draw: of what the account holds, as much as the tenant's windows still let through. */
  readonly account: Amounts;
  /** What the account holds, whatever the windows let through. */
  readonly held: Amounts;
  readonly limits: readonly StandingLimit[];
  /** When the first of the tenant's limits opens its next window; null: it has none. */
  readonly windowEndsAt: number | null;
  /** True: this run lost acknowledged events, and nobody has looked yet. No permit may be given; the store takes none. */
  readonly suspect: boolean;
  /** The store's clock, ms since 1970. */
  readonly now: number;
}

/** A run that lost acknowledged events to a failover or restore, as `eventId`, which the bus still has, shows. */
export interface Suspect { readonly tenant: TenantId; readonly stream: StreamId; readonly eventId: EventId; readonly why: string; readonly since: number }
export interface DueNeed extends Need { readonly tenant: TenantId; readonly stream: StreamId }
/** A place in the order of due needs. */
export type NeedAt = Pick<DueNeed, 'dueAt' | 'tenant' | 'stream' | 'reason'>;
export interface PositionedEvent { readonly event: EventEnvelope; readonly position: number; readonly class: EventClass; readonly wake: PreparedAppend['wake'] }
export interface ListedRun { readonly stream: StreamId; readonly revision: number; readonly head: Digest; readonly createdAt: number }
export interface StoredCheckpoint { readonly checkpoint: string; readonly version: number; readonly cut: number; readonly sealedRevision: number; readonly manifest: string; readonly manifestDigest: Digest }
export interface ArtifactEntry { readonly tenant: TenantId; readonly stream: StreamId | null; readonly ref: ContentRef; readonly salt: Uint8Array | null; readonly state: 'pending' | 'complete' }

export interface EventStoreReads {
  incarnation(): Promise<string>;
  /** The store's clock, ms since 1970. */
  now(): Promise<number>;
  /** Revision 0 and an empty digest when there is no such stream. */
  head(tenant: TenantId, stream: StreamId): Promise<StreamHead>;
  /** In order, at most `limit` and PAGE_BYTES_MAX of data. */
  readEvents(tenant: TenantId, stream: StreamId, afterRevision: number, limit?: number): Promise<readonly EventEnvelope[]>;
  loadRun(tenant: TenantId, stream: StreamId, afterRevision?: number): Promise<LoadedRun>;
  /** Events after a position of the lane, in commit order without holes. */
  readByPosition(lane: number, after: number, limit: number): Promise<readonly PositionedEvent[]>;
  decisionView(query: DecisionQuery): Promise<DecisionView>;
  /** Work that has been due for at least `olderThanMs`, longest due first, from the row behind `after` on. */
  needsDue(service: ServiceName, olderThanMs: number, limit: number, after?: NeedAt): Promise<readonly DueNeed[]>;
  needsOf(tenant: TenantId, stream: StreamId): Promise<readonly Need[]>;
  openEffects(tenant: TenantId, targets: readonly string[] | 'all'): Promise<readonly TenantOpenEffect[]>;
  /** What runs may draw now, as in DecisionView. */
  account(tenant: TenantId): Promise<Amounts>;
  /** Runs that lost events and that nobody has looked at. */
  suspects(limit: number): Promise<readonly Suspect[]>;
  /** Runs of a tenant by stream name. */
  listRuns(tenant: TenantId, after: StreamId | '', limit: number): Promise<readonly ListedRun[]>;
  /** Known ones only, in no order. Throws StoreFault NOT_READABLE when a `continuation` is asked for by anybody but the provider gateway. */
  contents(tenant: TenantId, commitments: readonly string[], by: { readonly reader: ServiceName }): Promise<readonly StoredContent[]>;
  checkpointAt(tenant: TenantId, stream: StreamId, cut: number): Promise<StoredCheckpoint | null>;
  latestCheckpoint(tenant: TenantId, stream: StreamId): Promise<StoredCheckpoint | null>;
  /** Bodies of all sections of the checkpoint at `cut`, by digest; none when there is no such checkpoint. */
  sectionBodies(tenant: TenantId, stream: StreamId, cut: number): Promise<{ readonly [digest: string]: string }>;
}

export interface EventStorePort extends EventStoreReads {
  /**
   * Takes in what the guard prepared. `busy`: certainly nothing was taken in, prepare again (the time it was prepared for has passed) or wait.
   * @throws StoreFault OUTCOME_UNKNOWN (mayHaveActed), APPEND_FAILED, CHAIN_BROKEN, CLOSED (not acted).
   */
  append(prepared: PreparedAppend): Promise<AppendOutcome>;
  /** Notes bytes that are held outside. Pending becomes complete once; a repeat changes nothing; erased stays erased. Returns the state after. */
  registerArtifact(entry: ArtifactEntry): Promise<'pending' | 'complete' | 'erased'>;
  /** From now on the stream takes nothing in that spends a permit. The same event never raises it a second time. */
  markSuspect(suspect: Omit<Suspect, 'since'>): Promise<void>;
  /** Somebody looked; `by` is kept. False when there was nothing to clear. */
  clearSuspect(tenant: TenantId, stream: StreamId, by: string): Promise<boolean>;
}
export type { EffectId };
