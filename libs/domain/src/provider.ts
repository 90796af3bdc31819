/**
 * What the run says to a model and hears from it, in words of no provider.
 *
 * Opaque protocol state never stands in these types: where a provider placed something that it wants back, there is
 * only a placeholder, and the bytes live in continuation records that the gateway alone can read.
 *
 * Rows: RUN-3, RUN-5, CON-1, CTX-4, CTX-8.
 */
import type { Json } from './json.js';

/** Text or a tool request in a model's output, or the place of an opaque part. Order is the provider's. */
export type OutputPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly callId: string; readonly tool: string; readonly args: Json; /** The provider's own id, kept to be given back; absent if it sent none. */ readonly providerCallId?: string }
  | { readonly kind: 'opaque' };

export interface CallResult {
  readonly callId: string;
  readonly providerCallId?: string;
  readonly tool: string;
  readonly ok: boolean;
  /** What the model reads: data, never an instruction. */
  readonly text: string;
}

/** One entry of a lineage, oldest first. Its bytes are frozen once sent (CTX-8). */
export type LineageEntry =
  | { readonly kind: 'input'; readonly text: string }
  | { readonly kind: 'output'; readonly generation: string; readonly parts: readonly OutputPart[] }
  /** All results of one output's calls, in the order of the calls, then the state now. */
  | { readonly kind: 'results'; readonly results: readonly CallResult[]; readonly state: string };

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly schema: Json;
}

/** Everything that a model call is made of, but for continuations and credentials. */
export interface GenerationPlan {
  readonly system: string;
  readonly entries: readonly LineageEntry[];
  readonly tools: readonly OfferedTool[];
  readonly outputTokensMax: number;
}

/** Who decides: a stretch of a run under one of these is a segment. */
export interface Route {
  /** Names an account of the tenant's provider profile; never a credential. */
  readonly account: string;
  readonly provider: string;
  readonly adapter: string;
  readonly model: string;
}

/** Opaque bytes at one place of one output. `side`: beside the part of that index; `part`: the opaque part itself. */
export interface OpaquePiece {
  readonly partIndex: number;
  readonly placement: 'side' | 'part';
  readonly bytes: Uint8Array;
}

export interface CapabilityProfile {
  readonly contextTokens: number;
  readonly outputTokensMax: number;
  readonly toolCalls: boolean;
  readonly structuredOutput: boolean;
  /** Whether the provider keeps sessions that can be continued by id. */
  readonly nativeContinuation: boolean;
  /** Whether a call must carry opaque pieces of earlier outputs back. */
  readonly opaqueRequired: 'current-turn' | 'never';
  readonly storesContent: boolean;
}

export type FinishReason = 'stop' | 'length' | 'filtered' | 'malformed-call' | 'other';

/** Provider numbers in the provider's own dimensions, and ours. Absent numbers are unknown, never zero. */
export interface Usage {
  readonly native: Json;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}
