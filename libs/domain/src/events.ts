/**
 * Every event that the store accepts: its data, and in one table who may append it, how subscribers see it, whether
 * it changes authority, and which boundary it makes.
 *
 * Data is digested as it stands here, canonical JSON; content stands in it only as salted commitments. Nothing
 * of a provider's own vocabulary is in it, except in `provider.*`, `usage.reported` and `continuation.retained`, which are
 * adapter observations with their provenance.
 *
 * Rows: RUN-1, RUN-3, EFF-7, SEAL-6, CTX-7, RES-8.
 */
import type { Amounts, Dimension } from './budget.js';
import type { ContentRef } from './content.js';
import type { ContractKind, EffectContract } from './contract.js';
import type { Scope } from './scope.js';
import type { Actor, AttemptId, CheckpointId, Digest, EffectId, EventId, GenerationId, PermitId, RunId, ServiceName, StoreTimeMs, StreamId, TenantId } from './ids.js';
import type { Json } from './json.js';
import type { FinishReason, Route, Usage } from './provider.js';
import type { PolicyDocument, ProfilesDocument, RegistryDocument, RolesDocument, TenantRevisions } from './tenant.js';
import type { DataClass, PinnedMapping } from './tool.js';

export type RetentionContract = 'metadata-only' | 'standard' | 'archival';
export type World = { readonly kind: 'real' } | { readonly kind: 'simulated'; readonly name: string };
/** How an attempt stands to what the provider already has (RES-9). */
export type AttemptForm = 'continued' | 'exact-replay' | 'reconstructed' | 'first';
export type EndedAs = 'completed' | 'by-person' | 'failed';

export interface WorkspaceRef {
  /** Immutable base: a commit of the cloned repository. */
  readonly base: string;
  /** Manifest of the tree; its commitment is the tree digest. */
  readonly tree: ContentRef;
}

/** A permit names all that it rests on. It is spent by one attempt. */
export interface Permit {
  readonly permit: PermitId;
  readonly subject: Digest;
  readonly seenRevision: number;
  readonly tenant: TenantRevisions;
  readonly expiresAt: StoreTimeMs;
  readonly world: World;
  readonly grounds: Grounds;
}

/**
 * What a decision rests on besides the tenant's revisions, so that it can be derived again: the revision of the run that was judged, when, the rules
 * that decided, and what of the tenant's unresolved effects it met.
 */
export interface Grounds {
  readonly revision: number;
  readonly at: StoreTimeMs;
  readonly by: readonly string[];
  readonly met: readonly MetEffect[];
  /** What the tenant's hook answered; absent: it was not asked. */
  readonly hook?: HookAnswer;
}
/** An unresolved effect that shares the scope, of whatever run. */
export interface MetEffect { readonly effect: EffectId; readonly tool: string; readonly kind: ContractKind; readonly stage: 'in-flight' | 'unknown'; readonly generation: GenerationId; readonly run: RunId }
export interface HookAnswer { readonly answer: 'allow' | 'ask' | 'deny'; readonly reason: string }
export interface RefusedBecause { readonly code: string; readonly reason: string; readonly facts: Json }
/** A refusal by the gate. */
export type Denied = RefusedBecause & { readonly tenant: TenantRevisions; readonly grounds: Grounds };

export interface ContinuationHandle {
  readonly handle: string;
  /** Where the opaque piece belongs in the output. */
  readonly partIndex: number;
  readonly placement: 'side' | 'part';
  /** The encrypted bytes, readable by the gateway alone. */
  readonly sealed: ContentRef;
  /** SHA-256 over key salt and exact bytes: proves sameness without showing them. */
  readonly exact: Digest;
}

export interface WindowLimit { readonly everyMs: number; readonly amounts: Amounts }

