import { describe, expect, it } from '@jest/globals';
import { BUS_USERS, REACTORS } from './names.js';
import { CONSUMERS, RIGHTS, STREAM, durablesOf } from './topology.js';

describe('the topology', () => {
  it('[SVC-1] gives every consumer one filter and every bound', () => {
    for (const c of CONSUMERS) {
      expect(c.filter_subjects).toBeUndefined(); // two filters on one consumer are fifty times slower on 2.10
      expect(c.filter_subject).toMatch(/^run\.v1\./);
      for (const bound of [c.ack_wait, c.max_ack_pending, c.max_deliver, c.max_waiting]) expect(bound).toBeGreaterThan(0);
    }
    for (const bound of [STREAM.max_age, STREAM.max_bytes, STREAM.max_msg_size, STREAM.duplicate_window]) expect(bound).toBeGreaterThan(0);
    expect(CONSUMERS.map((c) => c.durable_name).sort()).toEqual([...REACTORS, 'api' as const].flatMap(durablesOf).sort());
  });

  it('[SVC-4] lets no user but the event store write the log\'s subjects, and none subscribe to everything', () => {
    for (const user of BUS_USERS) {
      const { publish, subscribe } = RIGHTS[user];
      expect(publish.some((s) => s.startsWith('run.'))).toBe(user === 'event-store');
      expect(subscribe.some((s) => s.startsWith('n17q.v1.store'))).toBe(user === 'event-store');
      for (const subject of [...publish, ...subscribe]) expect(subject).not.toMatch(/^[>*]/);
    }
  });
});
