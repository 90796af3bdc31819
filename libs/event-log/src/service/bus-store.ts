/**
 * The store as a service reaches it over the bus. The last token of each subject is the caller's own name, which its credentials enforce: that
 * is how the store knows the writer.
 *
 * An append whose answer was lost is asked again with the same append id, which gives the first answer; after a bound the caller hears that
 * the store is out of reach, and whether the append may be in.
 *
 * Rows: RUN-1, RUN-4, SVC-1.
 */
import { setTimeout as after } from 'node:timers/promises';
import { request, storeSubject, type Bus } from '@n17q/bus';
import type { AppendOutcome, AppendRequest } from '@n17q/contracts';
import type { ContentRef, EventEnvelope, ServiceName, StreamId, TenantId } from '@n17q/domain';
import type { StoredContent } from '../ports.js';
import type { DecisionQuery, DecisionView, DueNeed, ListedRun, LoadedRun, NeedAt, StoredCheckpoint } from '../store-port.js';
import type { StoreAccess } from './service-log.js';

export const STORE_REQUEST_TIMEOUT_MS = 5_000;
const APPEND_TRIES = 6;

/** The store did not answer. `kind` tells the transport that nobody's run is at fault. */
export class StoreUnreachable extends Error {
  readonly kind = 'transient';
  constructor(readonly code: string, readonly mayHaveActed: boolean, detail: string) { super(`the event store is out of reach (${code}): ${detail}`); this.name = 'StoreUnreachable'; }
}

export interface WireStoredContent { readonly ref: ContentRef; readonly state: StoredContent['state']; readonly salt: string | null; readonly body: string | null }
export const contentToWire = (c: StoredContent): WireStoredContent => ({ ref: c.ref, state: c.state, salt: c.salt === null ? null : Buffer.from(c.salt).toString('base64'), body: c.body === null ? null : Buffer.from(c.body).toString('base64') });
const contentFromWire = (c: WireStoredContent): StoredContent => ({ ref: c.ref, state: c.state, salt: c.salt === null ? null : Buffer.from(c.salt, 'base64'), body: c.body === null ? null : Buffer.from(c.body, 'base64') });

export class BusStore implements StoreAccess {
  constructor(private readonly bus: Bus, readonly service: ServiceName) {}

  async append(r: AppendRequest): Promise<AppendOutcome> {
    let acted = false;
    let last = { code: '', detail: '' };
    for (let tries = 0; tries < APPEND_TRIES; tries++) {
      if (tries > 0) await after(50 * 2 ** tries);
      const o = await request<AppendOutcome>(this.bus, storeSubject('append', this.service), r, { timeoutMs: STORE_REQUEST_TIMEOUT_MS });
      if (o.kind === 'answered') return o.value;
      if (o.kind === 'refused') throw new StoreUnreachable('REFUSED', acted, JSON.stringify(o.refusal));
      if (o.code === 'PAYLOAD_TOO_LARGE') return { kind: 'refused', code: 'TOO_LARGE', message: o.detail, facts: {} };
      acted ||= o.mayHaveActed;
      last = { code: o.code, detail: o.detail };
      if (o.code === 'PERMISSION_REFUSED') break;
    }
    throw new StoreUnreachable(last.code, acted, last.detail);
  }

  loadRun(tenant: TenantId, stream: StreamId, afterRevision?: number): Promise<LoadedRun> { return this.ask('load', { tenant, stream, ...(afterRevision === undefined ? {} : { afterRevision }) }); }
  decisionView(query: DecisionQuery): Promise<DecisionView> { return this.ask('view', query); }
  async contents(tenant: TenantId, commitments: readonly string[]): Promise<readonly StoredContent[]> {
    return (await this.ask<readonly WireStoredContent[]>('contents', { tenant, commitments })).map(contentFromWire);
  }
  needsDue(olderThanMs: number, limit: number, after?: NeedAt): Promise<readonly DueNeed[]> { return this.ask('needs', { olderThanMs, limit, ...(after === undefined ? {} : { after: { dueAt: after.dueAt, tenant: after.tenant, stream: after.stream, reason: after.reason } }) }); }
  registerArtifact(tenant: TenantId, stream: StreamId | null, ref: ContentRef, state: 'pending' | 'complete'): Promise<'pending' | 'complete' | 'erased'> { return this.ask('artifact', { tenant, stream, ref, state }); }
  readEvents(tenant: TenantId, stream: StreamId, afterRevision: number, limit: number): Promise<readonly EventEnvelope[]> { return this.ask('events', { tenant, stream, afterRevision, limit }); }
  listRuns(tenant: TenantId, afterStream: StreamId | '', limit: number): Promise<readonly ListedRun[]> { return this.ask('runs', { tenant, afterStream, limit }); }
  latestCheckpoint(tenant: TenantId, stream: StreamId): Promise<StoredCheckpoint | null> { return this.ask('checkpoint', { tenant, stream }); }

  private async ask<A>(verb: string, body: object): Promise<A> {
    const o = await request<A>(this.bus, storeSubject(verb, this.service), body, { timeoutMs: STORE_REQUEST_TIMEOUT_MS });
    if (o.kind === 'answered') return o.value;
    if (o.kind === 'refused') throw new StoreUnreachable('REFUSED', false, JSON.stringify(o.refusal));
    throw new StoreUnreachable(o.code, false, o.detail);
  }
}

/** Repeats `work` while the store is out of reach or busy with others, up to `forMs`. For what must not be lost: an outcome that only this process knows. */
export async function persistently<T>(work: () => Promise<T>, forMs: number, onTrouble: (e: unknown) => void, pause: (ms: number) => Promise<unknown> = after): Promise<T> {
  const until = performance.now() + forMs;
  for (let tries = 0; ; tries++) {
    try { return await work(); } catch (e) {
      const kind = (e as { kind?: unknown }).kind;
      if ((kind !== 'transient' && kind !== 'conflict') || performance.now() > until) throw e;
      onTrouble(e);
      await pause(Math.min(5_000, 50 * 2 ** Math.min(tries, 7)) * (0.5 + Math.random() / 2));
    }
  }
}
