import { describe, expect, it } from '@jest/globals';
import { EVENT_TABLE, SERVICES } from '@n17q/domain';
import { PROJECTION_BYTES_MAX, fromWire, toWire } from './message.js';
import { EVENT_CLASSES, REACTORS, callerOf, parseRunEventSubject, runEventSubject, storeSubject } from './names.js';
import { runEvent } from './spec-kit.js';

describe('a run event on the wire', () => {
  it('[SVC-2] is a CloudEvent in binary mode with run, revision, position and trace in its headers', () => {
    const event = runEvent({ trace: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b' } });
    const wire = toWire(event);
    expect(wire.subject).toBe('run.v1.acme.effect.policy-gate');
    expect(Object.fromEntries([...wire.headers].map(([k, v]) => [k, v[0]]))).toEqual({
      'Nats-Msg-Id': event.eventId, 'ce-specversion': '1.0', 'ce-id': event.eventId, 'ce-source': event.source, 'ce-type': event.type, 'ce-subject': event.run,
      'ce-time': event.time, 'ce-datacontenttype': 'application/json', 'ce-n17qrevision': String(event.revision), 'ce-n17qposition': event.position,
      'ce-n17qtenant': 'acme', traceparent: event.trace.traceparent, tracestate: 'a=b',
    });
    expect(JSON.parse(new TextDecoder().decode(wire.body))).toEqual(event.projection);
    const { source: _s, time: _t, projection: _p, ...head } = event;
    expect(fromWire(wire.subject, wire.headers)).toEqual(head);
  });

  it('[OPS-1] leaves out a projection above the bound and says how large it was', () => {
    const wire = toWire(runEvent({ projection: { text: 'x'.repeat(PROJECTION_BYTES_MAX) } }));
    expect(new TextDecoder().decode(wire.body)).toBe('{}');
    expect(Number(wire.headers.get('ce-n17qomittedbytes'))).toBeGreaterThan(PROJECTION_BYTES_MAX);
  });

  it.each([
    ['another tenant in the header', 'ce-n17qtenant', 'other'], ['no revision', 'ce-n17qrevision', ''], ['a broken revision', 'ce-n17qrevision', '1.5'],
    ['no id', 'ce-id', ''], ['another CloudEvents version', 'ce-specversion', '2.0'],
  ])('[SVC-2] is not read with %s', (_what, header, value) => {
    const wire = toWire(runEvent());
    wire.headers.set(header, value);
    expect(fromWire(wire.subject, wire.headers)).toBeUndefined();
  });
});

describe('subjects', () => {
  it('[SVC-1] have a class for every event type of the domain', () => {
    for (const rule of Object.values(EVENT_TABLE)) expect(EVENT_CLASSES).toContain(rule.class);
    expect(REACTORS).toEqual(SERVICES.filter((s) => s !== 'event-store' && s !== 'api'));
  });

  it('[SVC-4] name the caller of the store and refuse words that would change their shape', () => {
    expect(callerOf(storeSubject('append', 'policy-gate'))).toBe('policy-gate');
    expect(callerOf('n17q.v1.policy-gate.judge')).toBeUndefined();
    expect(callerOf('n17q.v1.store.append.nobody')).toBeUndefined();
    for (const tenant of ['', 'a.b', '*', '>', 'a b', 'ä', 'x'.repeat(65)]) expect(() => runEventSubject(tenant, 'run', 'none')).toThrow(TypeError);
    expect(parseRunEventSubject('run.v1.acme.effect.nobody')).toBeUndefined();
  });
});
