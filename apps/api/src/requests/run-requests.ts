/**
 * How a person's or system's request becomes an event: the run is loaded, the event is appended at the revision that was seen, and if a service was faster it is
 * done again. Nothing is judged here; what the run's state does not allow, the store refuses and says why.
 *
 * Rows: RUN-1, RUN-4, RES-2, EFF-5.
 */
import { v4 as uuidv4 } from 'uuid';
import { keeping, type FolderArtifactStore, type Keep, type Kept } from '@n17q/artifacts';
import type { AppendOutcome, ContentUpload, http } from '@n17q/contracts';
import { fact, runStream, type ContentClass, type ContentRef, type Digest, type EventEnvelope, type Fact, type RunId, type RunState, type StreamId, type TenantId } from '@n17q/domain';
import { decideAgain, type BusStore } from '@n17q/event-log';
import type { Asking } from '../http/caller.js';
import { noRun, Problem, refusal } from '../http/problem.js';
import type { Refusal } from '../http/refusal-words.js';
import { appendIdOf, type RequestKeys } from './request-keys.js';
import type { RunLog } from './run-log.js';
import { standingOf } from './settlement.js';

export interface Answer { readonly stream: StreamId; readonly revision: number; /** A repeat: this is the first answer. */ readonly repeated: boolean }
/** Made once for a request, however often it is appended again: a fresh salt would be another content. */
export interface Drafted { readonly facts: readonly Fact[]; readonly contents: readonly ContentUpload[] }
type Keyed = Asking & { readonly key: string };
const keyed = (a: Asking): a is Keyed => a.key !== null;

const RUN = /^[A-Za-z0-9-]{1,64}$/;
const SCAN = 512;

export class RunRequests {
  readonly keep: Keep;
  constructor(private readonly log: RunLog, private readonly store: BusStore, private readonly keys: RequestKeys, artifacts: FolderArtifactStore) {
    this.keep = keeping(artifacts, (tenant, run, ref) => this.register(tenant, run, ref));
  }

  async register(tenant: TenantId, run: RunId, ref: ContentRef): Promise<void> {
    const state = await this.store.registerArtifact(tenant, runStream(run), ref, 'complete');
    if (state !== 'complete') throw new Problem('ERASED', `content ${ref.commitment} was erased`);
  }

  /** The run's state, or NOT_FOUND. */
  async state(tenant: TenantId, run: string): Promise<RunState> {
    if (!RUN.test(run)) throw noRun();
    const s = await this.log.state(tenant, run);
    if (s.revision === 0) throw noRun();
    return s;
  }

  /** Appends what `draft` says to an existing run. */
  async ask(a: Asking, run: string, draft: (s: RunState) => Promise<Drafted> | Drafted): Promise<Answer> {
    const s = await this.state(a.tenant, run);
    return this.once(a, runStream(run), s.revision, () => Promise.resolve(draft(s)), (d, appendId) => this.append(a, s, d, appendId));
  }

  /** Makes a run. `draft` runs only if the key led to nothing before. */
  async create(a: Asking, run: RunId, draft: () => Promise<Drafted>): Promise<Answer> {
    return this.once(a, runStream(run), 0, draft, async (d, appendId) => {
      const s = await this.log.state(a.tenant, run);
      if (s.revision > 0) return this.first(a, runStream(run), 0, appendId);
      return this.append(a, s, d, appendId);
    });
  }

  /** Appends to a tenant's stream at exactly `expected`. */
  async appendToTenant(a: Asking, stream: StreamId, expected: number, facts: readonly Fact[], appendId: string): Promise<AppendOutcome> {
    return this.log.appendTo(a.tenant, stream, expected, { appendId, facts, actor: { kind: 'person', id: a.person }, trace: a.trace });
  }

  /** Runs `act` unless the request's key already led to an event. */
  async once(a: Asking, stream: StreamId, from: number, draft: () => Promise<Drafted>, act: (d: Drafted, appendId: string) => Promise<Answer>): Promise<Answer> {
    if (!keyed(a)) return act(await draft(), uuidv4());
    const before = await this.keys.find(a);
    if (before !== undefined) return { stream: before.stream, revision: before.revision, repeated: true };
    const d = await draft();
    await this.keys.claim(a, stream, from);
    return act(d, appendIdOf(a));
  }

