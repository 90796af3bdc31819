/**
 * The store's inner border: what the guard hands to Postgres, and what comes back.
 *
 * Everything in a PreparedAppend was judged by the domain at the expected revision; the transaction checks exactly what only it can: the
 * revision, the tenant's revisions, the clock, the scope, the accounts, the contents' presence.
 *
 * Rows: RUN-1, SEAL-2, SEAL-3, EFF-6, EFF-7, BUD-2, BUD-5.
 */
import type { AppendOutcome, ContentUpload, Need } from '@n17q/contracts';
import type { Amounts, ContentRef, Digest, EffectId, EventEnvelope, OpenEffect, Scope, StreamId, TenantId, Reactor, WindowLimit } from '@n17q/domain';

/** An event complete but for its position, which the transaction draws. */
export type EventRow = Omit<EventEnvelope, 'position'>;

export interface PreparedAppend {
  readonly tenant: TenantId;
  readonly stream: StreamId;
  readonly expected: number;
  readonly appendId: string;
  /** Digest over the request's canonical bytes: the same append id with another digest is ID_REUSED. */
  readonly requestDigest: Digest;
  readonly rows: readonly EventRow[];
  readonly contents: readonly ContentUpload[];
  /** References that the events or the checkpoint make to content that must already be complete in this tenant's index. */
  readonly cites: readonly string[];
  /** Of those that events name: class and bytes, as they say (`<class> <bytes>`, by commitment). What is stored must be that. */
  readonly citedAs: { readonly [commitment: string]: string };
  readonly checkpoint?: { readonly checkpoint: string; readonly version: number; readonly cut: number; readonly manifest: string; readonly manifestDigest: Digest; readonly sections: { readonly [digest: string]: string }; readonly citesSections: readonly Digest[] };
  /** The state after this append, canonical JSON, when this append is the one that carries a snapshot. */
  readonly snapshot?: string;
  readonly openEffects: { readonly upsert: readonly OpenEffect[]; readonly remove: readonly EffectId[] };
  readonly needs: { readonly upsert: readonly Need[]; readonly remove: readonly { readonly service: string; readonly reason: string }[] };
  /** After it nobody has anything to do on the run until somebody writes again: what is only remembered of it may be forgotten. */
  readonly rests: boolean;
  /** After a change of a tenant stream: needs of this tenant that wait for one of these become due now. */
  readonly releases: readonly ('policy' | 'budget' | 'profiles')[];
  readonly requires: readonly { readonly stream: StreamId; readonly revision: number }[];
  /** The append fails with PERMIT_EXPIRED unless the database's clock is before this, ms since 1970. */
  readonly validUntil?: number;
  /** The append fails with SCOPE_BUSY if the scope of another unresolved consequential effect of the tenant overlaps this one. */
  readonly scopesFree: readonly { readonly scope: Scope; readonly except: readonly EffectId[] }[];
  /** Taken from (positive) or given back to (negative) the tenant's account; BUDGET_SHORT if it, or what a window of the tenant's still lets through, does not cover it. */
  readonly debit: Amounts | null;
  /** From now on the tenant's limits per window, in place of those before; absent: they stay. */
  readonly limits?: readonly WindowLimit[];
  /** Erase the bytes and salts of this stream's contents (the end of a metadata-only run). */
  readonly eraseContents: boolean;
  /** Who has work next: 'none', one reactor, or 'several'. A hint for the relay's subject. */
  readonly wake: Reactor | 'several' | 'none';
}

export interface StreamHead { readonly revision: number; readonly head: Digest }
export interface StoredContent { readonly ref: ContentRef; readonly state: 'pending' | 'complete' | 'erased'; readonly salt: Uint8Array | null; readonly body: Uint8Array | null }
export type { AppendOutcome };
