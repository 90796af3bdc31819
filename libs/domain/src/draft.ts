/** Facts of one append, each decided on the state that the earlier ones leave. Nothing here is stored: the store assigns ids, time and digests. */
import type { EventEnvelope, EventType, EventData, Fact } from './events.js';
import { fact } from './events.js';
import { evolve } from './fold.js';
import type { Actor, Digest, EventId, ServiceName, StoreTimeMs } from './ids.js';
import { runStream } from './ids.js';
import type { RunState } from './run.js';

export interface Draft {
  readonly state: RunState;
  readonly facts: readonly Fact[];
  add<T extends EventType>(type: T, data: EventData[T]): void;
}

/** The event as it will look, but for what the store assigns. */
export const imagined = (s: RunState, f: Fact, writer: ServiceName, actor: Actor, now: StoreTimeMs): EventEnvelope => ({
  ...f, tenant: s.tenant, stream: runStream(s.run), revision: s.revision + 1, position: '', eventId: '' as EventId, schemaVersion: 1, writer, actor, correlation: '', causation: null,
  segment: s.segment, appendId: '', recordedAt: now, previous: s.head, digest: '' as Digest,
});

export function draftOn(s: RunState, writer: ServiceName, now: StoreTimeMs): Draft {
  let state = s;
  const facts: Fact[] = [];
  return {
    get state() { return state; },
    facts,
    add(type, data) {
      const f = fact(type, data);
      state = evolve(state, imagined(state, f, writer, { kind: 'service', id: writer }, now));
      facts.push(f);
    },
  };
}
