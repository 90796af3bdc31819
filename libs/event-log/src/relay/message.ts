/** What the relay puts on the bus for an event: enough to find it, and its structured data when that is small. Never content: data holds commitments only. */
import type { EventClass } from '@n17q/domain';
import type { PositionedEvent } from '../store-port.js';

export const PROJECTION_BYTES_MAX = 8 * 1024;

export interface RelayMessage {
  readonly eventId: string;
  readonly tenant: string;
  /** The run's id, or the name of a tenant's stream. */
  readonly run: string;
  readonly revision: number;
  readonly position: string;
  readonly type: string;
  readonly class: EventClass;
  readonly wake: PositionedEvent['wake'];
  readonly source: string;
  readonly time: string;
  readonly trace: { readonly traceparent?: string; readonly tracestate?: string };
  readonly projection: unknown;
}

export function relayMessageOf({ event: e, class: cls, wake }: PositionedEvent): RelayMessage {
  const text = JSON.stringify(e.data);
  return {
    eventId: e.eventId, tenant: e.tenant, run: e.stream.startsWith('run/') ? e.stream.slice(4) : e.stream, revision: e.revision, position: e.position, type: e.type, class: cls, wake,
    source: `/n17q/${e.writer}`, time: new Date(e.recordedAt).toISOString(), trace: e.trace ?? {}, projection: Buffer.byteLength(text) < PROJECTION_BYTES_MAX ? e.data : { omittedBytes: Buffer.byteLength(text) },
  };
}

/** The place in the lane that a message names, or undefined when it is not one of ours. */
export function placeOf(position: string, lane: number): number | undefined {
  const m = /^(\d+):(\d+)$/.exec(position);
  return m === null || Number(m[1]) !== lane ? undefined : Number(m[2]);
}
