/**
 * The port between the gateway and one model provider's wire.
 *
 * Deliberately without: retries, sessions, credentials at rest, SDKs, and any memory. An adapter turns a plan into bytes,
 * sends them at most once, and says what the answer was; what happened to a run is decided elsewhere.
 *
 * P1. `project`, `required` and `interpret` are pure: same in, same out, byte for byte.
 * P2. Within a lineage the first `prefixBytes` bytes of request n are the first bytes of request n+1.
 * P3. `send` makes one wire request or none.
 * P4. `interpret` accepts only an answer that holds the provider's terminal marker; it invents nothing.
 * P5. Opaque bytes stand in `pieces` alone: never in parts, messages, causes or observations.
 *
 * Rows: RUN-3, RUN-5, CON-1, CON-2, CTX-8, NAT-1, EFF-3.
 */
import type { CapabilityProfile, FinishReason, GenerationPlan, OpaquePiece, OutputPart, Route, Usage } from '@n17q/domain';
import type { OnceOutcome, OnceRequest } from '@n17q/platform';

/** Generation id → the opaque pieces of that output. */
export type PieceMap = ReadonlyMap<string, readonly OpaquePiece[]>;

export interface WireRequest {
  /** Appended to the endpoint's base URL; starts with a slash. */
  readonly path: string;
  /** JSON text; its UTF-8 bytes go out unchanged. */
  readonly body: string;
  /** How many leading bytes of `body` the next request of this lineage repeats (P2). */
  readonly prefixBytes: number;
  /** Exactly those bytes as text: digest this to name the prefix. Holds opaque bytes; never log it. */
  readonly prefixDigestInput: string;
}

export const PROJECTION_REFUSALS = [
  'MODEL_UNKNOWN', 'PLAN_EMPTY', 'PLAN_STARTS_WITHOUT_INPUT', 'PLAN_HAS_NOTHING_NEW', 'OUTPUT_EMPTY', 'RESULTS_MISMATCH',
  'TOOL_NAME_INVALID', 'TOOL_DUPLICATE', 'OUTPUT_TOKENS_OUT_OF_RANGE',
  'PIECE_MISSING', 'PIECE_MALFORMED', 'PIECE_MISPLACED', 'PIECE_DUPLICATE', 'PIECE_BYPASS', 'PIECE_OF_UNKNOWN_OUTPUT',
] as const;
export type ProjectionRefusalCode = (typeof PROJECTION_REFUSALS)[number];

export interface ProjectionRefusal {
  readonly kind: 'refused';
  readonly code: ProjectionRefusalCode;
  readonly message: string;
  /** The output at fault, and which model step of the current turn it is, counted from 1. */
  readonly generation?: string;
  readonly partIndex?: number;
  readonly step?: number;
}

export type Projection = { readonly kind: 'projected'; readonly request: WireRequest } | ProjectionRefusal;

export interface PiecePlace { readonly generation: string; readonly partIndex: number }

export interface Endpoint { readonly baseUrl: string; readonly credential: string }
export type SendOptions = Pick<OnceRequest, 'connectTimeoutMs' | 'timeoutMs' | 'responseBytesMax' | 'beforeFirstByte' | 'signal'>;

export interface InterpretContext {
  readonly generation: string;
  /** Called once per call with the index of its part in the output. */
  readonly newCallId: (partIndex: number) => string;
  /** Names of the tools that the request declared. */
  readonly offered: readonly string[];
  /** What the request carried, so that an error text that echoes it is scrubbed. */
  readonly sent?: PieceMap;
  /** The endpoint's credential, for the same reason. */
  readonly credential?: string;
}

/**
 * What a new attempt can hope for after a refusal.
 *
 * `rejected`: another account or right is needed. `retry-later`: the same body may succeed later, or on another draw.
 * `never-retry-as-is`: the same body will fail again. `repairable-once`: a changed body may succeed, and loses something.
 */
export type RetryClass = 'rejected' | 'retry-later' | 'never-retry-as-is' | 'repairable-once';

export const REFUSAL_CODES = [
  'INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'CREDENTIAL_REFUSED', 'PERMISSION_DENIED', 'NOT_FOUND', 'REQUEST_TOO_LARGE',
  'CONFLICT', 'RATE_LIMITED', 'QUOTA_EXHAUSTED', 'UNAVAILABLE', 'REQUEST_REFUSED',
  'PROMPT_BLOCKED', 'OUTPUT_FILTERED', 'OUTPUT_EMPTY', 'CALL_MALFORMED', 'CALL_ID_DUPLICATE', 'CALLS_IN_UNFINISHED_OUTPUT',
  'FINISH_MALFORMED_CALL', 'FINISH_UNEXPECTED_CALL', 'FINISH_TOO_MANY_CALLS', 'FINISH_MISSING_SIGNATURE',
  'FINISH_MALFORMED_RESPONSE', 'FINISH_OTHER', 'FINISH_UNRECOGNISED',
  // said by the gateway of an output that was whole: it is more than one append can record, or the run had ended
  'OUTPUT_OUT_OF_BOUNDS', 'RUN_ENDED',
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** What the provider says about itself; observations, never state that a decision needs (NAT-1). */
export interface Observed { readonly responseId?: string; readonly modelServed?: string }

export interface Accepted {
  readonly kind: 'accepted';
  /** Holds calls only if `finish` is `stop`. */
  readonly parts: readonly OutputPart[];
  readonly pieces: readonly OpaquePiece[];
  readonly finish: FinishReason;
  readonly usage: Usage;
  readonly observed: Observed;
  /** Calls that no tool can answer as they stand. The call and its pieces are kept; its result is to be an error. */
  readonly problems: readonly { readonly callId: string; readonly code: 'TOOL_NOT_OFFERED' }[];
}

export interface Refused {
  readonly kind: 'refused';
  readonly class: RetryClass;
  readonly code: RefusalCode;
  /** Provider text: data, bounded, scrubbed. */
  readonly message: string;
  readonly status: number;
  /** Whether the provider generated before it ended badly, and so may have billed. */
  readonly executed: boolean;
  readonly finish?: FinishReason;
  readonly usage?: Usage;
  readonly observed?: Observed;
  /** The provider's advice, bounded to one day. */
  readonly retryAfterMs?: number;
  /** A guess from the wording, for people; nothing may decide on it. */
  readonly hint?: 'continuation' | 'context-too-long';
}

export interface Unknown {
  readonly kind: 'unknown';
  readonly cause: string;
  readonly status?: number;
  readonly message?: string;
  readonly usageLowerBound?: Usage;
}

export type Interpretation = Accepted | Refused | { readonly kind: 'not-sent'; readonly cause: string } | Unknown;

export interface ProviderAdapter {
  readonly name: string;
  profile(model: string): CapabilityProfile | undefined;
  /** Pure. Refuses a plan that the provider would refuse, and one whose required pieces are absent: nothing is sent then. */
  project(plan: GenerationPlan, route: Route, pieces: PieceMap): Projection;
  /**
   * Pure. Places whose pieces must be there for the request to be legal now. Where a provider allows more than one place,
   * `pieces` decides which; without them the usual place is named.
   */
  required(plan: GenerationPlan, route: Route, pieces?: PieceMap): readonly PiecePlace[];
  /** One wire request or none; never rejects for what the network or the peer does. Each call is a new request. */
  send(request: WireRequest, endpoint: Endpoint, options: SendOptions): Promise<OnceOutcome>;
  /** Pure but for `newCallId`. */
  interpret(outcome: OnceOutcome, context: InterpretContext): Interpretation;
}