export interface EventData {
  // asked by people and systems
  'run.created': { readonly goal: ContentRef; readonly title: string; readonly retention: RetentionContract; readonly world: World; readonly budget: Amounts; readonly constraints: readonly string[]; readonly tools: readonly string[]; readonly workspace: WorkspaceRef | null; readonly whenDone: 'end' | 'await-input'; readonly changePolicy: 'allow' | 'review' | 'forbid'; /** For whom it is asked, under a delegation; null: for who asks. */ readonly onBehalfOf: string | null; /** How long it may be at work, waits for people left out; null: no bound. */ readonly wallMs: number | null };
  'input.received': { readonly text: ContentRef };
  'run.pause-requested': { readonly reason: string };
  'run.resume-requested': { readonly reason: string };
  'provider-response.continue-requested': { readonly reason: string };
  'run.end-requested': { readonly reason: string };
  'approval.decided': { readonly approval: string; readonly subject: Digest; readonly decision: 'approved' | 'rejected'; readonly note: string };
  'approval.revoked': { readonly approval: string; readonly reason: string };
  'effect.finding-submitted': { readonly finding: string; readonly effect: EffectId; readonly verdict: 'happened' | 'did-not-happen'; readonly evidence: ContentRef };
  'effect.migration-requested': { readonly migration: string; readonly effect: EffectId; readonly tool: string; readonly reason: string };
  'budget.raise-requested': { readonly raise: string; readonly amounts: Amounts; readonly wallMs: number; readonly reason: string };
  'source.reviewed': { readonly source: string; readonly decision: 'approved' | 'rejected'; readonly note: string };
  'run.erasure-requested': { readonly reason: string };
  'receipt.received': { readonly effect: EffectId; readonly receipt: ContentRef; readonly from: string };
  'note.added': { readonly text: ContentRef; readonly visibility: 'run' | 'people' };
  'plan.changed': { readonly steps: readonly string[] };

  // tenant streams
  'policy.published': PolicyDocument;
  'registry.published': RegistryDocument;
  'profiles.published': ProfilesDocument;
  'roles.published': RolesDocument;
  'allowance.granted': { readonly amounts: Amounts; readonly reason: string };
  /** What the tenant may spend in each window of `everyMs`, counted from 1970; it replaces the limits before it. */
  'allowance.limited': { readonly limits: readonly WindowLimit[]; readonly reason: string };

  // cut
  'checkpoint.sealed': { readonly checkpoint: CheckpointId; readonly version: 1; readonly cut: number; readonly boundaries: readonly Boundary[]; readonly manifest: Digest; readonly previous: CheckpointId | null };

  /** Contents of an ended run were erased on request. What was unresolved stays so, and is never repeated (EFF-8). */
  'content.erased': { readonly reason: string; readonly by: Actor; readonly unresolved: readonly EffectId[] };

  // compile
  'context.compiled': { readonly generation: GenerationId; readonly form: AttemptForm; readonly route: Route; readonly lineage: string; readonly opensLineage: boolean; readonly because: string; readonly system: ContentRef; readonly tools: ContentRef; readonly entry: ContentRef; readonly manifest: ContentRef; readonly subject: Digest; readonly continuations: readonly { readonly handle: string; readonly results: string }[]; readonly checkpoint: { readonly checkpoint: CheckpointId; readonly cut: number } | null; readonly tokensMax: { readonly input: number; readonly output: number }; readonly compiler: number };
  'context.blocked': { readonly route: Route | null } & RefusedBecause;

