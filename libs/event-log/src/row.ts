/** Rows of `events` and back. The SELECT list and the reading stand side by side, since they must agree. */
import { EVENT_TABLE, isEventType, runOf, type EventClass, type EventEnvelope } from '@n17q/domain';
import type { EventRow, PreparedAppend } from './ports.js';
import type { PositionedEvent } from './store-port.js';

const COLUMNS = `e.tenant, e.stream, e.revision, e.lane, e.position::text as position, e.event_id, e.type, e.wake, e.schema_version, e.data, e.meta, e.trace, e.append_id, e.recorded_at::text as recorded_at, encode(e.digest, 'hex') as digest`;
/** With the predecessor's digest, which its own row holds. Index: primary key of events, once for each row. */
export const EVENT_COLUMNS = `${COLUMNS}, coalesce((select encode(p.digest, 'hex') from n17q.events p where p.tenant = e.tenant and p.stream = e.stream and p.revision = e.revision - 1), '') as previous`;

export interface EventColumns {
  readonly tenant: string; readonly stream: string; readonly revision: number; readonly lane: number; readonly position: string; readonly event_id: string;
  readonly type: string; readonly wake: string | null; readonly schema_version: number; readonly data: string; readonly meta: string | null; readonly trace: string | null;
  readonly append_id: string; readonly recorded_at: string; readonly previous: string; readonly digest: string;
}

export const positionText = (lane: number, position: number | string): string => `${String(lane)}:${String(position)}`;

/** The events of an append that was taken in, as a read would give them. `last`: the position of its last event. */
export const positioned = (p: PreparedAppend, lane: number, last: number): readonly PositionedEvent[] => p.rows.map((row, i) => {
  const position = last - p.rows.length + 1 + i;
  return { event: { ...row, position: positionText(lane, position) } as EventEnvelope, position, class: classOf(row.type), wake: i === p.rows.length - 1 ? p.wake : 'none' };
});

type Meta = Pick<EventEnvelope, 'actor' | 'correlation' | 'causation' | 'segment' | 'writer'>;
type MetaOf = Pick<EventEnvelope, 'type' | 'stream'>;

/** What nearly every event says, by its type and stream: not stored again with each. It is part of the format: a type that is in use never gets another writer. */
function usualMeta(e: MetaOf, writer: EventEnvelope['writer'] = isEventType(e.type) && EVENT_TABLE[e.type].writer !== 'any' ? (EVENT_TABLE[e.type].writer as EventEnvelope['writer']) : 'event-store'): Meta {
  return { writer, actor: { kind: 'service', id: writer }, correlation: runOf(e.stream) ?? e.stream, causation: null, segment: 0 };
}

/** Who and why, as stored beside an event's data: what differs from the usual, or null. */
export function metaOf(e: EventRow): string | null {
  const usual = usualMeta(e, e.writer);
  const told = JSON.stringify({
    ...(usualMeta(e).writer === e.writer ? {} : { writer: e.writer }), ...(e.actor.kind === usual.actor.kind && e.actor.id === usual.actor.id ? {} : { actor: e.actor }),
    ...(e.correlation === usual.correlation ? {} : { correlation: e.correlation }), ...(e.causation === null ? {} : { causation: e.causation }), ...(e.segment === 0 ? {} : { segment: e.segment }),
  });
  return told === '{}' ? null : told;
}
function metaFrom(e: MetaOf, text: string | null): Meta {
  const told = text === null ? {} : (JSON.parse(text) as Partial<Meta>);
  return { ...usualMeta(e, told.writer), ...told };
}

export function eventFrom(r: EventColumns): EventEnvelope {
  const meta = metaFrom({ type: r.type as EventEnvelope['type'], stream: r.stream }, r.meta);
  return {
    type: r.type, data: JSON.parse(r.data) as unknown, tenant: r.tenant, stream: r.stream, revision: r.revision, position: positionText(r.lane, r.position), eventId: r.event_id,
    schemaVersion: r.schema_version, writer: meta.writer, actor: meta.actor, correlation: meta.correlation, causation: meta.causation, segment: meta.segment, appendId: r.append_id,
    recordedAt: Number(r.recorded_at), previous: r.previous, digest: r.digest, ...(r.trace === null ? {} : { trace: JSON.parse(r.trace) as EventEnvelope['trace'] }),
  } as EventEnvelope;
}

/** Subscribers see tenant events under their own class; a type that this program does not know is `other`. */
export const classOf = (type: string): EventClass => (isEventType(type) ? EVENT_TABLE[type].class : 'other');
