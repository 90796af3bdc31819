/** What a service sends to the event store and hears from it. The writer is never in here: the store knows it by the subject. */
import type { Actor, AttemptId, CheckpointId, ContentRef, Digest, EffectId, EventId, Fact, Need, OpenEffect, StreamId, TenantId, Trace } from '@n17q/domain';

/** Content up to this size travels and rests with its event; larger content is an artifact that was stored and registered before. */
export const INLINE_BYTES_MAX = 64 * 1024;
export const APPEND_BYTES_MAX = 768 * 1024;
export const APPEND_EVENTS_MAX = 64;
export const APPEND_CONTENTS_MAX = 64;

export type NewEvent = Fact & { readonly eventId: EventId };

export interface WireContent { readonly ref: ContentRef; /** base64 */ readonly salt: string; /** base64 */ readonly body: string }

/** The sections that the manifest names are the store's own: it cuts them from its own fold. */
export interface CheckpointUpload {
  readonly checkpoint: CheckpointId;
  /** Canonical JSON of the manifest. */
  readonly manifest: string;
}

export interface AppendRequest {
  readonly tenant: TenantId;
  readonly stream: StreamId;
  /** The revision that the writer saw; 0 makes the stream. */
  readonly expected: number;
  /** A repeat with the same id and the same bytes returns the first result; with other bytes it is refused. */
  readonly appendId: string;
  readonly actor: Actor;
  readonly correlation: string;
  readonly causation: EventId | null;
  readonly events: readonly NewEvent[];
  readonly contents: readonly WireContent[];
  readonly checkpoint?: CheckpointUpload;
  /** Streams of the same tenant that must stand at exactly these revisions in the append's transaction. */
  readonly requires?: readonly { readonly stream: StreamId; readonly revision: number }[];
  readonly trace?: Trace;
}

export const APPEND_REFUSALS = [
  'MALFORMED', 'TOO_LARGE', 'UNKNOWN_TYPE', 'WRONG_VERSION', 'WRONG_OWNER', 'WRONG_STREAM', 'ILLEGAL', 'ID_REUSED', 'CONTENT_MISSING', 'CONTENT_ALTERED', 'CARRIER_FIELD',
  'PERMIT_STALE', 'PERMIT_EXPIRED', 'PERMIT_MISMATCH', 'SCOPE_BUSY', 'REQUIREMENT_FAILED', 'BUDGET_SHORT', 'BALANCE_TOO_LARGE', 'CHECKPOINT_WRONG', 'CHECKPOINT_OMITS_EFFECT', 'INCARNATION_SUSPECT',
] as const;
export type AppendRefusalCode = (typeof APPEND_REFUSALS)[number];

export type AppendOutcome =
  | { readonly kind: 'appended'; /** false: this append had been taken in before (a replay) */ readonly fresh: boolean; readonly first: number; readonly last: number; readonly head: Digest; readonly recordedAt: number; readonly position: string }
  | { readonly kind: 'conflict'; readonly revision: number }
  | { readonly kind: 'refused'; readonly code: AppendRefusalCode; readonly message: string; readonly facts: unknown }
  /** Try again later with the same append id: nothing was taken in. */
  | { readonly kind: 'busy'; readonly message: string };

export type { AttemptId, EffectId, Need, OpenEffect };