  // judge
  'generation.permitted': { readonly generation: GenerationId; readonly reservation: string } & Permit;
  'generation.denied': { readonly generation: GenerationId } & Denied;
  'route.decided': { readonly from: Route | null; readonly to: Route; readonly reason: string; readonly tenant: TenantRevisions };
  'run.paused': { readonly reason: string; readonly code: string };
  'run.resumed': { readonly reason: string };
  'run.ended': { readonly how: EndedAs; readonly withUnknowns: boolean; readonly by: Actor; readonly reason: string; readonly returned: Amounts; /** Of what is owed, what the tenant's account covers now. */ readonly charged?: Amounts };
  'effect.permitted': { readonly effect: EffectId; readonly attemptNumber: number; readonly siblings: readonly EffectId[]; readonly reservation: string; readonly approval: string | null } & Permit;
  'effect.denied': { readonly effect: EffectId } & Denied;
  'effect.withdrawn': { readonly effect: EffectId; readonly reason: string };
  'approval.requested': { readonly approval: string; readonly effect: EffectId; readonly subject: Digest; readonly reasons: readonly string[]; /** Unresolved effects that it is asked beside: it covers no other. */ readonly beside: readonly EffectId[]; readonly expiresAt: StoreTimeMs; readonly tenant: TenantRevisions; readonly grounds: Grounds };
  'effect.recovery-denied': { readonly effect: EffectId } & Denied;
  'look.permitted': { readonly effect: EffectId; readonly look: number } & Permit;
  'finding.accepted': { readonly finding: string; readonly effect: EffectId; readonly verdict: 'happened' | 'did-not-happen'; readonly by: Actor };
  'finding.refused': { readonly finding: string; readonly effect: EffectId } & RefusedBecause;
  /** From now on the effect is looked at as this tool; its own contract still says what may be repeated. */
  'effect.migrated': { readonly migration: string; readonly effect: EffectId; readonly tool: string; readonly mapping: PinnedMapping; readonly contract: EffectContract; readonly by: Actor };
  'effect.migration-refused': { readonly migration: string; readonly effect: EffectId } & RefusedBecause;
  'budget.raised': { readonly raise: string; readonly amounts: Amounts; readonly wallMs: number; readonly by: Actor };
  'budget.raise-refused': { readonly raise: string } & RefusedBecause;
  'budget.reserved': { readonly reservation: string; readonly for: 'generation' | 'effect'; readonly amounts: Amounts; readonly drawn: Amounts };
  'budget.settled': { readonly reservation: string; readonly used: Amounts; /** After the run's end only. */ readonly charged?: Amounts };
  'budget.warned': { readonly dimensions: readonly Dimension[] };
  'budget.exhausted': { readonly dimension: Dimension; readonly needed: Amounts; readonly of: 'run' | 'tenant' };

  // call the model
  'segment.started': { readonly segment: number; readonly from: Route | null; readonly to: Route; readonly reason: string; readonly checkpoint: CheckpointId | null; readonly manifest: ContentRef };
  'generation.started': { readonly generation: GenerationId; readonly attempt: AttemptId; readonly owner: string; readonly permit: PermitId; readonly form: AttemptForm; readonly wire: Digest; readonly wirePrefix: { readonly bytes: number; readonly digest: Digest }; readonly leaseMs: number };
  'generation.accepted': { readonly generation: GenerationId; readonly attempt: AttemptId; readonly output: ContentRef; readonly finish: FinishReason; readonly calls: readonly AcceptedCall[]; readonly continuations: readonly ContinuationHandle[]; readonly recoverable: 'exact' | 'unavailable'; readonly why: string; readonly usage: Usage; readonly spent: Amounts | null };
  'generation.refused': { readonly generation: GenerationId; readonly attempt: AttemptId; readonly class: string; readonly retryAfterMs: number | null; readonly usage: Usage | null; readonly spent: Amounts | null; /** Of an output that was refused as a whole, what is kept as evidence: bounded text. */ readonly output?: ContentRef } & RefusedBecause;
  'generation.outcome-unknown': { readonly generation: GenerationId; readonly attempt: AttemptId; readonly cause: string };
  'generation.not-sent': { readonly generation: GenerationId; readonly attempt: AttemptId; readonly cause: string };
  'generation.blocked': { readonly generation: GenerationId } & RefusedBecause;
  'continuation.retained': { readonly handle: string; readonly generation: GenerationId; readonly turn: number; readonly adapter: string; readonly endpoint: string; readonly account: string; readonly accountScope: string; readonly modelServed: string; readonly lineage: string; readonly bytes: number; readonly exact: Digest };
  'provider.observed': { readonly generation: GenerationId; readonly adapter: string; readonly account: string; readonly endpoint: string; readonly observation: Json };
  'provider.disagreed': { readonly generation: GenerationId; readonly adapter: string; readonly code: string; readonly observation: Json };

