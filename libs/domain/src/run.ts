/**
 * The state of a run: what the log says, folded, and nothing else. Its size is bounded, whatever the run's length: settled effects leave it
 * when the model has heard of them, the history keeps its last items, a lineage has a bound. What never leaves is the unresolved.
 *
 * Rows: RUN-1, RUN-4, RUN-6, RUN-7, SEAL-1, BUD-1, RES-8.
 */
import type { Amounts, Budget } from './budget.js';
import { openBudget, NOTHING } from './budget.js';
import type { ContentRef } from './content.js';
import type { Effect } from './effect.js';
import type { AttemptForm, Boundary, ContinuationHandle, Permit, RetentionContract, WorkspaceRef, World } from './events.js';
import type { Actor, AttemptId, CheckpointId, Digest, EffectId, GenerationId, RunId, StoreTimeMs, TenantId } from './ids.js';
import type { Json } from './json.js';
import type { FinishReason, Route } from './provider.js';
import type { DataClass } from './tool.js';

export const HISTORY_ITEMS_MAX = 60;
export const LINEAGE_ITEMS_MAX = 256;
export const DENIALS_MAX = 20;
/** So many findings may wait for their judgement or their recording; one more is refused. */
export const FINDINGS_MAX = 20;
/** Approvals that came to nothing, kept so that the model is told of them; the log has them all. */
export const APPROVALS_OVER_MAX = 20;
/** Settled effects that are remembered, after they have left the state, as not having happened: evidence against it is then known as such. */
export const DISPROVED_MAX = 200;
export const CONTRADICTIONS_MAX = 20;
export const SOURCES_MAX = 60;
export const VALIDATIONS_MAX = 20;
/** So many raises, or migrations, may wait for their judgement. */
export const WAITING_MAX = 20;

export type RunStatus = 'new' | 'active' | 'paused' | 'ended';

export interface Request { readonly kind: 'pause' | 'resume' | 'end' | 'continue-provider-response'; readonly revision: number; readonly actor: Actor; readonly reason: string }
export interface Blocked { readonly code: string; readonly reason: string; readonly waitsFor: 'policy' | 'budget' | 'profiles' | 'person'; readonly facts: Json }

/** A generation that has been compiled and has no accepted output yet. */
export interface Generation {
  readonly generation: GenerationId;
  readonly stage: 'compiled' | 'permitted' | 'started';
  readonly form: AttemptForm;
  readonly route: Route;
  readonly lineage: string;
  readonly subject: Digest;
  readonly compiledAt: number;
  readonly system: ContentRef;
  readonly tools: ContentRef;
  readonly manifest: ContentRef;
  readonly continuations: readonly { readonly handle: string; readonly results: string }[];
  readonly tokensMax: { readonly input: number; readonly output: number };
  readonly permit: Permit | null;
  readonly reservation: string | null;
  readonly attempt: AttemptId | null;
  readonly owner: string | null;
  readonly startedAt: StoreTimeMs | null;
  readonly leaseMs: number;
  /** Permits in a row that ran out before anybody used them. */
  readonly unused: number;
}

export type LineageItem =
  | { readonly kind: 'said'; readonly entry: ContentRef; readonly at: number }
  | { readonly kind: 'output'; readonly generation: GenerationId; readonly output: ContentRef; readonly continuations: readonly ContinuationHandle[]; readonly turn: number; readonly calls: readonly string[]; readonly recoverable: 'exact' | 'unavailable' };

export interface ContinuationBinding { readonly adapter: string; readonly endpoint: string; readonly account: string; readonly accountScope: string; readonly modelServed: string }

/** What one provider conversation has seen: frozen once sent. */
export interface Lineage {
  readonly lineage: string;
  readonly route: Route;
  readonly system: ContentRef;
  readonly tools: ContentRef;
  readonly items: readonly LineageItem[];
  /** The last item was compiled and no output answered it. */
  readonly open: boolean;
  /** Who and where the opaque pieces of this lineage came from; null: none yet; `mixed`: they disagree, and none may be sent. */
  readonly binding: ContinuationBinding | 'mixed' | null;
  readonly retained: readonly { readonly handle: string; readonly generation: GenerationId; readonly turn: number; readonly exact: Digest }[];
  readonly wirePrefix: { readonly bytes: number; readonly digest: Digest } | null;
  readonly turn: number;
  readonly bytes: number;
}

export interface OpenCall {
  readonly call: string;
  readonly tool: string;
  readonly args: ContentRef | null;
  readonly generation: GenerationId;
  readonly effect: EffectId | null;
  readonly refused: { readonly code: string; readonly reason: string } | null;
}

