import { describe, expect, it } from '@jest/globals';
import { deliveryCount } from './delivery.js';
import { RunEventTrouble, troubleOf } from './faults.js';
import { nakDelayMs } from './intake.js';

describe('a delivery', () => {
  it.each([
    ['the first form', '$JS.ACK.RUN_EVENTS.policy-gate.3.17.21.1700000000000000000.0', 3],
    ['the second form', '$JS.ACK._.hash.RUN_EVENTS.policy-gate.4.17.21.1700000000000000000.0', 4],
    ['the second form with a random token', '$JS.ACK.hub.hash.RUN_EVENTS.policy-gate.5.17.21.1700000000000000000.0.xyz', 5],
    ['something else', 'nonsense', 1],
  ])('[SVC-1] reads how often it came from %s of the ack subject', (_what, reply, count) => {
    expect(deliveryCount(reply)).toBe(count);
  });

  it('[RUN-4] waits longer each time, within bounds, and hardly at all after a lost race', () => {
    for (let n = 1; n < 40; n++) {
      expect(nakDelayMs('conflict', n)).toBeLessThanOrEqual(125);
      expect(nakDelayMs('failed', n)).toBeLessThanOrEqual(15_000 * 1.25);
      expect(nakDelayMs('transient', n)).toBeLessThanOrEqual(30_000 * 1.25);
    }
    expect(nakDelayMs('failed', 5)).toBeGreaterThan(nakDelayMs('failed', 1));
  });

  it('[SVC-1] classifies what a handler threw', () => {
    expect(troubleOf(new RunEventTrouble('conflict', 'REVISION', 'moved'))).toEqual({ kind: 'conflict', code: 'REVISION', message: 'moved' });
    expect(troubleOf(new RunEventTrouble('conflict', 'REVISION', 'moved').getError())).toEqual({ kind: 'conflict', code: 'REVISION', message: 'moved' });
    expect(troubleOf(new TypeError('x'))).toEqual({ kind: 'failed', code: 'TypeError', message: 'x' });
    expect(troubleOf({ status: 'error', message: 'Internal server error' })).toEqual({ kind: 'failed', code: 'UNKNOWN', message: 'Internal server error' });
    expect(troubleOf(undefined)).toMatchObject({ kind: 'failed', code: 'UNKNOWN' });
  });
});