  // intend and act
  'effect.intended': { readonly effect: EffectId; readonly call: string; readonly generation: GenerationId; readonly tool: string; readonly mapping: PinnedMapping; readonly contract: EffectContract; readonly scope: Scope; readonly args: ContentRef; readonly subject: Digest; readonly key: string; readonly world: World; readonly amounts: Amounts; readonly dataClass: DataClass; /** What of the run it holds while it is in flight; absent: nothing. */ readonly holds?: 'workspace'; /** It runs a command in the workspace, and its result is a validation of the tree that it started from. */ readonly command?: true };
  'call.refused': { readonly call: string; readonly generation: GenerationId; readonly tool: string } & RefusedBecause;
  'effect.attempt-started': { readonly effect: EffectId; readonly attempt: AttemptId; readonly attemptNumber: number; readonly owner: string; readonly permit: PermitId; readonly leaseMs: number; readonly dispatchBy: StoreTimeMs };
  'effect.observed': { readonly effect: EffectId; readonly attempt: AttemptId; readonly ok: boolean; readonly text: ContentRef; readonly receipt: ContentRef | null };
  'effect.refused': { readonly effect: EffectId; readonly attempt: AttemptId; readonly cause: string; readonly text: ContentRef };
  'effect.not-sent': { readonly effect: EffectId; readonly attempt: AttemptId; readonly cause: string };
  'effect.outcome-unknown': { readonly effect: EffectId; readonly attempt: AttemptId; readonly cause: string };
  'effect.receipt-recorded': { readonly effect: EffectId; readonly receipt: ContentRef; readonly from: string };
  'effect.reconciled': { readonly effect: EffectId; readonly as: 'happened' | 'did-not-happen'; readonly by: 'receipt' | 'query' | 'finding' | 'late-reply'; readonly evidence: ContentRef | null; readonly text: ContentRef | null };
  'effect.looked': { readonly effect: EffectId; readonly look: number; readonly answer: 'not-found' | 'cannot-tell'; readonly cause: string };
  'effect.duplicated': { readonly effect: EffectId; readonly count: number; readonly evidence: ContentRef };
  'effect.contradicted': { readonly effect: EffectId; readonly from: 'receipt' | 'finding' | 'late-reply'; readonly evidence: ContentRef };
  'effect.needs-person': { readonly effect: EffectId; readonly reason: string };
  'source.observed': { readonly source: string; readonly effect: EffectId; readonly identity: string; readonly retrievedAt: StoreTimeMs; readonly scope: Scope; readonly content: ContentRef | null; readonly excerpt: ContentRef; readonly required: boolean; readonly replay: 'recording' | 'live'; /** Why it could not be kept; null: it was. */ readonly gap: string | null };
  'workspace.changed': { readonly effect: EffectId | null; readonly workspace: WorkspaceRef; readonly previous: string | null; readonly summary: string };
  'workspace.conflicted': { readonly effect: EffectId | null; readonly found: string };

  // any service, of itself
  'dead-letter.recorded': { readonly service: ServiceName; readonly trigger: EventId | null; readonly code: string; readonly message: string; readonly deliveries: number };
}
export type EventType = keyof EventData;

export interface AcceptedCall {
  readonly call: string;
  readonly tool: string;
  /** Present exactly when the arguments were well-formed JSON. */
  readonly args: ContentRef | null;
}

export const BOUNDARIES = ['model-output', 'tool-observation', 'decision', 'world-reconciliation', 'workspace', 'run-state'] as const;
export type Boundary = (typeof BOUNDARIES)[number];
export type EventClass = 'run' | 'input' | 'checkpoint' | 'context' | 'generation' | 'effect' | 'budget' | 'provider' | 'tenant' | 'other';
/** Who speaks in an event. The store derives it from the writer, never from content (CTX-7). */
export type AuthorityClass = 'person' | 'platform' | 'model' | 'tool';

interface EventRule {
  readonly writer: ServiceName | 'any';
  readonly class: EventClass;
  readonly authority: boolean;
  readonly boundary: Boundary | null;
  readonly speaks: AuthorityClass;
}
const rule = (writer: EventRule['writer'], cls: EventClass, authority: boolean, boundary: Boundary | null, speaks: AuthorityClass): EventRule => ({ writer, class: cls, authority, boundary, speaks });

