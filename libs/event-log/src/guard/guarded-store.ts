/**
 * The append path of the event store: parse, fold to the expected revision, judge, hand to the store. The fold is cached by run; the cache
 * can only be old, never wrong, since a revision is what it was; the transaction's own check of the revision makes it exact.
 *
 * Rows: RUN-1, RUN-4.
 */
import { LRUCache } from 'lru-cache';
import { canonical, type AppendOutcome } from '@n17q/contracts';
import { emptyRun, fold, needsOf, runOf, type EventEnvelope, type RunState, type ServiceName, type StreamId, type TenantId } from '@n17q/domain';
import { RunCache } from '../run-cache.js';
import type { EventStorePort } from '../store-port.js';
import { isRefusal, parseAppend, prepareAppend, type ParsedAppend, type Standing } from './prepare.js';

export interface GuardedStoreOptions { readonly cachedRunsMax?: number; readonly clock: { now(): number } }

export class GuardedStore {
  private readonly states: RunCache<RunState>;
  constructor(private readonly store: EventStorePort, private readonly options: GuardedStoreOptions) {
    this.states = new RunCache(new LRUCache({ max: options.cachedRunsMax ?? 2000 }));
  }

  /** Takes in a request of `writer`, or says why not. Throws only what the store throws. A repeat gives the first answer with `fresh: false`. */
  async append(raw: unknown, writer: ServiceName, bytes: number): Promise<AppendOutcome> {
    const parsed = parseAppend(raw, writer, bytes);
    if (isRefusal(parsed)) return parsed;
    const { request } = parsed;
    const standing = await this.standing(request.tenant, request.stream, request.expected);
    const at = standing.kind === 'run' ? standing.state.revision : standing.head.revision;
    if (at < request.expected) return { kind: 'conflict', revision: at };
    if (at > request.expected) return this.replayOrConflict(parsed, writer, at);
    const prepared = prepareAppend(parsed, writer, standing, this.options.clock.now());
    if (isRefusal(prepared)) return prepared;
    const outcome = await this.store.append(prepared.append);
    if (outcome.kind === 'appended' && outcome.fresh && prepared.state !== null) this.keep(prepared.state, prepared.append.rests);
    return outcome;
  }

  /** The run at its head, folded from the store. */
  async state(tenant: TenantId, stream: StreamId): Promise<RunState> {
    const known = this.states.get(`${tenant} ${stream}`);
    let state = known;
    for (;;) {
      const page = await this.store.loadRun(tenant, stream, state?.revision);
      if (state === undefined) state = page.snapshot === null ? emptyRun(tenant, runOf(stream) ?? '') : (JSON.parse(page.snapshot.state) as RunState);
      state = fold(state, page.tail);
      if (!page.more) break;
    }
    this.keep(state, needsOf(state).length === 0);
    return state;
  }

  private keep(state: RunState, rests: boolean): void {
    const key = `${state.tenant} run/${state.run}`;
    if ((this.states.get(key)?.revision ?? -1) < state.revision) this.states.set(key, state, rests);
  }

  private async standing(tenant: TenantId, stream: StreamId, expected: number): Promise<Standing> {
    const run = runOf(stream);
    if (run === undefined) return { kind: 'tenant', head: await this.store.head(tenant, stream) };
    const cached = this.states.get(`${tenant} ${stream}`);
    if (cached?.revision === expected) return { kind: 'run', state: cached };
    if (expected === 0 && cached === undefined) {
      const head = await this.store.head(tenant, stream);
      if (head.revision === 0) return { kind: 'run', state: emptyRun(tenant, run) };
    }
    return { kind: 'run', state: await this.state(tenant, stream) };
  }

  /** An append may hold more than one page. */
  private async eventsAfter(tenant: TenantId, stream: StreamId, revision: number, count: number): Promise<readonly EventEnvelope[]> {
    const events: EventEnvelope[] = [];
    while (events.length < count) {
      const page = await this.store.readEvents(tenant, stream, revision + events.length, count - events.length);
      if (page.length === 0) break;
      events.push(...page);
    }
    return events;
  }

  private async replayOrConflict(p: ParsedAppend, writer: ServiceName, at: number): Promise<AppendOutcome> {
    const { request } = p;
    const stored = await this.eventsAfter(request.tenant, request.stream, request.expected, request.events.length);
    const first = stored[0];
    if (first === undefined || first.appendId !== request.appendId) return { kind: 'conflict', revision: at };
    const said = (e: { readonly eventId: string; readonly type: string; readonly data: unknown }, by: Pick<EventEnvelope, 'writer' | 'actor' | 'correlation' | 'causation'>): string =>
      canonical([e.eventId, e.type, e.data, by.writer, by.actor, by.correlation, by.causation]);
    const asked = { writer, actor: request.actor, correlation: request.correlation, causation: request.causation };
    const same = stored.length === request.events.length && request.events.every((e, i) => { const there = stored[i]; return there !== undefined && said(there, there) === said(e, asked); });
    if (!same) return { kind: 'refused', code: 'ID_REUSED', message: `append id ${request.appendId} was used before with other bytes`, facts: { appendId: request.appendId } };
    const last = stored.at(-1) ?? first;
    return { kind: 'appended', fresh: false, first: first.revision, last: last.revision, head: last.digest, recordedAt: last.recordedAt, position: last.position };
  }
}