export type HistoryItem =
  | { readonly kind: 'input'; readonly revision: number; readonly text: ContentRef }
  | { readonly kind: 'output'; readonly revision: number; readonly output: ContentRef; readonly segment: number }
  | { readonly kind: 'result'; readonly revision: number; readonly call: string; readonly tool: string; readonly outcome: string; readonly text: ContentRef | null; readonly segment: number };

export interface Approval {
  readonly approval: string;
  readonly effect: EffectId;
  readonly subject: Digest;
  readonly stage: 'requested' | 'approved' | 'rejected' | 'revoked' | 'spent';
  readonly by: Actor | null;
  /** Unresolved effects that it was asked beside. */
  readonly beside: readonly EffectId[];
  readonly expiresAt: StoreTimeMs;
}
export interface Denial { readonly revision: number; readonly of: string; readonly code: string; readonly reason: string }
export interface Finding { readonly finding: string; readonly effect: EffectId; readonly verdict: 'happened' | 'did-not-happen'; readonly evidence: ContentRef; readonly by: Actor; readonly stage: 'submitted' | 'accepted' | 'refused'; readonly applied: boolean }
/** Evidence that an effect happened that was settled as not having happened. */
export interface Contradiction { readonly effect: EffectId; readonly tool: string; readonly from: string; readonly revision: number }
/** Where something that the run may rest on was retrieved from. */
export interface Source {
  readonly source: string;
  readonly identity: string;
  readonly effect: EffectId;
  readonly tool: string;
  readonly retrievedAt: StoreTimeMs;
  readonly content: ContentRef | null;
  readonly excerpt: ContentRef;
  readonly required: boolean;
  readonly replay: 'recording' | 'live';
  readonly gap: string | null;
  readonly review: 'unreviewed' | 'approved' | 'rejected';
  readonly reviewedBy: Actor | null;
}
/** A command that was run in the workspace: on which tree, and what it said. */
export interface Validation { readonly effect: EffectId; readonly tool: string; readonly tree: string | null; readonly ok: boolean; readonly text: ContentRef; readonly revision: number }
/** Time at work, waits for people left out. `since`: at work from then on; null: it waits. */
export interface WorkClock { readonly limitMs: number | null; readonly spentMs: number; readonly since: StoreTimeMs | null }
export interface Raise { readonly raise: string; readonly amounts: Amounts; readonly wallMs: number; readonly by: Actor }
export interface Migration { readonly migration: string; readonly effect: EffectId; readonly tool: string; readonly by: Actor }
export interface SegmentTally { readonly segment: number; readonly route: Route; readonly generations: number; readonly effects: number; readonly denials: number; readonly unknowns: number; readonly inputTokens: number; readonly outputTokens: number }

export interface RunState {
  readonly tenant: TenantId;
  readonly run: RunId;
  readonly revision: number;
  readonly head: Digest;
  readonly lastAt: StoreTimeMs;
  readonly status: RunStatus;
  readonly ended: { readonly how: string; readonly withUnknowns: boolean; readonly by: Actor; readonly reason: string; readonly revision: number } | null;
  readonly task: { readonly goal: ContentRef; readonly title: string; readonly constraints: readonly string[]; readonly tools: readonly string[]; readonly whenDone: 'end' | 'await-input'; readonly changePolicy: 'allow' | 'review' | 'forbid' } | null;
  /** People who asked for something in this run: where policy wants four eyes, none of them approves it. */
  readonly askers: readonly string[];
  /** Who asked for the run, and for whom. */
  readonly requester: Actor | null;
  readonly onBehalfOf: string | null;
  readonly plan: readonly string[];
  readonly retention: RetentionContract;
  readonly world: World;
  readonly route: Route | null;
  readonly segment: number;
  readonly segmentRoute: Route | null;
  readonly segments: readonly SegmentTally[];
  readonly lineage: Lineage | null;
  readonly lineages: number;
  readonly generation: Generation | null;
  readonly generations: number;
  readonly failures: { readonly count: number; readonly retryAt: StoreTimeMs | null; readonly lastCode: string | null; /** The provider said that the same request will fail again. */ readonly refusesLineage: boolean };
  readonly finished: FinishReason | null;
  readonly inputs: readonly { readonly revision: number; readonly text: ContentRef }[];
  readonly calls: readonly OpenCall[];
  readonly effects: { readonly [effect: string]: Effect };
  readonly history: readonly HistoryItem[];
  readonly historyOmitted: number;
  readonly approvals: { readonly [approval: string]: Approval };
  readonly denials: readonly Denial[];
  readonly denialsOmitted: number;
  readonly findings: readonly Finding[];
  readonly receiptsPending: readonly { readonly effect: EffectId; readonly receipt: ContentRef; readonly from: string }[];
  readonly requests: readonly Request[];
  readonly continuationWanted: boolean;
  readonly blocked: Blocked | null;
  readonly paused: { readonly code: string; readonly reason: string } | null;
  readonly budget: Budget;
  readonly settle: readonly { readonly reservation: string; readonly used: Amounts }[];
  readonly workspace: WorkspaceRef | null;
  /** What changed the workspace, newest last. */
  readonly workspaceChanges: readonly { readonly effect: EffectId | null; readonly tree: string; readonly summary: string }[];
  readonly validations: readonly Validation[];
  readonly clock: WorkClock;
  readonly raises: readonly Raise[];
  readonly migrations: readonly Migration[];
  /** The newest of each identity. */
  readonly sources: readonly Source[];
  readonly sourcesOmitted: number;
  /** Of all results taken in, the most confidential. */
  readonly dataClass: DataClass;
  /** Unknown when the run was resumed, and not looked at since: until then nothing consequential begins (RES-1). */
  readonly lookFirst: readonly EffectId[];
  readonly contentErased: boolean;
  readonly erasure: { readonly reason: string; readonly by: Actor } | null;
  readonly authorityRevision: number;
  readonly boundary: readonly Boundary[];
  readonly checkpoint: { readonly checkpoint: CheckpointId; readonly cut: number; readonly manifest: Digest } | null;
  readonly duplicates: number;
  /** Effects that left the state settled as not having happened. */
  readonly disproved: readonly { readonly effect: EffectId; readonly tool: string }[];
  /** `unasked`: no person has been asked about these yet. */
  readonly contradictions: { readonly count: number; readonly unasked: readonly Contradiction[] };
  /** Services that gave up on this run since they last got further with it. */
  readonly deadLetters: { readonly [service: string]: { readonly count: number; readonly at: StoreTimeMs } };
}