/** `authority`: a permit given before such an event is stale. A seal, a compile, a usage report are not. */
export const EVENT_TABLE: { readonly [T in EventType]: EventRule } = {
  'run.created': rule('api', 'run', true, 'run-state', 'person'),
  'input.received': rule('api', 'input', true, null, 'person'),
  'run.pause-requested': rule('api', 'run', true, null, 'person'),
  'run.resume-requested': rule('api', 'run', true, null, 'person'),
  'provider-response.continue-requested': rule('api', 'run', true, null, 'person'),
  'run.end-requested': rule('api', 'run', true, null, 'person'),
  'approval.decided': rule('api', 'effect', true, 'decision', 'person'),
  'approval.revoked': rule('api', 'effect', true, 'decision', 'person'),
  'effect.finding-submitted': rule('api', 'effect', true, null, 'person'),
  'effect.migration-requested': rule('api', 'effect', true, null, 'person'),
  'budget.raise-requested': rule('api', 'budget', true, null, 'person'),
  'source.reviewed': rule('api', 'input', true, 'decision', 'person'),
  'run.erasure-requested': rule('api', 'run', true, null, 'person'),
  'receipt.received': rule('api', 'effect', true, null, 'tool'),
  'note.added': rule('api', 'input', false, null, 'person'),
  'plan.changed': rule('api', 'run', false, null, 'person'),

  'policy.published': rule('api', 'tenant', true, null, 'person'),
  'registry.published': rule('api', 'tenant', true, null, 'person'),
  'profiles.published': rule('api', 'tenant', true, null, 'person'),
  'roles.published': rule('api', 'tenant', true, null, 'person'),
  'allowance.granted': rule('api', 'tenant', true, null, 'person'),
  'allowance.limited': rule('api', 'tenant', true, null, 'person'),

  'checkpoint.sealed': rule('checkpoint-sealer', 'checkpoint', false, null, 'platform'),
  'content.erased': rule('checkpoint-sealer', 'checkpoint', true, 'run-state', 'platform'),

  'context.compiled': rule('context-compiler', 'context', false, null, 'platform'),
  'context.blocked': rule('context-compiler', 'context', false, 'decision', 'platform'),

  'generation.permitted': rule('policy-gate', 'generation', false, 'decision', 'platform'),
  'generation.denied': rule('policy-gate', 'generation', true, 'decision', 'platform'),
  'route.decided': rule('policy-gate', 'run', true, 'decision', 'platform'),
  'run.paused': rule('policy-gate', 'run', true, 'run-state', 'platform'),
  'run.resumed': rule('policy-gate', 'run', true, 'run-state', 'platform'),
  'run.ended': rule('policy-gate', 'run', true, 'run-state', 'platform'),
  'effect.permitted': rule('policy-gate', 'effect', false, 'decision', 'platform'),
  'effect.denied': rule('policy-gate', 'effect', true, 'decision', 'platform'),
  'effect.withdrawn': rule('policy-gate', 'effect', true, 'decision', 'platform'),
  'approval.requested': rule('policy-gate', 'effect', false, 'decision', 'platform'),
  'look.permitted': rule('policy-gate', 'effect', false, 'decision', 'platform'),
  'effect.recovery-denied': rule('policy-gate', 'effect', false, 'decision', 'platform'),
  'finding.accepted': rule('policy-gate', 'effect', true, 'decision', 'platform'),
  'finding.refused': rule('policy-gate', 'effect', false, 'decision', 'platform'),
  'effect.migrated': rule('policy-gate', 'effect', true, 'decision', 'platform'),
  'effect.migration-refused': rule('policy-gate', 'effect', false, 'decision', 'platform'),
  'budget.raised': rule('policy-gate', 'budget', true, 'decision', 'platform'),
  'budget.raise-refused': rule('policy-gate', 'budget', false, 'decision', 'platform'),
  'budget.reserved': rule('policy-gate', 'budget', false, null, 'platform'),
  'budget.settled': rule('policy-gate', 'budget', false, null, 'platform'),
  'budget.warned': rule('policy-gate', 'budget', false, null, 'platform'),
  'budget.exhausted': rule('policy-gate', 'budget', true, 'decision', 'platform'),

  'segment.started': rule('provider-gateway', 'run', false, 'run-state', 'platform'),
  'generation.started': rule('provider-gateway', 'generation', false, null, 'platform'),
  'generation.accepted': rule('provider-gateway', 'generation', true, 'model-output', 'model'),
  'generation.refused': rule('provider-gateway', 'generation', false, null, 'platform'),
  'generation.outcome-unknown': rule('provider-gateway', 'generation', false, 'world-reconciliation', 'platform'),
  'generation.not-sent': rule('provider-gateway', 'generation', false, null, 'platform'),
  'generation.blocked': rule('provider-gateway', 'generation', true, 'decision', 'platform'),
  'continuation.retained': rule('provider-gateway', 'provider', false, null, 'platform'),
  'provider.observed': rule('provider-gateway', 'provider', false, null, 'platform'),
  'provider.disagreed': rule('provider-gateway', 'provider', false, null, 'platform'),

  'effect.intended': rule('effect-reconciler', 'effect', false, null, 'platform'),
  'call.refused': rule('effect-reconciler', 'effect', false, 'tool-observation', 'platform'),
  'effect.attempt-started': rule('effect-reconciler', 'effect', false, null, 'platform'),
  'effect.observed': rule('effect-reconciler', 'effect', false, 'tool-observation', 'tool'),
  'effect.refused': rule('effect-reconciler', 'effect', false, 'tool-observation', 'tool'),
  'effect.not-sent': rule('effect-reconciler', 'effect', false, 'tool-observation', 'platform'),
  'effect.outcome-unknown': rule('effect-reconciler', 'effect', true, 'world-reconciliation', 'platform'),
  'effect.receipt-recorded': rule('effect-reconciler', 'effect', false, null, 'tool'),
  'effect.reconciled': rule('effect-reconciler', 'effect', true, 'world-reconciliation', 'platform'),
  'effect.looked': rule('effect-reconciler', 'effect', false, 'world-reconciliation', 'platform'),
  'effect.duplicated': rule('effect-reconciler', 'effect', true, 'world-reconciliation', 'platform'),
  'effect.contradicted': rule('effect-reconciler', 'effect', true, 'world-reconciliation', 'platform'),
  'effect.needs-person': rule('effect-reconciler', 'effect', false, null, 'platform'),
  'source.observed': rule('effect-reconciler', 'effect', false, 'tool-observation', 'tool'),
  'workspace.changed': rule('effect-reconciler', 'effect', false, 'workspace', 'platform'),
  'workspace.conflicted': rule('effect-reconciler', 'effect', true, 'workspace', 'platform'),

  'dead-letter.recorded': rule('any', 'other', false, null, 'platform'),
};
export const EVENT_TYPES = Object.keys(EVENT_TABLE) as readonly EventType[];
export const isEventType = (t: string): t is EventType => Object.hasOwn(EVENT_TABLE, t);

/** An event as a decider makes it: no ids, no time. */
export type Fact = { [T in EventType]: { readonly type: T; readonly data: EventData[T] } }[EventType];
export const fact = <T extends EventType>(type: T, data: EventData[T]): Fact => ({ type, data }) as unknown as Fact;

export interface Trace { readonly traceparent: string; readonly tracestate?: string }

/** An event as the store keeps it. `trace` and `position` stand outside the digest. */
export type EventEnvelope = Fact & {
  readonly tenant: TenantId;
  readonly stream: StreamId;
  readonly revision: number;
  readonly position: string;
  readonly eventId: EventId;
  readonly schemaVersion: number;
  readonly writer: ServiceName;
  readonly actor: Actor;
  readonly correlation: string;
  readonly causation: EventId | null;
  readonly segment: number;
  readonly appendId: string;
  readonly recordedAt: StoreTimeMs;
  readonly previous: Digest;
  readonly digest: Digest;
  readonly trace?: Trace;
};
export type { RunId };
