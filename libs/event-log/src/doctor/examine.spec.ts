import { describe, expect, it } from '@jest/globals';
import { canonical, contentOf, sha256, type AppendOutcome, type ContentUpload } from '@n17q/contracts';
import { cutOf, fact, type EventEnvelope, type Fact, type ServiceName, type StreamId } from '@n17q/domain';
import { GuardedStore } from '../guard/guarded-store.js';
import { MemoryEventStore } from '../memory/store.js';
import type { EventStoreReads } from '../store-port.js';
import { examine } from './examine.js';

const tenant = 'acme';
const stream = 'run/r1' as StreamId;
let serial = 0;
const uuid = (): string => `00000000-0000-4000-8000-${String(++serial).padStart(12, '0')}`;

async function sealedRun(): Promise<MemoryEventStore> {
  let now = 1_700_000_000_000;
  const store = new MemoryEventStore(() => now++);
  const guarded = new GuardedStore(store, { clock: { now: () => now } });
  const append = async (writer: ServiceName, expected: number, facts: readonly Fact[], contents: readonly ContentUpload[], more: object = {}): Promise<AppendOutcome> => {
    const o = await guarded.append({
      tenant, stream, expected, appendId: uuid(), actor: { kind: 'person', id: 'ann' }, correlation: 'r1', causation: null, events: facts.map((f) => ({ ...f, eventId: uuid() })),
      contents: contents.map((c) => ({ ref: c.ref, salt: Buffer.from(c.salt).toString('base64'), body: Buffer.from(c.body).toString('base64') })), ...more,
    }, writer, 1000);
    if (o.kind !== 'appended') throw new Error(JSON.stringify(o));
    return o;
  };
  const goal = contentOf('mend it', 'input');
  await append('api', 0, [fact('run.created', { goal: goal.ref, title: 'mend', retention: 'standard', world: { kind: 'real' }, budget: { usd_micros: 1000, tokens: 1000, calls: 10 }, constraints: [], tools: [], workspace: null, whenDone: 'end', changePolicy: 'allow', onBehalfOf: null, wallMs: null })], [goal]);
  const s = await guarded.state(tenant, stream);
  const manifest = canonical(cutOf(s, canonical, sha256).manifest);
  await append('checkpoint-sealer', 1, [fact('checkpoint.sealed', { checkpoint: 'c1', version: 1, cut: 1, boundaries: s.boundary, manifest: sha256(manifest), previous: null })], [], { checkpoint: { checkpoint: 'c1', manifest } });
  return store;
}

const doctored = (store: MemoryEventStore, change: Partial<EventStoreReads>): EventStoreReads =>
  new Proxy(store, { get: (t, k) => (k in change ? change[k as keyof EventStoreReads] : typeof t[k as keyof MemoryEventStore] === 'function' ? (t[k as keyof MemoryEventStore] as (...a: unknown[]) => unknown).bind(t) : t[k as keyof MemoryEventStore]) }) as unknown as EventStoreReads;
const wrong = async (store: EventStoreReads): Promise<readonly string[]> => (await examine(store, tenant)).findings.filter((f) => f.wrong).map((f) => f.check);

describe('the doctor', () => {
  it('[SVC-5] finds nothing wrong with a store that holds together, and says what it looked at', async () => {
    const e = await examine(await sealedRun(), tenant);
    expect(e.findings.filter((f) => f.wrong)).toEqual([]);
    expect(e).toMatchObject({ streams: 1, events: 2, checkpoints: 1, contents: 1 });
  });

  it('[saboteur SVC-5] names an event whose data was changed', async () => {
    const store = await sealedRun();
    const readEvents: EventStoreReads['readEvents'] = async (...a) => (await store.readEvents(...a)).map((e) => (e.type === 'run.created' ? ({ ...e, data: { ...e.data, title: 'other' } } as EventEnvelope) : e));
    expect(await wrong(doctored(store, { readEvents }))).toContain('chain');
  });

  it('[saboteur SVC-5] names a missing event, a moved head and a broken link', async () => {
    const store = await sealedRun();
    const readEvents: EventStoreReads['readEvents'] = async (t, s, after, limit) => (await store.readEvents(t, s, after, limit)).filter((e) => e.revision !== 1);
    expect(await wrong(doctored(store, { readEvents }))).toEqual(expect.arrayContaining(['revision', 'chain']));
    const head: EventStoreReads['head'] = async (t, s) => ({ ...(await store.head(t, s)), revision: 9 });
    expect(await wrong(doctored(store, { head }))).toContain('head');
  });

  it('[saboteur SVC-5] names a checkpoint without its manifest, and an altered section by its name', async () => {
    const store = await sealedRun();
    expect(await wrong(doctored(store, { checkpointAt: async () => null }))).toContain('checkpoint');
    const sectionBodies: EventStoreReads['sectionBodies'] = async (t, run, cut) => Object.fromEntries(Object.entries(await store.sectionBodies(t, run, cut)).map(([d, b], i) => [d, i === 0 ? `${b} ` : b]));
    const found = (await examine(doctored(store, { sectionBodies }), tenant)).findings.filter((f) => f.check === 'section');
    expect(found.map((f) => f.words).join()).toMatch(/section \w+ of checkpoint c1 is altered/);
  });

  it('[saboteur SVC-5] names needs and unresolved effects that the log does not give, and altered content', async () => {
    const store = await sealedRun();
    expect(await wrong(doctored(store, { needsOf: async () => [] }))).toContain('needs');
    expect(await wrong(doctored(store, { openEffects: async () => [{ effect: 'e', tool: 't', scope: { target: 'k', fields: {} }, kind: 'neither', stage: 'unknown', generation: 'g', stream }] }))).toContain('open-effects');
    const contents: EventStoreReads['contents'] = async (t, c, by) => (await store.contents(t, c, by)).map((x) => ({ ...x, body: Buffer.from('other') }));
    expect(await wrong(doctored(store, { contents }))).toContain('content');
  });
});
