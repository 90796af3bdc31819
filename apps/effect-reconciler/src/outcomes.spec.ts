import { beforeEach, describe, expect, it } from '@jest/globals';
import { contentOf, type AppendRequest } from '@n17q/contracts';
import { fact, type Fact, type RunState } from '@n17q/domain';
import { GuardedStore, MemoryEventStore, ServiceLog, type StoreAccess } from '@n17q/event-log';
import { JOINED_BYTES_MAX, JOINED_MAX, OutcomeLog, type ReadyOutcome } from './outcomes.js';

const now = 1_800_000_000_000;
const WRITER = 'api'; // plans stand for outcomes: what is joined does not matter here
let memory: MemoryEventStore;
let requests: AppendRequest[];
let log: ServiceLog;
let troubles: string[];
let outcomes: OutcomeLog;

beforeEach(async () => {
  memory = new MemoryEventStore(() => now);
  const guard = new GuardedStore(memory, { clock: { now: () => now } });
  requests = [];
  const access: StoreAccess = {
    service: WRITER, append: async (r) => { requests.push(r); return guard.append(r, WRITER, 1000); }, loadRun: (t, s, a) => memory.loadRun(t, s, a), decisionView: (q) => memory.decisionView(q),
    readEvents: (t, s, after, limit) => memory.readEvents(t, s, after, limit), contents: (t, c) => memory.contents(t, c, { reader: WRITER }),
  };
  log = new ServiceLog(access, null, { clock: () => now, pause: () => Promise.resolve() });
  troubles = [];
  outcomes = new OutcomeLog({ log, onTrouble: (what) => troubles.push(what) });
  const goal = contentOf('goal', 'input');
  for (const run of ['r1', 'r2']) await log.append(await log.state('acme', run), { facts: [fact('run.created', { goal: goal.ref, title: 't', retention: 'standard', world: { kind: 'real' }, budget: { usd_micros: 0, tokens: 0, calls: 0 }, constraints: [], tools: [], workspace: null, whenDone: 'end', changePolicy: 'allow', onBehalfOf: null, wallMs: null })], contents: [goal] });
  requests = [];
});

/** Adds its name to the plan that it finds; nothing where it stands already. */
const outcome = (name: string, over: Partial<ReadyOutcome> = {}): ReadyOutcome => ({ attempt: name, contents: [], facts: (s: RunState): Fact[] => (s.plan.includes(name) ? [] : [fact('plan.changed', { steps: [...s.plan, name] })]), ...over });
const planOf = async (run: string): Promise<readonly string[]> => (await log.state('acme', run)).plan;
const names = (n: number): string[] => Array.from({ length: n }, (_, i) => `a${i}`);

describe('outcomes that are ready together', () => {
  it('[EFF-3] travel in one append behind the one that is under way, each on the state that those before it leave', async () => {
    await Promise.all(names(8).map((n) => outcomes.record('acme', 'r1', outcome(n))));
    expect(requests.map((r) => r.events.length)).toEqual([1, 7]);
    expect(await planOf('r1')).toEqual(names(8));
  });
  it('[EFF-3] go to their own run, and are alone when nothing else is ready', async () => {
    await Promise.all([outcomes.record('acme', 'r1', outcome('x')), outcomes.record('acme', 'r2', outcome('y'))]);
    await outcomes.record('acme', 'r1', outcome('z'));
    expect(requests.map((r) => [r.stream, r.events.length])).toEqual([['run/r1', 1], ['run/r2', 1], ['run/r1', 1]]);
    expect([await planOf('r1'), await planOf('r2')]).toEqual([['x', 'z'], ['y']]);
  });
  it('[EFF-3] are offered alone when the store refuses them together, so that none is lost for another', async () => {
    const wrong = outcome('wrong', { facts: () => [fact('run.paused', { code: 'ASKED', reason: 'not the writer\'s' })] });
    const broken = outcome('broken', { facts: () => { throw new TypeError('a defect'); } });
    const all = await Promise.allSettled([outcome('a'), outcome('b'), wrong, outcome('c'), broken, outcome('d')].map((o) => outcomes.record('acme', 'r1', o)));
    expect(all.map((x) => x.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled']);
    expect(String((all[2] as PromiseRejectedResult).reason)).toContain('WRONG_OWNER');
    expect(await planOf('r1')).toEqual(['a', 'b', 'c', 'd']);
    await outcomes.record('acme', 'r1', outcome('e'));
    expect((await planOf('r1')).at(-1)).toBe('e');
  });
  it('[EFF-3] bring contents only with what is said of them, as much as an append holds', async () => {
    const body = contentOf('x'.repeat(60 * 1024), 'tool-result');
    const large = names(9).map((n) => outcome(n, { contents: [contentOf(`${n}${'x'.repeat(60 * 1024)}`, 'tool-result')] }));
    await Promise.all([...large.map((o) => outcomes.record('acme', 'r1', o)), outcomes.record('acme', 'r1', outcome('a0', { contents: [body] }))]);
    for (const r of requests) expect(r.contents.reduce((n, c) => n + c.ref.bytes, 0)).toBeLessThanOrEqual(JOINED_BYTES_MAX);
    expect(requests.flatMap((r) => r.contents)).toHaveLength(9);
    expect(await planOf('r1')).toEqual(names(9));
    requests = [];
    await Promise.all(names(20).map((n) => outcomes.record('acme', 'r2', outcome(n))));
    expect(requests.map((r) => r.events.length)).toEqual([1, JOINED_MAX, JOINED_MAX, 3]);
    expect(troubles).toEqual([]);
  });
});
