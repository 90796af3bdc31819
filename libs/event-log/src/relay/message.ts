/** What the relay puts on the bus for an event: enough to find it, and its structured data, of which the bus leaves out what is large. Never content: data holds commitments only. */
import type { RunEventMessage } from '@n17q/bus';
import type { PositionedEvent } from '../store-port.js';

export function messageOf({ event: e, class: cls, wake }: PositionedEvent): RunEventMessage {
  return {
    eventId: e.eventId, tenant: e.tenant, run: e.stream.startsWith('run/') ? e.stream.slice(4) : e.stream, revision: e.revision, position: e.position, type: e.type, class: cls, wake,
    source: `/n17q/${e.writer}`, time: new Date(e.recordedAt).toISOString(), trace: e.trace ?? {}, projection: e.data,
  };
}

/** The place in the lane that a message names, or undefined when it is not one of ours. */
export function placeOf(position: string, lane: number): number | undefined {
  const m = /^(\d+):(\d+)$/.exec(position);
  return m === null || Number(m[1]) !== lane ? undefined : Number(m[2]);
}
