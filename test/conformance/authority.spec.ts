/** What people ask for and take back, on a whole stack: who may go on, with how much, for whom, on which sources, after which look, and when. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { FolderArtifactStore } from '@n17q/artifacts';
import { N17qClient } from '@n17q/client';
import { plus, type EventEnvelope, type PolicyDocument, type RolesDocument, type RunId, type ToolMapping } from '@n17q/domain';
import { ALLOW_ALL } from '@n17q/rules';
import { OPERATOR_ROLES, publishDocuments, until } from '@n17q/testing';
import { policyWith } from '../faults/kit/policies.js';
import { isOver, ofType, openScene, SCENE_POLICY, SERVICES, settledAfter, type Scene, type Started } from '../faults/kit/scene.js';
import { goalOf, type Scripts } from '../faults/kit/scripts.js';
import { CALLS, CLASSES, ticket, toolsFor, WORLD_CLASSES } from '../faults/kit/tools.js';
import { doctorVerdict, verdict } from '../faults/kit/verdict.js';

const READ = CALLS['read-only'];
const SCRIPTS: Scripts = {
  reads: [{ calls: [READ] }, { text: 'done' }],
  'cut-then-reads': [{ calls: [READ], fault: { kind: 'cut', afterBytes: 30, how: 'reset', times: 1 } }, { text: 'done' }],
  keyed: [{ calls: [ticket('keyed')] }, { text: 'done' }],
  files: [{ calls: [ticket('neither')] }, { text: 'done' }],
  asks: [{ calls: [ticket('queryable')] }, { calls: [ticket('queryable', 'again')] }, { text: 'done' }],
  rests: [{ calls: [READ] }, { calls: [ticket('keyed')] }, { calls: [READ] }, { calls: [ticket('keyed')] }, { text: 'done' }],
  both: [{ calls: [ticket('queryable'), ticket('neither')] }, { text: 'done' }],
  limited: [{ text: 'done', fault: { kind: 'status', status: 429, retryAfter: '8', times: 1 } }],
};
const AMPLE = { usd_micros: 100_000_000, tokens: 50_000_000, calls: 500 };

describe('authority over a run', () => {
  let scene: Scene;
  let client: N17qClient;
  let tools: readonly ToolMapping[];
  beforeAll(async () => {
    scene = await openScene({ scripts: SCRIPTS, stack: { services: [...SERVICES, 'api'] } });
    client = new N17qClient({ baseUrl: scene.stack.api.url, token: scene.stack.api.token });
    // a page that could not be read is a required source that is missing
    tools = toolsFor(Object.fromEntries(WORLD_CLASSES.map((c) => [c, scene.worlds[c].url])) as never).map((t) => (t.name === READ.tool ? { ...t, source: { identity: 'page {name}', required: true }, connector: { kind: 'http', config: { ...(t.connector.config as object), finalRefusals: [422] } } } : t));
    await registry(tools);
  }, 180_000);
  afterAll(() => scene?.close(), 60_000);
  afterEach(async () => {
    for (const c of WORLD_CLASSES) { scene.worlds[c].setMode({ reply: 'normal', ...CLASSES[c].world }); scene.worlds[c].release(); }
    await Promise.all([registry(tools), policy(SCENE_POLICY), roles(OPERATOR_ROLES)]);
  });
  const registry = (list: readonly ToolMapping[]) => publishDocuments(scene.stack.store, scene.stack.tenant, { registry: { tools: list } });
  const policy = (p: PolicyDocument) => publishDocuments(scene.stack.store, scene.stack.tenant, { policy: p });
  const roles = (r: RolesDocument) => publishDocuments(scene.stack.store, scene.stack.tenant, { roles: r });
  const without = (...names: readonly string[]) => tools.filter((t) => !names.includes(t.name));
  const seen = (s: Started, holds: (l: readonly EventEnvelope[]) => boolean, what: string, withinMs = 40_000) => scene.stack.waitFor(s.run, holds, what, withinMs);
  /** What the newest words to the model say is left. */
  const leftIn = (body: string): { readonly left: number; readonly of: number } => { const [, left, of] = [...body.matchAll(/tokens (\d+) of (\d+)/gu)].at(-1) ?? []; return { left: Number(left), of: Number(of) }; };
  const at = (l: readonly EventEnvelope[], type: EventEnvelope['type'], from = 0): number => l.findIndex((e, i) => i >= from && e.type === type);

  it('[BUD-1] [BUD-4] a raise wakes a run that its own budget blocked; passing the warning threshold is an event, and the next model is told what is left', async () => {
    const s = await scene.start('reads', { budget: { ...AMPLE, tokens: 1_000 } });
    const blocked = await seen(s, (l) => settledAfter(l, 'generation.denied', 'checkpoint.sealed'), 'the run to stand still');
    expect(ofType(blocked, 'generation.denied').map((e) => [e.data.code, (e.data.facts as { of?: string }).of])).toEqual([['BUDGET_EXHAUSTED', 'run']]);
    expect(scene.wire(s.tag)).toEqual([]);
    const needed = ofType(blocked, 'budget.exhausted')[0]?.data.needed.tokens ?? 0;
    await client.raiseBudget(s.run, { amounts: { tokens: Math.ceil(needed * 1.2) - 1_000 }, reason: 'it may cost that' });
    const log = await scene.ended(s.run);
    expect([at(log, 'budget.raised') < at(log, 'run.resumed'), at(log, 'run.resumed') < at(log, 'generation.started')]).toEqual([true, true]);
    expect(ofType(log, 'run.resumed').map((e) => e.actor.kind)).toEqual(['service']); // nobody had to ask for it
    expect(ofType(log, 'budget.warned')[0]?.data.dimensions).toEqual(['tokens']);
    const [, told] = scene.wire(s.tag);
    const { left, of } = leftIn(told?.body ?? '');
    expect([of, left < of, told?.body.includes('nearly used up')]).toEqual([Math.ceil(needed * 1.2), true, true]);
    expect(await verdict(scene, s, log)).toEqual([]);
  }, 90_000);

  it('[BUD-3] [BUD-4] usage that nobody knows keeps its reservation to the end, and the next model is told what is left without it', async () => {
    const s = await scene.start('cut-then-reads', { budget: AMPLE });
    const log = await scene.ended(s.run);
    const unknown = ofType(log, 'generation.outcome-unknown');
    expect(unknown.length).toBeGreaterThanOrEqual(1);
    const permits = ofType(log, 'generation.permitted').filter((e) => unknown.some((u) => u.data.generation === e.data.generation)).map((e) => e.data.reservation);
    const kept = ofType(log, 'budget.reserved').filter((e) => permits.includes(e.data.reservation)).map((e) => e.data.amounts).reduce(plus);
    expect(kept.tokens).toBeGreaterThan(0);
    expect(ofType(log, 'budget.settled').filter((e) => permits.includes(e.data.reservation))).toEqual([]);
    expect((await client.run(s.run)).budget.reserved).toEqual(kept);
    const { left, of } = leftIn(scene.wire(s.tag).at(-1)?.body ?? '');
    expect([of, left <= of - kept.tokens, left > 0]).toEqual([AMPLE.tokens, true, true]);
    expect(await verdict(scene, s, log)).toEqual([]);
  }, 90_000);

  it('[POL-1] [POL-2] a run on behalf of somebody stops when the delegation is taken back, before anything that was asked for under it is done', async () => {
    const delegation = { delegation: 'd-1', from: 'boss', to: 'operator', tools: [CLASSES.neither.tool], until: null };
    const roleless: RolesDocument = { people: [...OPERATOR_ROLES.people], delegations: [] };
    await expect(client.createRun({ goal: 'x', onBehalfOf: 'boss' })).rejects.toMatchObject({ code: 'DELEGATION_ABSENT' });
    await Promise.all([roles({ ...roleless, delegations: [delegation] }), policy(policyWith({ ask: [CLASSES.neither.tool] }))]);
    const tag = 'files-for-boss';
    const { run } = await client.createRun({ goal: goalOf('files', tag), onBehalfOf: 'boss', budget: AMPLE });
    const s: Started = { run: run as RunId, tag };
    const asked = await seen(s, (l) => settledAfter(l, 'approval.requested', 'checkpoint.sealed'), 'the question');
    await roles(roleless);
    const question = ofType(asked, 'approval.requested')[0]?.data;
    await client.decideApproval(run, question?.approval ?? '', { decision: 'approved', subject: question?.subject ?? '' });
    const stopped = await seen(s, (l) => settledAfter(l, 'generation.denied', 'checkpoint.sealed'), 'the run to stop');
    expect([...ofType(stopped, 'effect.denied'), ...ofType(stopped, 'generation.denied')].map((e) => e.data.code)).toEqual(['DELEGATION_ENDED', 'DELEGATION_ENDED']);
    expect([ofType(stopped, 'effect.attempt-started'), scene.tickets('neither', tag), scene.wire(tag).length]).toEqual([[], [], 1]);
    expect((await client.run(run)).blocked).toMatchObject({ code: 'DELEGATION_ENDED' });
    await roles({ ...roleless, delegations: [delegation] }); // delegated again, it goes on by itself
    await scene.ended(s.run);
  }, 90_000);

  it('[TOOL-3] [TOOL-5] [POL-5] the unknown effect of a removed tool is looked at under its pinned contract, and the tool is not called again', async () => {
    scene.worlds.queryable.setMode({ reply: 'hold' });
    const s = await scene.start('asks');
    await until(() => scene.tickets('queryable', s.tag).length > 0 || undefined, { withinMs: 30_000, what: 'the ticket to arrive' });
    await registry(without(CLASSES.queryable.tool));
    const { revision } = await client.document('registry');
    const log = await scene.ended(s.run, 60_000);
    expect(ofType(log, 'look.permitted').map((e) => e.data.tenant.registry)).toEqual([revision]); // the tool was gone by then
    expect(ofType(log, 'effect.reconciled').map((e) => [e.data.as, e.data.by])).toEqual([['happened', 'query']]);
    expect(ofType(log, 'call.refused').map((e) => [e.data.tool, e.data.code])).toEqual([[CLASSES.queryable.tool, 'UNKNOWN_TOOL']]);
    expect(scene.tickets('queryable', s.tag)).toHaveLength(1);
    expect(await verdict(scene, s, log)).toEqual([]);
  }, 90_000);

  it('[TOOL-3] [POL-5] where nothing can be asked a migration is asked for, and once a person has named the tool the effect is looked at as that one', async () => {
    scene.worlds.keyed.setMode({ reply: 'hold' });
    const s = await scene.start('keyed', { whenDone: 'await-input' });
    await until(() => scene.tickets('keyed', s.tag).length > 0 || undefined, { withinMs: 30_000, what: 'the ticket to arrive' });
    const moved = tools.find((t) => t.name === CLASSES.queryable.tool) as ToolMapping;
    const url = scene.worlds.keyed.url;
    const lookup: ToolMapping = { ...moved, name: 'find_ticket', server: url, target: url, connector: { kind: 'http', config: { ...(moved.connector.config as object), baseUrl: url } } };
    await registry([...without(CLASSES.keyed.tool), lookup]);
    const waiting = await seen(s, (l) => settledAfter(l, 'effect.recovery-denied', 'checkpoint.sealed'), 'a person to be asked');
    expect(ofType(waiting, 'effect.recovery-denied').map((e) => e.data.code)).toEqual(['MIGRATION_NEEDED']);
    const effect = ofType(waiting, 'effect.intended')[0]?.data.effect ?? '';
    expect((await client.run(s.run)).unresolved).toMatchObject([{ effect, needsPerson: expect.stringContaining('MIGRATION_NEEDED') }]);
    scene.worlds.keyed.setMode({ query: true });
    await client.migrateEffect(s.run, effect, { tool: 'find_ticket', reason: 'the tickets are asked for there now' });
    const log = await seen(s, (l) => settledAfter(l, 'effect.reconciled', 'checkpoint.sealed'), 'the look to settle it');
    expect(ofType(log, 'effect.migrated').map((e) => [e.data.tool, e.data.by.id])).toEqual([['find_ticket', 'operator']]);
    expect(ofType(log, 'effect.reconciled').map((e) => [e.data.as, e.data.by])).toEqual([['happened', 'query']]);
    expect([ofType(log, 'effect.attempt-started').length, scene.tickets('keyed', s.tag).length]).toEqual([1, 1]);
  }, 90_000);

  it('[SRC-2] a required source that could not be retrieved stops consequential calls until it was retrieved again', async () => {
    scene.worlds['read-only'].setMode({ reply: 'refuse', refuseStatus: 422 });
    const s = await scene.start('rests');
    await seen(s, (l) => ofType(l, 'source.observed').length > 0, 'the page not to be had');
    scene.worlds['read-only'].setMode({ reply: 'normal' });
    const log = await scene.ended(s.run, 60_000);
    expect(ofType(log, 'source.observed').map((e) => [e.data.identity, e.data.replay, e.data.gap === null])).toEqual([[`page ${s.tag}`, 'live', false], [`page ${s.tag}`, 'recording', true]]);
    expect(ofType(log, 'effect.denied').map((e) => [e.data.code, e.data.reason.includes(`page ${s.tag}`)])).toEqual([['SOURCE_MISSING', true]]);
    const started = ofType(log, 'effect.attempt-started').map((e) => ofType(log, 'effect.intended').find((i) => i.data.effect === e.data.effect)?.data.tool);
    expect(started).toEqual([READ.tool, READ.tool, CLASSES.keyed.tool]);
    expect(scene.tickets('keyed', s.tag)).toHaveLength(1);
    expect((await client.sources(s.run)).sources).toMatchObject([{ missing: false, replay: { from: 'nowhere', code: 'RECORDING_UNREVIEWED' } }]);
    expect(await verdict(scene, s, log)).toEqual([]);
  }, 90_000);

  it('[RES-1] after a resume the unknown effect is looked at before anything consequential begins', async () => {
    await policy(policyWith({ ask: [CLASSES.neither.tool] }, { looksMax: 100 }));
    scene.worlds.queryable.setMode({ reply: 'lose', query: false }); // nobody can tell, for now
    const s = await scene.start('both');
    const asked = await seen(s, (l) => ofType(l, 'approval.requested').length > 0 && ofType(l, 'effect.looked').length >= 5, 'looks in vain');
    await client.pause(s.run, 'look first');
    await seen(s, (l) => settledAfter(l, 'run.paused', 'checkpoint.sealed'), 'the pause');
    const question = ofType(asked, 'approval.requested')[0]?.data;
    await client.decideApproval(s.run, question?.approval ?? '', { decision: 'approved', subject: question?.subject ?? '' }); // it could begin at once
    await client.resumeRun(s.run, 'go on');
    const log = await seen(s, (l) => ofType(l, 'effect.attempt-started').length === 2, 'the other call');
    const resumed = at(log, 'run.resumed');
    const began = log.findIndex((e, i) => i > resumed && (e.type === 'effect.attempt-started' || e.type === 'generation.started'));
    expect(log.slice(resumed, began).filter((e) => e.type === 'effect.looked').length).toBeGreaterThanOrEqual(1);
    scene.worlds.queryable.setMode({ query: true });
    expect(await verdict(scene, s, await scene.ended(s.run, 90_000))).toEqual([]);
    expect([scene.tickets('queryable', s.tag).length, scene.tickets('neither', s.tag).length]).toEqual([1, 1]);
  }, 180_000);

  it('[EFF-8] [EFF-6] an erased run\'s unknown effect stays unresolved with its evidence erased, and no run repeats it', async () => {
    scene.worlds.neither.setMode({ reply: 'hold' });
    const s = await scene.start('files', { whenDone: 'await-input' });
    const unknown = await seen(s, (l) => settledAfter(l, 'effect.needs-person', 'checkpoint.sealed'), 'a person to be asked');
    scene.worlds.neither.setMode({ reply: 'normal' });
    const effect = ofType(unknown, 'effect.intended')[0]?.data.effect ?? '';
    await client.addNote(s.run, { text: `private ${'x'.repeat(40_000)}` }); // too large to lie beside its event
    await expect(client.eraseRun(s.run, 'too early')).rejects.toMatchObject({ code: 'ILLEGAL' });
    await client.end(s.run, 'enough');
    await seen(s, isOver, 'the end');
    await client.eraseRun(s.run, 'asked for');
    const erased = await seen(s, (l) => settledAfter(l, 'content.erased', 'checkpoint.sealed'), 'the erasure');
    expect(ofType(erased, 'content.erased')[0]?.data).toMatchObject({ unresolved: [effect], by: { id: 'operator' } });
    expect((await client.run(s.run)).unresolved).toMatchObject([{ effect, stage: 'unknown', evidenceErased: true, allowed: [] }]);
    const bodies = await scene.owner<{ body: Buffer | null; state: string }>('select body, state from n17q.contents where tenant = $1 and stream = $2', [scene.stack.tenant, `run/${s.run}`]);
    expect([bodies.length > 0, bodies.every((b) => b.body === null && b.state === 'erased')]).toEqual([true, true]);
    const outside = new FolderArtifactStore(scene.stack.site.artifactsDir);
    const [large] = ofType(erased, 'note.added').map((e) => e.data.text);
    expect((await outside.stat(scene.stack.tenant, large?.commitment ?? ''))?.tombstone).toMatchObject({ reason: 'asked for', by: 'operator' });
    expect((await doctorVerdict(scene)).wrong).toEqual([]);
    await scene.finding(s.run, effect, 'did-not-happen', 'I believe');
    const judged = await seen(s, (l) => ofType(l, 'finding.refused').length > 0, 'the finding to be judged');
    expect(ofType(judged, 'finding.refused').map((e) => e.data.code)).toEqual(['EVIDENCE_ERASED']);
    const other: Started = { tag: s.tag, run: await scene.stack.createRun({ goal: goalOf('files', s.tag) }) };
    const log = await scene.ended(other.run);
    expect(ofType(log, 'effect.denied').map((e) => [e.data.code, (e.data.facts as { unresolved?: string }).unresolved])).toEqual([['EFFECT_UNRESOLVED', effect]]);
    expect(scene.tickets('neither', s.tag)).toHaveLength(1);
  }, 120_000);

  it('[SCH-1] [SCH-2] [SCH-3] a wait for a rate limit stands in the store with its time, survives kill -9 of every service, and is judged by the rules that stand when it comes due', async () => {
    const s = await scene.start('limited');
    const log = await seen(s, (l) => settledAfter(l, 'generation.refused', 'checkpoint.sealed') || ofType(l, 'generation.refused').length > 0, 'the limit');
    const refusedAt = ofType(log, 'generation.refused')[0]?.recordedAt ?? 0;
    const needs = () => scene.owner<{ service: string; reason: string; due: string }>('select service, reason, due_at as due from n17q.needs where tenant = $1 and stream = $2 and reason like \'compile:%\'', [scene.stack.tenant, `run/${s.run}`]);
    const before = await until(async () => { const n = await needs(); return n.length > 0 ? n : undefined; }, { withinMs: 10_000, what: 'the row of the wait' });
    expect([before.map((n) => n.service), Number(before[0]?.due) >= refusedAt + 8_000]).toEqual([['context-compiler'], true]);
    expect((await client.run(s.run)).schedule.find((w) => w.intent === 'ask a model again')).toMatchObject({ owner: 'context-compiler', at: new Date(Number(before[0]?.due)).toISOString(), bound: expect.stringContaining('then a person') });
    await policy({ ...SCENE_POLICY, rules: `${ALLOW_ALL}@id("no-more") @reason("no more models") forbid (principal, action == N17Q::Action::"generate", resource);\n` });
    await Promise.all(SERVICES.map((name) => scene.stack.service(name).kill()));
    expect(await needs()).toEqual(before);
    await scene.stack.service('event-store').restart();
    await Promise.all(SERVICES.slice(1).map((name) => scene.stack.service(name).restart()));
    const after = await seen(s, (l) => ofType(l, 'generation.denied').length > 0, 'the judgement when it is due', 60_000);
    const again = ofType(after, 'context.compiled').at(-1);
    expect([ofType(after, 'context.compiled').length, (again?.recordedAt ?? 0) >= Number(before[0]?.due)]).toEqual([2, true]);
    expect(ofType(after, 'generation.denied').map((e) => [e.data.code, e.data.grounds.by])).toEqual([['POLICY_FORBIDS', ['no-more']]]);
    expect(scene.wire(s.tag)).toHaveLength(1);
    await policy(SCENE_POLICY);
    await scene.ended(s.run, 60_000);
  }, 180_000);
});
