import { describe, it } from '@jest/globals';
import { STORE_CASES } from '../conformance/index.js';
import { MemoryEventStore } from './store.js';

describe('the event store in memory', () => {
  const store = new MemoryEventStore(() => Date.now());
  for (const c of STORE_CASES) it(`[${c.rows.join(', ')}] ${c.title}`, () => c.run(store));
});
