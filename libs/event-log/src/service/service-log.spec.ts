import { beforeEach, describe, expect, it } from '@jest/globals';
import { contentOf, type AppendRequest } from '@n17q/contracts';
import { fact, runStream, type Fact, type ServiceName } from '@n17q/domain';
import { draft, newRun, openEffect, scopeNamed } from '../conformance/draft.js';
import { GuardedStore } from '../guard/guarded-store.js';
import { MemoryEventStore } from '../memory/store.js';
import { Contended, decideAgain, DECISIONS_MAX } from './decide-again.js';
import { ContentGone, ServiceLog, type StoreAccess } from './service-log.js';

const now = 1_800_000_000_000;
let memory: MemoryEventStore;
let guard: GuardedStore;
let requests: AppendRequest[];
const access = (service: ServiceName, over: Partial<StoreAccess> = {}): StoreAccess => ({
  service, append: (r) => { requests.push(r); return guard.append(r, service, 1000); }, loadRun: (t, s, a) => memory.loadRun(t, s, a), decisionView: (q) => memory.decisionView(q), readEvents: (t, s, after, limit) => memory.readEvents(t, s, after, limit), contents: (t, c) => memory.contents(t, c, { reader: service }), ...over,
});
const log = (over: Partial<StoreAccess> = {}): ServiceLog => new ServiceLog(access('api', over), null, { clock: () => now, pause: () => Promise.resolve() });
const step = (s: string) => ({ facts: [fact('plan.changed', { steps: [s] })] });

beforeEach(async () => {
  memory = new MemoryEventStore(() => now);
  guard = new GuardedStore(memory, { clock: { now: () => now } });
  requests = [];
  const l = log();
  const goal = contentOf('goal', 'input');
  await l.append(await l.state('acme', 'r1'), { facts: [fact('run.created', { goal: goal.ref, title: 't', retention: 'standard', world: { kind: 'real' }, budget: { usd_micros: 0, tokens: 0, calls: 0 }, constraints: [], tools: [], workspace: null, whenDone: 'end', changePolicy: 'allow', onBehalfOf: null, wallMs: null })], contents: [goal] });
  requests = [];
});

describe('a service\'s view of the log', () => {
  it('[RUN-4] makes the same append of the same decision on the same state, so that a repeat is a replay', async () => {
    const l = log();
    const s = await l.state('acme', 'r1');
    const first = await l.append(s, step('one'));
    const again = await l.append(s, step('one'));
    expect(again).toEqual({ ...first, fresh: false });
    expect(requests[0]?.appendId).toBe(requests[1]?.appendId);
    await l.append(s, step('two'));
    expect(requests[2]?.appendId).not.toBe(requests[0]?.appendId);
  });
  it('[RUN-1] makes two appends of one decision that brings other contents: the slower one loses as usual', async () => {
    const s = await log().state('acme', 'r1');
    const one = () => log().append(s, { ...step('same'), contents: [contentOf('evidence', 'evidence')] });
    expect([(await one()).kind, (await one()).kind]).toEqual(['appended', 'conflict']);
  });
  it('[RUN-1] decides again when somebody was faster, on what is there then', async () => {
    const l = log();
    const seen: number[] = [];
    const done = await decideAgain(l, () => l.state('acme', 'r1'), (s) => s, async (s) => {
      seen.push(s.revision);
      if (seen.length === 1) { const other = log(); await other.append(await other.state('acme', 'r1'), step('faster')); }
      return step('mine');
    });
    expect(seen).toEqual([1, 2]);
    expect(done).toMatchObject({ kind: 'appended', outcome: { first: 3 } });
    expect((await l.state('acme', 'r1')).plan).toEqual(['mine']);
  });
  it('[RUN-1] gives up by name when others are always faster, and has done nothing', async () => {
    const l = log({ append: () => Promise.resolve({ kind: 'conflict', revision: 9 }) });
    let tries = 0;
    const e = await decideAgain(l, () => l.state('acme', 'r1'), (s) => s, () => { tries += 1; return step('x'); }).catch((x: unknown) => x);
    expect(e).toBeInstanceOf(Contended);
    expect(tries).toBe(DECISIONS_MAX);
    expect(memory.held.lane).toHaveLength(1);
  });
  it('[RUN-4] sees in its own memory only what is old, never what is wrong', async () => {
    const a = log();
    const b = log();
    await a.state('acme', 'r1');
    await b.append(await b.state('acme', 'r1'), step('one'));
    await b.append(await b.state('acme', 'r1'), step('two'));
    expect(await a.state('acme', 'r1')).toEqual(await log().state('acme', 'r1'));
  });
  it('[SEAL-8, RET-4] reads no content whose bytes are not what was committed to', async () => {
    const held = memory.held.tenants.get('acme')?.contents;
    const [commitment, c] = [...(held ?? [])][0] ?? [];
    if (held === undefined || commitment === undefined || c === undefined) throw new Error('no content');
    const ref = { commitment, bytes: c.bytes, class: c.class, media: c.media };
    expect(await log().texts('acme', [ref])).toEqual(new Map([[commitment, 'goal']]));
    held.set(commitment, { ...c, body: Buffer.from('goaL') });
    await expect(log().texts('acme', [ref])).rejects.toMatchObject({ commitment, why: 'altered' });
    held.delete(commitment);
    await expect(log().texts('acme', [ref])).rejects.toBeInstanceOf(ContentGone);
  });
  it('[EFF-6] shows what is unresolved elsewhere on the targets of intents that only the last page of a long run holds', async () => {
    const elsewhere = { ...openEffect('e-1', 'mail'), stage: 'unknown' as const };
    await memory.append(await draft(memory, 'acme', newRun(), { openEffects: { upsert: [elsewhere], remove: [] } }));
    const stream = runStream('r1');
    const large = fact('plan.changed', { steps: Array.from({ length: 100 }, () => 'x'.repeat(4000)) });
    const intended = { type: 'effect.intended', data: { effect: 'e-2', scope: scopeNamed('mail') } } as unknown as Fact;
    for (const f of [large, large, intended]) await memory.append(await draft(memory, 'acme', stream, { facts: [f] }));
    const queries: unknown[] = [];
    const v = await log({ decisionView: (q) => { queries.push(q.targets); return memory.decisionView(q); } }).view('acme', 'r1');
    expect(queries.length).toBeGreaterThan(1); // the run did not fit into one page
    expect(Object.keys(v.state.effects)).toEqual(['e-2']);
    expect(v.open.map((o) => o.effect)).toEqual(['e-1']);
  });
});
