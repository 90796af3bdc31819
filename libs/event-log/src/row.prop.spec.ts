import { describe, expect, it } from '@jest/globals';
import { EVENT_TYPES, SERVICES, type EventEnvelope } from '@n17q/domain';
import fc from 'fast-check';
import { eventFrom, metaOf } from './row.js';

const word = fc.string({ minLength: 1, maxLength: 12 });
const events = fc.record({
  type: fc.constantFrom(...EVENT_TYPES), stream: fc.constantFrom('run/r-1', 'tenant/policy'), writer: fc.constantFrom(...SERVICES), segment: fc.nat(3), causation: fc.option(word),
  actor: fc.record({ kind: fc.constantFrom('person' as const, 'service' as const), id: fc.oneof(fc.constantFrom<string>(...SERVICES), word) }), correlation: fc.oneof(fc.constantFrom('r-1', 'tenant/policy'), word),
});

describe('rows of events', () => {
  it('[RUN-1] say who and why exactly as the event did, though what is usual is not stored', () => {
    fc.assert(fc.property(events, (e) => {
      const row = { tenant: 't', stream: e.stream, revision: 1, lane: 0, position: '1', event_id: 'e', type: e.type, wake: null, schema_version: 1, data: '{}', meta: metaOf(e as never), trace: null, append_id: 'a', recorded_at: '5', previous: '', digest: 'd' };
      const { writer, actor, correlation, causation, segment } = eventFrom(row) as EventEnvelope;
      expect({ writer, actor, correlation, causation, segment }).toEqual({ writer: e.writer, actor: e.actor, correlation: e.correlation, causation: e.causation, segment: e.segment });
    }));
  });
  it('[SEAL-7] of the usual kind store nothing about that', () => {
    expect(metaOf({ type: 'context.compiled', stream: 'run/r-1', writer: 'context-compiler', actor: { kind: 'service', id: 'context-compiler' }, correlation: 'r-1', causation: null, segment: 0 } as never)).toBeNull();
  });
});
