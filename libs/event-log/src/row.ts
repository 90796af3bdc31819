/** Rows of `events` and back. The SELECT list and the reading stand side by side, since they must agree. */
import { EVENT_TABLE, isEventType, type EventClass, type EventEnvelope } from '@n17q/domain';
import type { EventRow } from './ports.js';

export const EVENT_COLUMNS = 'e.tenant, e.stream, e.revision, e.lane, e.position::text as position, e.event_id, e.type, e.class, e.wake, e.schema_version, e.data, e.meta, e.trace, e.append_id, e.recorded_at::text as recorded_at, e.previous, e.digest';

export interface EventColumns {
  readonly tenant: string; readonly stream: string; readonly revision: number; readonly lane: number; readonly position: string; readonly event_id: string;
  readonly type: string; readonly class: string; readonly wake: string; readonly schema_version: number; readonly data: string; readonly meta: string; readonly trace: string | null;
  readonly append_id: string; readonly recorded_at: string; readonly previous: string; readonly digest: string;
}

export const positionText = (lane: number, position: number | string): string => `${String(lane)}:${String(position)}`;

/** Who and why, as stored beside an event's data. */
export const metaOf = (e: EventRow): string => JSON.stringify({ actor: e.actor, correlation: e.correlation, causation: e.causation, segment: e.segment, writer: e.writer });

export function eventFrom(r: EventColumns): EventEnvelope {
  const meta = JSON.parse(r.meta) as Pick<EventEnvelope, 'actor' | 'correlation' | 'causation' | 'segment' | 'writer'>;
  return {
    type: r.type, data: JSON.parse(r.data) as unknown, tenant: r.tenant, stream: r.stream, revision: r.revision, position: positionText(r.lane, r.position), eventId: r.event_id,
    schemaVersion: r.schema_version, writer: meta.writer, actor: meta.actor, correlation: meta.correlation, causation: meta.causation, segment: meta.segment, appendId: r.append_id,
    recordedAt: Number(r.recorded_at), previous: r.previous, digest: r.digest, ...(r.trace === null ? {} : { trace: JSON.parse(r.trace) as EventEnvelope['trace'] }),
  } as EventEnvelope;
}

/** Subscribers see tenant events under their own class; a type that this program does not know is `other`. */
export const classOf = (type: string): EventClass => (isEventType(type) ? EVENT_TABLE[type].class : 'other');
