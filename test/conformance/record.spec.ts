/** What stands in the store after real runs through all services: told by judges that read only events, checkpoints and contents, and seen to notice when a record is doctored. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectBus } from '@n17q/bus';
import { canonical, contentOf, sha256 } from '@n17q/contracts';
import { cutOf, fact, isUnresolved, runStream, tenantStream, type EventEnvelope, type Manifest, type RegistryDocument } from '@n17q/domain';
import { BusStore, PostgresEventStore, ServiceLog } from '@n17q/event-log';
import { createRun, geminiAccount, profilesOf, publishDocuments, OPERATOR_ROLES, FIRST_ALLOWANCE, until } from '@n17q/testing';
import { goalOf } from '../faults/kit/scripts.js';
import { ofType, openScene, type Scene } from '../faults/kit/scene.js';
import { foundIn, lacking, misattributed, SEALED_PARTS, unmarkedChanges, unobserved, unpinned, untellable } from './record-judges.js';

const THOUGHT = 'The user seems to want a ticket ZZQTHOUGHT';
/** Taken out of the registry between the two turns of a run. */
const WITHDRAWN = 'write_file';
const doctored = (log: readonly EventEnvelope[], type: EventEnvelope['type'], change: (d: Record<string, unknown>) => object): EventEnvelope[] => log.map((e) => (e.type === type ? ({ ...e, data: change(e.data as never) } as EventEnvelope) : e));

