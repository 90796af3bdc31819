/** The log as the api writes to it: an append may carry an id of the caller's making, so that a repeated request is the same append. Rows: RUN-1. */
import { v5 as uuidv5 } from 'uuid';
import type { AppendOutcome, AppendRequest } from '@n17q/contracts';
import { runStream, type Actor, type Fact, type RunState, type StreamId, type TenantId, type Trace } from '@n17q/domain';
import { ServiceLog, type BusStore, type Decision, type OutsideContent, type ServiceLogOptions } from '@n17q/event-log';

const NAMESPACE = '0c7f3b5e-6a7d-5b0e-8f53-9f5d0a1c2e11';
export const idFrom = (...parts: readonly string[]): string => uuidv5(JSON.stringify(parts), NAMESPACE);

export interface Wanted { readonly appendId: string; readonly facts: readonly Fact[]; readonly contents?: Decision['contents']; readonly actor: Actor; readonly trace?: Trace | undefined }

export class RunLog extends ServiceLog {
  constructor(private readonly access: BusStore, outside: OutsideContent | null, options: ServiceLogOptions = {}) { super(access, outside, options); }

  override append(s: RunState, d: Decision & { readonly appendId?: string }): Promise<AppendOutcome> {
    if (d.appendId === undefined || d.actor === undefined) return super.append(s, d);
    return this.appendTo(s.tenant, runStream(s.run), s.revision, { appendId: d.appendId, facts: d.facts, contents: d.contents, actor: d.actor, trace: d.trace });
  }

  /** Ids of the events derive from the append's: the same request is the same append, wherever it is repeated. */
  appendTo(tenant: TenantId, stream: StreamId, expected: number, w: Wanted): Promise<AppendOutcome> {
    const request: AppendRequest = {
      tenant, stream, expected, appendId: w.appendId, actor: w.actor, correlation: stream.startsWith('run/') ? stream.slice(4) : stream, causation: null,
      events: w.facts.map((f, i) => ({ ...f, eventId: idFrom('event', w.appendId, String(i)) })),
      contents: (w.contents ?? []).map((c) => ({ ref: c.ref, salt: Buffer.from(c.salt).toString('base64'), body: Buffer.from(c.body).toString('base64') })),
      ...(w.trace === undefined ? {} : { trace: w.trace }),
    };
    return this.access.append(request);
  }
}
