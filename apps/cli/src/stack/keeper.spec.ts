import { describe, expect, it } from '@jest/globals';
import { until } from '@n17q/testing';
import { Keeper, type Instance } from './keeper.js';

/** Instances that end when told. */
function instances(fail: (n: number) => boolean = () => false): { readonly start: () => Promise<Instance>; readonly end: (how: string) => void; readonly running: () => number; readonly started: () => number } {
  let running = 0;
  let started = 0;
  let end: (how: string) => void = () => undefined;
  return {
    start: async () => {
      started += 1;
      if (fail(started)) throw new Error(`start ${started} fails`);
      running += 1;
      const ended = new Promise<string>((resolve) => { end = (how) => { running -= 1; resolve(how); }; });
      return { pid: started, ended, stop: async () => { end('stopped'); }, kill: undefined };
    },
    end: (how) => end(how), running: () => running, started: () => started,
  };
}
const soon = { withinMs: 3_000, everyMs: 5 };

describe('a keeper', () => {
  it('starts again what ended, and says how it ended', async () => {
    const i = instances();
    const k = new Keeper(i.start, () => undefined);
    await k.open();
    i.end('ended with SIGKILL');
    await until(() => k.instance?.pid === 2, { ...soon, what: 'the second instance' });
    expect([k.restarts, k.problem, i.running()]).toEqual([1, 'ended with SIGKILL', 1]);
    await k.stop();
    expect([i.running(), i.started()]).toEqual([0, 2]);
  });

  it('goes on trying when a start fails, and never runs two at once', async () => {
    const i = instances((n) => n === 2 || n === 3);
    const k = new Keeper(i.start, () => undefined);
    await k.open();
    i.end('ended with code 1');
    await until(() => k.problem?.includes('start 3 fails'), { ...soon, what: 'the second failure' });
    await until(() => k.instance !== undefined, { ...soon, what: 'a start that works' });
    expect([i.running(), i.started(), k.restarts]).toEqual([1, 4, 1]);
    await k.stop();
    expect(i.running()).toBe(0);
  });

  it('stops at once while it waits to start again', async () => {
    const i = instances((n) => n > 1);
    const k = new Keeper(i.start, () => undefined);
    await k.open();
    i.end('ended');
    await until(() => i.started() > 4, { ...soon, what: 'some failures' });
    const before = performance.now();
    await k.stop();
    expect(performance.now() - before).toBeLessThan(600);
    expect(i.running()).toBe(0);
  });

  it('cuts short a start that the stop meets', async () => {
    const i = instances();
    let cut = 0;
    const slow = (signal: AbortSignal): Promise<Instance> => (i.started() === 0 ? i.start() : new Promise((_resolve, reject) => { signal.addEventListener('abort', () => { cut += 1; reject(new Error('cut short')); }); }));
    const starts: string[] = [];
    const k = new Keeper((signal) => { starts.push('start'); return slow(signal); }, () => undefined);
    await k.open();
    i.end('ended');
    await until(() => starts.length === 2, { ...soon, what: 'the second start' });
    await k.stop();
    expect([cut, i.running()]).toEqual([1, 0]);
  });

  it('says that a part has gone when it was stopped', async () => {
    const i = instances();
    const seen: (number | undefined)[] = [];
    const k = new Keeper(i.start, () => { seen.push(k.instance?.pid); });
    await k.open();
    await k.stop();
    expect(seen).toEqual([1, undefined]);
  });

  it('gives a failed first start to its caller', async () => {
    await expect(new Keeper(instances(() => true).start, () => undefined).open()).rejects.toThrow('start 1 fails');
  });
});
