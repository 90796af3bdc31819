import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { APPEND_BYTES_MAX, canonical, contentOf, EVENT_SCHEMAS, sha256, type AppendRequest, type ContentUpload } from '@n17q/contracts';
import { cutOf, EVENT_TABLE, EVENT_TYPES, fact, type Fact, type ServiceName, type StreamId } from '@n17q/domain';
import { MemoryEventStore } from '../memory/store.js';
import { PAGE_BYTES_MAX } from '../store-port.js';
import { GuardedStore } from './guarded-store.js';

const RICH = { usd_micros: 1_000_000, tokens: 1_000_000, calls: 100 };
let now = 1_800_000_000_000;
let memory: MemoryEventStore;
let guard: GuardedStore;
beforeEach(() => { memory = new MemoryEventStore(() => now); guard = new GuardedStore(memory, { clock: { now: () => now } }); });

const goal = contentOf('the goal', 'input');
const created = (over: object = {}): Fact => fact('run.created', { goal: goal.ref, title: 't', retention: 'standard', world: { kind: 'real' }, budget: RICH, constraints: [], tools: [], workspace: null, whenDone: 'end', changePolicy: 'allow', onBehalfOf: null, wallMs: null, ...over });
const wire = (c: ContentUpload) => ({ ref: c.ref, salt: Buffer.from(c.salt).toString('base64'), body: Buffer.from(c.body).toString('base64') });
const request = (facts: readonly Fact[], over: Partial<AppendRequest> = {}): AppendRequest => ({
  tenant: 'acme', stream: 'run/r1' as StreamId, expected: 0, appendId: randomUUID(), actor: { kind: 'person', id: 'p' }, correlation: 'c', causation: null, events: facts.map((f) => ({ ...f, eventId: randomUUID() })), contents: [wire(goal)], ...over,
});
const append = (r: unknown, writer: ServiceName = 'api', bytes = 1000) => guard.append(r, writer, bytes);
const begin = async (): Promise<void> => { expect(await append(request([created()]))).toMatchObject({ kind: 'appended', fresh: true }); };
const nothingStays = async (): Promise<void> => { expect(memory.held.lane).toHaveLength(0); expect(memory.held.tenants.get('acme')?.contents.size ?? 0).toBe(0); };