  /** The event of an append that the store knows already. */
  async first(a: Asking, stream: StreamId, after: number, appendId: string): Promise<Answer> {
    const [e] = await this.store.readEvents(a.tenant, stream, after, 1);
    if (e?.appendId !== appendId) throw new Problem('IDEMPOTENCY_KEY_REUSED', 'This key came with another request before. A new request needs a new key.');
    return { stream, revision: e.revision, repeated: true };
  }

  private async append(a: Asking, loaded: RunState, d: Drafted, appendId: string): Promise<Answer> {
    let known: RunState | undefined = loaded;
    const load = async (): Promise<RunState> => { const s = known ?? (await this.log.state(a.tenant, loaded.run)); known = undefined; return s; };
    const decision = { facts: d.facts, contents: d.contents, actor: a.actor ?? { kind: 'person' as const, id: a.person }, appendId, ...(a.trace === undefined ? {} : { trace: a.trace }) };
    const done = await decideAgain(this.log, load, (s) => s, () => decision);
    const stream = runStream(loaded.run);
    switch (done.kind) {
      case 'appended': return { stream, revision: done.outcome.last, repeated: !done.outcome.fresh };
      case 'nothing': throw new Error('a request without an event');
      case 'refused': {
        // the same key was faster on another connection: its answer is this one's answer
        if (done.outcome.code === 'ID_REUSED') return this.first(a, stream, placeOf(done.outcome, done.loaded.revision), appendId);
        throw refusal(done.outcome, await this.standing(loaded, d, done.outcome));
      }
    }
  }

  async kept(a: Asking, run: RunId, bytes: string | Uint8Array, cls: ContentClass, media: string): Promise<Kept> { return this.keep(a.tenant, run, bytes, cls, media); }

  /** NOT_FOUND unless this run ever intended the effect. */
  async requireEffect(s: RunState, effect: string): Promise<void> {
    if (Object.hasOwn(s.effects, effect)) return;
    for await (const e of this.events(s)) if (e.type === 'effect.intended' && e.data.effect === effect) return;
    throw new Problem('NOT_FOUND', 'This run has no such effect: look at the run and its events for those that it has.');
  }

  /** Why a finding is refused is told from what became of its effect; undefined: the refusal speaks for itself. */
  private async standing(s: RunState, d: Drafted, o: Refusal): Promise<string | undefined> {
    const finding = d.facts.find((f) => f.type === 'effect.finding-submitted');
    if (finding === undefined || o.code !== 'ILLEGAL') return undefined;
    const events: EventEnvelope[] = [];
    for await (const e of this.events(s)) if ('effect' in e.data) events.push(e);
    return standingOf(events, (finding.data as { readonly effect: string }).effect);
  }

  private async *events(s: RunState): AsyncGenerator<EventEnvelope> {
    for (let after = 0; ; ) {
      const page: readonly EventEnvelope[] = await this.store.readEvents(s.tenant, runStream(s.run), after, SCAN);
      yield* page;
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.revision;
    }
  }
}

/** After which revision the append stands that used the id before: the store names the event, or it is where this one wanted to be. */
export const placeOf = (o: Extract<AppendOutcome, { kind: 'refused' }>, expected: number): number => ((o.facts as { revision?: number } | null)?.revision ?? expected + 1) - 1;

export const uploads = (...kept: readonly Kept[]): readonly ContentUpload[] => kept.flatMap((k) => (k.upload === null ? [] : [k.upload]));

export const evidenceBytes = (e: http.NewFinding['evidence']): { readonly bytes: string | Uint8Array; readonly media: string } =>
  typeof e === 'string' ? { bytes: e, media: 'text/plain; charset=utf-8' } : { bytes: Buffer.from(e.base64, 'base64'), media: e.media ?? 'application/octet-stream' };

export const decided = (approval: string, d: http.ApprovalDecision): Fact => fact('approval.decided', { approval, subject: d.subject as Digest, decision: d.decision, note: d.note ?? '' });