describe('what stands in the store', () => {
  let scene: Scene;
  let reads: PostgresEventStore;
  let log: readonly EventEnvelope[];
  let switched: readonly EventEnvelope[];
  let talked: { readonly run: string; readonly tag: string };
  let worked: { readonly run: string; readonly tag: string };
  let registry: Parameters<typeof unpinned>[1];

  beforeAll(async () => {
    scene = await openScene({
      scripts: {
        work: [{ thought: THOUGHT, calls: [{ tool: 'read_file', args: { path: 'README.md' } }, { tool: 'ticket_queryable', args: { project: '$TAG', title: '$TAG', body: 'b' } }] }, { text: 'done' }],
        talk: [{ text: 'hello' }, { text: 'hello again' }],
        held: [{ calls: [{ tool: 'ticket_queryable', args: { project: '$TAG', title: '$TAG', body: 'b' } }] }, { text: 'done' }],
      },
    });
    reads = await PostgresEventStore.open({ url: scene.stack.site.databases.reader });
    worked = await scene.start('work');
    log = await scene.ended(worked.run);
    const published = (await scene.stack.store.readEvents(scene.stack.tenant, tenantStream('registry'), 0, 10)).at(-1) as EventEnvelope;
    registry = { revision: published.revision, tools: (published.data as RegistryDocument).tools };
    const talk = await scene.start('talk', { whenDone: 'await-input' });
    await scene.stack.waitFor(talk.run, (es) => ofType(es, 'generation.accepted').length === 1 && es.at(-1)?.type === 'checkpoint.sealed', 'a first answer', 30_000);
    await publishDocuments(scene.stack.store, scene.stack.tenant, { profiles: profilesOf([geminiAccount('acct-b', scene.emulator.url, ['gemini-3-flash-preview'])]) });
    scene.emulator.removeAccount('acct-a');
    talked = talk;
    await publishDocuments(scene.stack.store, scene.stack.tenant, { registry: { tools: (published.data as RegistryDocument).tools.filter((t) => t.name !== WITHDRAWN) } });
    const more = contentOf('And now?', 'input');
    await scene.say(talk.run, [fact('input.received', { text: more.ref })], [more]);
    switched = await scene.stack.waitFor(talk.run, (es) => ofType(es, 'generation.accepted').length === 2, 'an answer of the other model', 30_000);
  }, 240_000);
  afterAll(async () => { await reads?.close(); await scene?.close(); }, 60_000);

  const textsNow = async (): Promise<string[]> => [...(await scene.stack.reader.texts(scene.stack.tenant)), ...(await scene.stack.reader.contents(scene.stack.tenant)).flatMap((c) => (c.body === null ? [] : [c.body.toString('utf8')]))];

  it('[RUN-5] keeps a model\'s thoughts nowhere in readable form, although the provider gets them back', async () => {
    expect(foundIn(scene.wire(worked.tag).map((w) => w.body), 'ZZQTHOUGHT')).toBeGreaterThan(0);
    expect(foundIn(await textsNow(), 'ZZQTHOUGHT')).toBe(0);
  }, 60_000);
  it('[saboteur RUN-5] a thought in a stored text is found, plain or encoded', async () => {
    const texts = await textsNow();
    expect(foundIn([...texts, `{"text":"${THOUGHT}"}`], 'ZZQTHOUGHT')).toBe(1);
    for (const before of ['', 'x', 'xy']) expect(foundIn([...texts, Buffer.from(`${before}${THOUGHT}, and more`).toString('base64')], 'ZZQTHOUGHT')).toBe(1);
  }, 60_000);

  it('[RUN-2] tells goal, outputs, results and end from the store alone, after the provider forgot the account', async () => {
    const contents = new Map((await scene.stack.reader.contents(scene.stack.tenant)).map((c) => [c.commitment, c.body?.toString('utf8') ?? '']));
    expect(untellable(log, contents)).toEqual([]);
    expect(untellable(switched, contents)).toEqual([]);
    expect(scene.emulator.ledger().entries.length).toBeGreaterThan(0);
  }, 60_000);
  it('[saboteur RUN-2] a record that lost an output or its beginning is noticed', () => {
    expect(untellable(log, new Map())).not.toEqual([]);
    expect(untellable(log.slice(1), new Map())).toContain('there is no beginning');
  });

  it('[TOOL-2] a run that goes on is offered what the registry has now, and its record keeps what was offered before', async () => {
    const offered = scene.wire(talked.tag).map((w) => (JSON.parse(w.body) as { tools?: { functionDeclarations: { name: string }[] }[] }).tools?.flatMap((t) => t.functionDeclarations.map((f) => f.name)) ?? []);
    expect(offered).toHaveLength(2);
    expect(offered[0]).toContain(WITHDRAWN);
    expect(offered[1]).toEqual(offered[0]?.filter((name) => name !== WITHDRAWN));
    expect(offered[1]?.length).toBeGreaterThan(3);
    const contents = new Map((await scene.stack.reader.contents(scene.stack.tenant)).map((c) => [c.commitment, c.body?.toString('utf8') ?? '']));
    const kept = ofType(switched, 'context.compiled').map((e) => (JSON.parse(contents.get(e.data.tools.commitment) ?? '[]') as { name: string }[]).map((t) => t.name));
    expect(kept).toEqual(offered);
  }, 60_000);

  it('[SEAL-1] seals all that a checkpoint holds, at every cut of the run', async () => {
    const seals = ofType(log, 'checkpoint.sealed');
    expect(seals.length).toBeGreaterThan(4);
    for (const s of seals) {
      const row = await reads.checkpointAt(scene.stack.tenant, runStream(worked.run), s.data.cut);
      const manifest = JSON.parse(row?.manifest ?? '{}') as Manifest;
      const bodies = await reads.sectionBodies(scene.stack.tenant, runStream(worked.run), s.data.cut);
      expect({ cut: s.data.cut, lacking: lacking(new Map(Object.entries(manifest.sections).map(([name, d]) => [name, bodies[d] ?? '']))) }).toEqual({ cut: s.data.cut, lacking: [] });
    }
  }, 60_000);
  it('[saboteur SEAL-1] a checkpoint without one of its parts is noticed, whichever it is', () => {
    for (const part of SEALED_PARTS) expect(lacking(new Map(SEALED_PARTS.filter((p) => p !== part).map((p) => [p, '{}'])))).toEqual([`there is no ${part}`]);
  });

  it('[TOOL-1] pins registry revision, mapping, server and schema in every request', () => {
    expect(ofType(log, 'effect.intended').length).toBe(2);
    expect(unpinned(log, registry)).toEqual([]);
  });
  it('[saboteur TOOL-1] a request under another registry or schema is noticed', () => {
    expect(unpinned(doctored(log, 'effect.intended', (d) => ({ ...d, mapping: { ...(d['mapping'] as object), registryRevision: 99 } })), registry).length).toBe(2);
    expect(unpinned(doctored(log, 'effect.intended', (d) => ({ ...d, mapping: { ...(d['mapping'] as object), schemaDigest: '0' } })), registry).length).toBe(2);
  });

  it('[CTX-7] puts every event under its owner, and takes none whose content claims another voice', async () => {
    expect(misattributed(log)).toEqual([]);
    const claim = (data: object) => scene.stack.store.append({ tenant: scene.stack.tenant, stream: runStream(worked.run), expected: log.length, appendId: randomUUID(), actor: { kind: 'person', id: 'operator' }, correlation: '', causation: null, events: [{ eventId: randomUUID(), ...data } as never], contents: [] });
    expect(await claim({ type: 'note.added', data: { text: ofType(log, 'run.created')[0]?.data.goal, visibility: 'run', speaks: 'platform' } })).toMatchObject({ kind: 'refused', code: 'MALFORMED' });
    expect(await claim({ type: 'run.resumed', data: { reason: 'I am the gate' } })).toMatchObject({ kind: 'refused', code: 'WRONG_OWNER' });
  }, 30_000);
  it('[saboteur CTX-7] an event under a stranger is noticed', () => {
    expect(misattributed(log.map((e) => (e.type === 'effect.permitted' ? { ...e, writer: 'effect-reconciler' } : e))).length).toBe(2);
  });

  it('[NAT-1] keeps the provider\'s own identities of every accepted output, with their provenance', () => {
    expect(unobserved(log)).toEqual([]);
    expect(unobserved(switched)).toEqual([]);
  });
  it('[saboteur NAT-1] an output whose observation is missing or says nothing is noticed', () => {
    expect(unobserved(log.filter((e) => e.type !== 'provider.observed')).length).toBe(2);
    expect(unobserved(doctored(log, 'provider.observed', (d) => ({ ...d, observation: {} }))).length).toBe(2);
  });

  it('[RES-3] marks the change of account and model with a transition that says from, to, why, from which checkpoint and with which context', () => {
    expect(ofType(switched, 'segment.started').map((s) => s.data.to.account)).toEqual(['acct-a', 'acct-b']);
    expect(ofType(switched, 'segment.started')[1]?.data.reason).toMatch(/acct-a .* no longer configured/u);
    expect(unmarkedChanges(switched)).toEqual([]);
    expect(new Set(switched.map((e) => e.stream)).size).toBe(1);
  });
  it('[saboteur RES-3] a change without its transition, or one that hides where it comes from, is noticed', () => {
    const second = ofType(switched, 'segment.started')[1]?.revision;
    expect(unmarkedChanges(switched.filter((e) => e.revision !== second))).not.toEqual([]);
    expect(unmarkedChanges(doctored(switched, 'segment.started', (d) => ({ ...d, from: null })))).not.toEqual([]);
    expect(unmarkedChanges(doctored(switched, 'segment.started', (d) => ({ ...d, reason: '' })))).not.toEqual([]);
  });

  it('[POL-4] permits nothing in a tenant whose policy cannot be loaded: no request leaves', async () => {
    const { store } = scene.stack;
    await publishDocuments(store, 'blank', { registry: { tools: registry.tools as RegistryDocument['tools'] }, roles: OPERATOR_ROLES, allowance: FIRST_ALLOWANCE, profiles: profilesOf([geminiAccount('acct-b', scene.emulator.url, ['gemini-3-flash-preview'])]) });
    const run = await createRun(store, 'blank', { goal: goalOf('talk', 'blank-tenant') });
    const denied = await until(async () => ofType(await store.readEvents('blank', runStream(run), 0, 100), 'generation.denied')[0], { withinMs: 20_000, what: 'the gate to deny' });
    expect(denied.data.code).toBe('POLICY_UNAVAILABLE');
    expect(scene.wire('blank-tenant')).toEqual([]);
  }, 60_000);

  it('[SEAL-5] refuses the sealer itself a checkpoint that leaves out an unresolved effect, and takes the whole one', async () => {
    scene.worlds.queryable.setMode({ reply: 'hold', query: false });
    const { run, tag } = await scene.start('held');
    await until(() => scene.tickets('queryable', tag).length === 1 || undefined, { withinMs: 20_000, what: 'the ticket to arrive' });
    await scene.stack.service('checkpoint-sealer').kill();
    await scene.stack.waitFor(run, (es) => es.at(-1)?.type === 'effect.outcome-unknown', 'the outcome to be unknown and unsealed', 30_000);
    const bus = await connectBus({ service: 'checkpoint-sealer', url: scene.stack.site.natsUrl, password: scene.stack.site.busPasswords['checkpoint-sealer'] });
    try {
      const sealer = new ServiceLog(new BusStore(bus, 'checkpoint-sealer'), null);
      const s = await sealer.state(scene.stack.tenant, run);
      expect(Object.values(s.effects).some(isUnresolved)).toBe(true);
      const seal = (of: typeof s) => { const manifest = canonical(cutOf(of, canonical, sha256).manifest); const checkpoint = randomUUID(); return sealer.append(s, { facts: [fact('checkpoint.sealed', { checkpoint, version: 1, cut: s.revision, boundaries: s.boundary, manifest: sha256(manifest), previous: s.checkpoint?.checkpoint ?? null })], checkpoint: { checkpoint, manifest } }); };
      expect(await seal({ ...s, effects: {} })).toMatchObject({ kind: 'refused', code: 'CHECKPOINT_OMITS_EFFECT' });
      expect((await sealer.state(scene.stack.tenant, run)).revision).toBe(s.revision);
      expect(await seal(s)).toMatchObject({ kind: 'appended' });
    } finally {
      await bus.close(500);
      scene.worlds.queryable.release();
      scene.worlds.queryable.setMode({ reply: 'normal', query: true });
      await scene.stack.service('checkpoint-sealer').restart();
    }
    await scene.ended(run, 60_000);
    expect(scene.tickets('queryable', tag).length).toBe(1);
  }, 120_000);
});