describe('the guarded store', () => {
  it('[RUN-1] knows a shape for every type of event, and an owner', () => {
    expect(Object.keys(EVENT_SCHEMAS).sort()).toEqual([...EVENT_TYPES].sort());
    for (const t of EVENT_TYPES) expect(EVENT_TABLE[t].writer).not.toBe('');
  });
  it('[CTX-7] takes who speaks from the writer: people through the api, the model through the gateway, tools by their answers', () => {
    for (const t of EVENT_TYPES) {
      const { speaks, writer } = EVENT_TABLE[t];
      if (speaks === 'person') expect(writer).toBe('api');
      if (speaks === 'model') expect([t, writer]).toEqual(['generation.accepted', 'provider-gateway']);
      if (['checkpoint-sealer', 'context-compiler', 'policy-gate'].includes(writer)) expect(speaks).toBe('platform');
    }
  });

  const bad: { readonly [what: string]: readonly [code: string, r: () => unknown, writer?: ServiceName, bytes?: number] } = {
    'no object': ['MALFORMED', () => 'append'],
    'a field too many': ['MALFORMED', () => ({ ...request([created()]), extra: 1 })],
    'a field too many inside an event': ['MALFORMED', () => request([created({ thoughtSignature: 'x' })])],
    'an unknown type': ['UNKNOWN_TYPE', () => request([{ type: 'run.exploded', data: {} } as unknown as Fact])],
    'a name of Object.prototype as type': ['UNKNOWN_TYPE', () => request([{ type: 'constructor', data: {} } as unknown as Fact])],
    'another schema version': ['WRONG_VERSION', () => { const r = request([created()]); return { ...r, events: r.events.map((e) => ({ ...e, schemaVersion: 2 })) }; }],
    'another owner': ['WRONG_OWNER', () => request([created()]), 'policy-gate'],
    'a tenant event in a run': ['WRONG_STREAM', () => request([fact('roles.published', { people: [], delegations: [] })])],
    'a run event in a tenant stream': ['WRONG_STREAM', () => request([created()], { stream: 'tenant/policy' as StreamId })],
    'more bytes than an append may have': ['TOO_LARGE', () => request([created()]), 'api', APPEND_BYTES_MAX + 1],
    'content that is not what its reference commits to': ['CONTENT_ALTERED', () => request([created()], { contents: [{ ...wire(goal), body: Buffer.from('the goaL').toString('base64') }] })],
    'content that comes as one class and is named as another': ['CONTENT_ALTERED', () => request([created({ goal: { ...goal.ref, class: 'evidence' } })])],
    'a grant that no balance holds exactly': ['BALANCE_TOO_LARGE', () => request([1, 2].map(() => fact('allowance.granted', { amounts: { usd_micros: 0, tokens: Number.MAX_SAFE_INTEGER, calls: 0 }, reason: '' })), { stream: 'tenant/budget' as StreamId, contents: [] })],
    'a tool whose absence would be final before its call has timed out': ['MALFORMED', () => request([fact('registry.published', { tools: [{ name: 't', description: '', server: 's', schema: {}, schemaDigest: sha256('s'), mappingRevision: 1, contract: { kind: 'queryable', query: { absenceFinalAfterMs: 999 } }, scopeFields: [], target: 'x', connector: { kind: 'http', config: {} }, timeoutMs: 1000, argumentBytesMax: 1000, outputBytesMax: 1000, dataClass: 'internal', costUsdMicros: 0 }] })], { stream: 'tenant/registry' as StreamId, contents: [] })],
    'a tool with a target that no scope can hold': ['MALFORMED', () => request([fact('registry.published', { tools: [{ name: 't', description: '', server: 's', schema: {}, schemaDigest: sha256('s'), mappingRevision: 1, contract: { kind: 'neither' }, scopeFields: [], target: 'x\u0000', connector: { kind: 'http', config: {} }, timeoutMs: 1000, argumentBytesMax: 1000, outputBytesMax: 1000, dataClass: 'internal', costUsdMicros: 0 }] })], { stream: 'tenant/registry' as StreamId, contents: [] })],
    'two limits of one length': ['MALFORMED', () => request([fact('allowance.limited', { limits: [1, 2].map((calls) => ({ everyMs: 60_000, amounts: { usd_micros: 0, tokens: 0, calls } })), reason: '' })], { stream: 'tenant/budget' as StreamId, contents: [] })],
    'content that is nowhere': ['CONTENT_MISSING', () => request([created()], { contents: [] })],
    'a continuation from anybody but the gateway': ['CARRIER_FIELD', () => request([created()], { contents: [wire(goal), wire(contentOf('x', 'continuation'))] })],
    'a reference to a continuation': ['CARRIER_FIELD', () => request([created({ goal: contentOf('x', 'continuation').ref })])],
    'a trace that no message can carry': ['MALFORMED', () => request([created()], { trace: { traceparent: '00-a\n-b-01' } })],
    'a state of a trace that no message can carry': ['MALFORMED', () => request([created()], { trace: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=b\r\nx: y' } })],
    'an event before the run exists': ['ILLEGAL', () => request([fact('input.received', { text: goal.ref })])],
    'a seal without its checkpoint': ['ILLEGAL', () => request([fact('checkpoint.sealed', { checkpoint: 'c', version: 1, cut: 0, boundaries: [], manifest: sha256('m'), previous: null })], { contents: [] }), 'checkpoint-sealer'],
  };
  for (const [what, [code, make, writer, bytes]] of Object.entries(bad)) {
    it(`[RUN-1${code === 'CARRIER_FIELD' ? ', CON-3' : ''}${what.includes('absence') ? ', EFF-5' : ''}] refuses ${what}, says so, and keeps nothing of it`, async () => {
      expect(await append(make(), writer, bytes)).toMatchObject({ kind: 'refused', code, message: expect.stringMatching(/.{10}/) });
      await nothingStays();
    });
  }

  it('[RUN-1, RUN-4] gives a repeat its first answer, although its events are more than one page of reading', async () => {
    await begin();
    const steps = Array.from({ length: 47 }, () => 'x'.repeat(3900));
    const large = request([1, 2, 3, 4].map((n) => fact('plan.changed', { steps: [String(n), ...steps] })), { expected: 1, contents: [] });
    const bytes = Buffer.byteLength(JSON.stringify(large));
    expect(bytes).toBeGreaterThan(PAGE_BYTES_MAX);
    expect(bytes).toBeLessThan(APPEND_BYTES_MAX);
    const answer = await append(large, 'api', bytes);
    expect(answer).toMatchObject({ kind: 'appended', fresh: true, last: 5 });
    expect(await append(large, 'api', bytes)).toEqual({ ...answer, fresh: false });
    const other = { ...large, events: large.events.map((e, i) => (i === 3 ? { ...e, data: { steps: ['other'] } } : e)) };
    expect(await append(other, 'api', bytes)).toMatchObject({ kind: 'refused', code: 'ID_REUSED' });
  });
  it('[BUD-5] hands a tenant\'s limits per window to the store, the last ones of an append', async () => {
    const limits = (...calls: number[]): Fact => fact('allowance.limited', { limits: calls.map((n, at) => ({ everyMs: 3_600_000 * (at + 1), amounts: { ...RICH, calls: n } })), reason: '' });
    const put = async (facts: readonly Fact[], expected: number): Promise<void> => { expect(await append(request(facts, { stream: 'tenant/budget' as StreamId, contents: [], expected }))).toMatchObject({ kind: 'appended' }); };
    const calls = async (): Promise<unknown> => { const v = await memory.decisionView({ tenant: 'acme', stream: 'run/r1' as StreamId, targets: [] }); return [v.account.calls, v.held.calls, v.limits.length, v.windowEndsAt]; };
    await put([fact('allowance.granted', { amounts: RICH, reason: '' }), limits(1), limits(50, 7)], 0);
    expect(await calls()).toEqual([7, 100, 2, (Math.floor(now / 3_600_000) + 1) * 3_600_000]);
    await put([fact('allowance.granted', { amounts: RICH, reason: '' })], 3);
    expect(await calls()).toEqual([7, 200, 2, expect.any(Number)]);
    await put([limits()], 4);
    expect(await calls()).toEqual([200, 200, 0, null]);
  });
  it('[RUN-1] gives a repeat its first answer, also when the run went on, and refuses the same id with other bytes', async () => {
    const first = request([created()]);
    const answer = await append(first);
    expect(await append(first)).toEqual({ ...answer, fresh: false });
    await append(request([fact('plan.changed', { steps: ['one'] })], { expected: 1, contents: [] }));
    expect(await append(first)).toEqual({ ...answer, fresh: false });
    expect(await append({ ...request([created({ title: 'other' })]), appendId: first.appendId })).toMatchObject({ kind: 'refused', code: 'ID_REUSED' });
    expect(await append({ ...first, appendId: first.appendId.toUpperCase() })).toMatchObject({ kind: 'refused', code: 'MALFORMED', message: expect.stringContaining('lower case') }); // stored as bytes, it would be the same id
    expect(memory.held.lane).toHaveLength(2);
  });
  it('[RUN-1] lets one of two writers of one revision append', async () => {
    await begin();
    const two = await Promise.all(['a', 'b'].map((step) => append(request([fact('plan.changed', { steps: [step] })], { expected: 1, contents: [] }))));
    expect(two.map((o) => o.kind).sort()).toEqual(['appended', 'conflict']);
  });
  it('[RUN-1] answers for a revision that the run has not reached with a conflict', async () => {
    await begin();
    expect(await append(request([fact('plan.changed', { steps: [] })], { expected: 7, contents: [] }))).toEqual({ kind: 'conflict', revision: 1 });
  });
  it('[SEAL-2] takes event and checkpoint in one append, and stores the sections that its own fold gives', async () => {
    await begin();
    const state = await guard.state('acme', 'run/r1' as StreamId);
    const manifest = canonical(cutOf(state, canonical, sha256).manifest);
    const seal = fact('checkpoint.sealed', { checkpoint: 'cp', version: 1, cut: 1, boundaries: ['run-state'], manifest: sha256(manifest), previous: null });
    expect(await append(request([seal], { expected: 1, contents: [] }), 'checkpoint-sealer')).toMatchObject({ kind: 'refused', code: 'CHECKPOINT_WRONG' });
    expect(await append(request([seal], { expected: 1, contents: [], checkpoint: { checkpoint: 'cp', manifest } }), 'checkpoint-sealer')).toMatchObject({ kind: 'appended' });
    const stored = await memory.checkpointAt('acme', 'run/r1' as StreamId, 1);
    expect(stored?.manifest).toBe(manifest);
    const { sections } = JSON.parse(manifest) as { sections: { [name: string]: string } };
    const bodies = await memory.sectionBodies('acme', 'run/r1' as StreamId, 1);
    for (const d of Object.values(sections)) expect(sha256(bodies[d] ?? '')).toBe(d);
  });
  it('[SEAL-5, SEAL-8] refuses a manifest that differs from its own fold, and names what differs', async () => {
    await begin();
    const state = await guard.state('acme', 'run/r1' as StreamId);
    const { manifest } = cutOf({ ...state, plan: ['something else'] }, canonical, sha256);
    const text = canonical(manifest);
    const o = await append(request([fact('checkpoint.sealed', { checkpoint: 'cp', version: 1, cut: 1, boundaries: ['run-state'], manifest: sha256(text), previous: null })], { expected: 1, contents: [], checkpoint: { checkpoint: 'cp', manifest: text } }), 'checkpoint-sealer');
    expect(o).toMatchObject({ kind: 'refused', code: 'CHECKPOINT_WRONG', facts: { differs: ['section plan'] } });
  });
  it('[RUN-4] judges the same with an empty memory as with what it remembers', async () => {
    await begin();
    for (let i = 0; i < 5; i++) {
      const fresh = new GuardedStore(memory, { clock: { now: () => now } });
      expect(await (i % 2 === 0 ? fresh : guard).append(request([fact('plan.changed', { steps: [`${i}`] })], { expected: 1 + i, contents: [] }), 'api', 100)).toMatchObject({ kind: 'appended', first: 2 + i });
    }
    expect(await guard.state('acme', 'run/r1' as StreamId)).toEqual(await new GuardedStore(memory, { clock: { now: () => now } }).state('acme', 'run/r1' as StreamId));
  });
  it('[RET-4] lets a metadata-only run\'s content go when it ends, not what names it', async () => {
    await append(request([created({ retention: 'metadata-only' })]));
    await append(request([fact('run.end-requested', { reason: '' })], { expected: 1, contents: [] }));
    await append(request([fact('run.ended', { how: 'by-person', withUnknowns: false, by: { kind: 'person', id: 'p' }, reason: '', returned: { usd_micros: 0, tokens: 0, calls: 0 } })], { expected: 2, contents: [] }), 'policy-gate');
    expect(memory.held.tenants.get('acme')?.contents.get(goal.ref.commitment)).toMatchObject({ state: 'erased', body: null, salt: null });
    now += 1;
    const state = await guard.state('acme', 'run/r1' as StreamId);
    const manifest = canonical(cutOf(state, canonical, sha256).manifest);
    const seal = fact('checkpoint.sealed', { checkpoint: 'cp', version: 1, cut: 3, boundaries: state.boundary, manifest: sha256(manifest), previous: null });
    expect(await append(request([seal], { expected: 3, contents: [], checkpoint: { checkpoint: 'cp', manifest } }), 'checkpoint-sealer')).toMatchObject({ kind: 'appended' });
  });
});
