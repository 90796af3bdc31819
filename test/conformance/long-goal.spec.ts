/** A goal that is larger than what travels beside an event. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { goalOf } from '../faults/kit/scripts.js';
import { isOver, ofType, openScene, type Scene } from '../faults/kit/scene.js';

describe('a long goal', () => {
  let scene: Scene;
  beforeAll(async () => { scene = await openScene({ scripts: { short: [{ text: 'done' }] }, stack: { separate: false, tenant: 'long' } }); }, 180_000);
  afterAll(() => scene?.close(), 60_000);

  it('[CTX-1] [SEAL-7] is compiled into an artifact, and the run goes on', async () => {
    const s = await scene.start('short', { goal: `${goalOf('short', 'long')}\n${'line\n'.repeat(12_500)}` });
    await scene.stack.waitFor(s.run, isOver, 'its end', 60_000);
    const log = await scene.stack.events(s.run);
    expect(ofType(log, 'context.compiled')[0]?.data.entry.bytes).toBeGreaterThan(65_536);
    expect(ofType(log, 'dead-letter.recorded')).toEqual([]);
    expect(ofType(log, 'run.ended')[0]?.data.how).toBe('completed');
  }, 120_000);
});
