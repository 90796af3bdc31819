import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RunQueue } from './run-queue.js';

interface Pass { readonly run: string; readonly startedAt: number; endedAt: number }

/** Many submissions at given ticks, works of given lengths; returns what ran and when each submission came and settled. */
async function play(concurrencyMax: number, script: readonly { run: number; at: number; length: number; fails: boolean }[]): Promise<{ passes: Pass[]; submissions: { run: string; at: number; ok: boolean }[]; peak: number }> {
  const queue = new RunQueue({ concurrencyMax });
  let now = 0;
  let active = 0;
  let peak = 0;
  const passes: Pass[] = [];
  const submissions: { run: string; at: number; ok: boolean }[] = [];
  const sleepers: { until: number; wake: () => void }[] = [];
  const sleep = (ticks: number): Promise<void> => new Promise((wake) => sleepers.push({ until: now + ticks, wake }));
  const waits: Promise<void>[] = [];
  const settle = async (): Promise<void> => { for (let i = 0; i < 20; i++) await Promise.resolve(); };
  const end = Math.max(0, ...script.map((s) => s.at)) + 400;
  for (; now < end; now++) {
    for (const s of script.filter((x) => x.at === now)) {
      const run = `run-${s.run}`;
      const at = now;
      waits.push(queue.submit({ tenant: 't', run }, async () => {
        peak = Math.max(peak, ++active);
        const pass: Pass = { run, startedAt: now, endedAt: Number.POSITIVE_INFINITY };
        passes.push(pass);
        await sleep(s.length);
        pass.endedAt = now;
        active--;
        if (s.fails) throw new Error('asked to fail');
      }).then(() => { submissions.push({ run, at, ok: true }); }, () => { submissions.push({ run, at, ok: false }); }));
    }
    for (const sleeper of sleepers.splice(0)) {
      if (sleeper.until <= now) sleeper.wake();
      else sleepers.push(sleeper);
    }
    await settle();
    if (queue.runs === 0 && script.every((s) => s.at <= now)) break;
  }
  await Promise.all(waits);
  return { passes, submissions, peak };
}

describe('the run queue', () => {
  it('[RUN-4] never overlaps two passes of one run, never exceeds its concurrency, and answers every submission by a pass that started after it', async () => {
    const script = fc.array(fc.record({ run: fc.nat(3), at: fc.nat(30), length: fc.integer({ min: 1, max: 6 }), fails: fc.boolean() }), { minLength: 1, maxLength: 40 });
    await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 4 }), script, async (concurrencyMax, steps) => {
      const { passes, submissions, peak } = await play(concurrencyMax, steps);
      expect(submissions).toHaveLength(steps.length);
      expect(peak).toBeLessThanOrEqual(concurrencyMax);
      for (const [i, a] of passes.entries()) {
        for (const b of passes.slice(i + 1)) {
          if (a.run === b.run) expect(a.endedAt <= b.startedAt || b.endedAt <= a.startedAt).toBe(true);
        }
      }
      for (const s of submissions) expect(passes.some((p) => p.run === s.run && p.startedAt >= s.at)).toBe(true);
    }), { numRuns: 150 });
  });

  it('[RUN-4] serves everything that came during a pass with one more pass', async () => {
    const queue = new RunQueue({ concurrencyMax: 2 });
    const gates: (() => void)[] = [];
    let passes = 0;
    const work = (): Promise<void> => new Promise((resolve) => { passes++; gates.push(resolve); });
    const first = queue.submit({ tenant: 't', run: 'r' }, work);
    const later = [1, 2, 3, 4].map(() => queue.submit({ tenant: 't', run: 'r' }, work));
    expect(passes).toBe(1);
    gates[0]?.();
    await first;
    expect(passes).toBe(2);
    gates[1]?.();
    await Promise.all(later);
    expect(passes).toBe(2);
    await queue.idle();
  });
});