export const emptyRun = (tenant: TenantId, run: RunId): RunState => ({
  tenant, run, revision: 0, head: '' as Digest, lastAt: 0, status: 'new', ended: null, task: null, askers: [], requester: null, onBehalfOf: null, plan: [], retention: 'standard', world: { kind: 'real' },
  route: null, segment: 0, segmentRoute: null, segments: [], lineage: null, lineages: 0, generation: null, generations: 0,
  failures: { count: 0, retryAt: null, lastCode: null, refusesLineage: false }, finished: null, inputs: [], calls: [], effects: {}, history: [], historyOmitted: 0,
  approvals: {}, denials: [], denialsOmitted: 0, findings: [], receiptsPending: [], requests: [], continuationWanted: false, blocked: null, paused: null,
  budget: openBudget(NOTHING), settle: [], workspace: null, workspaceChanges: [], validations: [], clock: { limitMs: null, spentMs: 0, since: null }, raises: [], migrations: [],
  sources: [], sourcesOmitted: 0, dataClass: 'public', lookFirst: [], contentErased: false, erasure: null, authorityRevision: 0, boundary: [], checkpoint: null, duplicates: 0, disproved: [], contradictions: { count: 0, unasked: [] }, deadLetters: {},
});

/** Waits behind another effect that holds the same part of the run: one in flight, or an earlier one that may start first. */
export function queued(s: RunState, e: Effect): boolean {
  if (e.holds === undefined) return false;
  let earlier = true;
  for (const x of Object.values(s.effects)) {
    if (x.effect === e.effect) { earlier = false; continue; }
    if (x.holds === e.holds && (x.stage === 'in-flight' || (earlier && x.permit !== null && (x.stage === 'permitted' || x.stage === 'unknown')))) return true;
  }
  return false;
}
/** Sent, and settled as not having happened. */
export const settledAsNot = (e: Effect): boolean => e.stage === 'did-not-happen' || e.stage === 'refused';
/** The same, whether it is in the state still or has left it. */
export function isDisproved(s: RunState, effect: EffectId): boolean {
  const e = Object.hasOwn(s.effects, effect) ? s.effects[effect] : undefined;
  return e === undefined ? s.disproved.some((x) => x.effect === effect) : settledAsNot(e);
}
/** Sources that the run needs and does not have: to be retrieved again before anything rests on them (SRC-2). */
export const sourceGaps = (s: RunState): readonly Source[] => s.sources.filter((x) => x.required && (x.gap !== null ? x.review !== 'approved' : x.review === 'rejected'));
export const effectOfCall = (s: RunState, c: OpenCall): Effect | undefined => (c.effect === null ? undefined : s.effects[c.effect]);
export const unresolvedOf = (s: RunState): readonly Effect[] => Object.values(s.effects).filter((e) => e.stage === 'in-flight' || e.stage === 'unknown');
