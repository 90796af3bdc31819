/**
 * The port through which an effect reaches the world, once per call, with an honest answer.
 *
 * Deliberately without: retries, permits, records. Whoever calls has recorded the attempt, holds the permit, and records the outcome.
 *
 * C1. `not-sent` is only said while nothing left this process; `beforeFirstByte` ran last and synchronously before anything could.
 * C2. `refused` is only said for an answer that the tool's configuration declares final, seen in full.
 * C3. `observed` is only said for a complete answer.
 * C4. Everything else is `unknown`. A rejection is a defect, and says nothing about what left.
 * C5. What comes back is data: bounded, and nothing in it changes what the outcome is.
 *
 * Rows: EFF-2, EFF-3, EFF-5, CTX-6.
 */
import type { ConnectorKind, Json, WorkspaceRef } from '@n17q/domain';
import type { ReceiptTo } from './receipt-capability.js';
import type { WorkspaceChange, WorkspaceConflict } from './workspace/workspace-ref.js';

export type ConnectorOutcome =
  | { readonly kind: 'not-sent'; readonly cause: string }
  /** `conflict`: the workspace was changed by somebody else; nothing was written (WSP-3). */
  | { readonly kind: 'refused'; readonly cause: string; readonly text: string; readonly conflict?: WorkspaceConflict }
  /** It happened. `ok` false: it happened and reports failure, such as tests that fail. `files` is stored before it is named here (WSP-2). */
  | { readonly kind: 'observed'; readonly ok: boolean; readonly text: string; readonly receipt?: Json; readonly files?: WorkspaceChange; /** The text is only a part of what came. */ readonly partial?: true }
  | { readonly kind: 'unknown'; readonly cause: string };

/** `count` above 1: the world says that it happened more than once (EFF-9). */
export type LookOutcome =
  | { readonly kind: 'happened'; readonly receipt: Json; readonly text: string; readonly count: number }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'cannot-tell'; readonly cause: string };

export interface DispatchRequest {
  readonly effect: string;
  readonly attempt: string;
  /** The same for every attempt of one effect. */
  readonly idempotencyKey: string;
  /** Validated arguments, exactly those whose digest was permitted. */
  readonly args: Json;
  /** The target that was permitted; a connector configured for another one sends nothing. */
  readonly target: Json;
  readonly timeoutMs: number;
  /** Bound of the text and of what is read from the other side. */
  readonly outputBytesMax: number;
  /** Called once, synchronously, right before anything leaves. False stops: the outcome is `not-sent`. */
  readonly beforeFirstByte: () => boolean;
  readonly signal?: AbortSignal;
  readonly workspace?: WorkspaceInput;
  /** Where the other side may hand in a receipt for this effect, and what lets it. Absent: receipts are not taken that way here. */
  readonly receiptTo?: ReceiptTo;
}

export interface WorkspaceInput {
  readonly tenant: string;
  /** The state that the call starts from. */
  readonly at: WorkspaceRef;
  /** A folder in which people see and edit this workspace. Before a change it must be in state `at`, otherwise the call is refused. */
  readonly checkout?: string;
}

/** A look changes nothing in the world and may be repeated. */
export interface QueryRequest {
  readonly effect: string;
  readonly idempotencyKey: string;
  readonly args: Json;
  readonly target: Json;
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
  readonly signal?: AbortSignal;
}

export interface Connector {
  readonly kind: ConnectorKind;
  dispatch(request: DispatchRequest): Promise<ConnectorOutcome>;
  /** Only where the contract names a query. */
  query?(request: QueryRequest): Promise<LookOutcome>;
}
