/**
 * Kill by enumeration: at every named place a service dies once (SIGKILL), is started again, and the run ends as if it had not. The judges read
 * the store's tables and the outside's ledgers only.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventEnvelope, ServiceName } from '@n17q/domain';
import { FAILPOINTS, type Failpoint } from '@n17q/platform';
import { arm, diedAt } from './kit/arm.js';
import { sendsBetween } from './kit/judges.js';
import { ofType, openScene, settledAfter, type Scene, type Started } from './kit/scene.js';
import type { Scripts } from './kit/scripts.js';
import { CLASSES, TICKET_CLASSES, type TicketClass } from './kit/tools.js';
import { carrierVerdict, doctorVerdict, verdict } from './kit/verdict.js';

const ticket = (c: TicketClass) => ({ tool: CLASSES[c].tool, args: { project: '$TAG', title: '$TAG', body: 'as found' } });
const one = (c: TicketClass) => [{ calls: [{ tool: 'list_files', args: {} }] }, { calls: [ticket(c)] }, { text: 'done' }];
const SCRIPTS: Scripts = {
  plain: one('queryable'),
  mixed: [{ thought: 'first look', calls: [{ tool: 'read_file', args: { path: 'README.md' } }] }, { calls: [...TICKET_CLASSES.map(ticket), { tool: 'write_file', args: { path: 'NOTE.md', content: '$TAG' } }] }, { text: 'done' }],
  'keyed-asked': one('keyed-asked'), queryable: one('queryable'), keyed: one('keyed'), neither: one('neither'),
  contained: [{ calls: [{ tool: 'write_file', args: { path: 'NOTE.md', content: '$TAG' } }] }, { calls: [{ tool: 'read_file', args: { path: 'NOTE.md' } }] }, { text: 'done' }],
  readonly: [{ calls: [{ tool: 'read_file', args: { path: 'README.md' } }] }, { text: 'done' }],
};
const ENDS_MS = 40_000;

describe('a service that dies at a named place', () => {
  let scene: Scene;
  const seen = new Set<Failpoint>();
  beforeAll(async () => { scene = await openScene({ scripts: SCRIPTS }); }, 180_000);
  afterAll(() => scene?.close(), 60_000);

  async function killed(service: ServiceName, name: Failpoint, nth: number, script: string): Promise<{ started: Started; log: readonly EventEnvelope[] }> {
    await arm(scene.stack, service, `${name}:kill@${nth}`);
    const started = await scene.start(script);
    await diedAt(scene.stack, service, name, 30_000);
    seen.add(name);
    await scene.stack.service(service).restart();
    return { started, log: await scene.ended(started.run, ENDS_MS) };
  }
  /** Accepted tickets of each class, and that the log's account of sends covers what arrived. */
  function tickets(s: Started, log: readonly EventEnvelope[], c: TicketClass): number {
    const effects = new Set(ofType(log, 'effect.intended').filter((e) => e.data.tool === CLASSES[c].tool).map((e) => e.data.effect as string));
    const arrived = scene.tickets(c, s.tag);
    const { least, most } = sendsBetween(log, 'effect', effects);
    expect(arrived.length).toBeGreaterThanOrEqual(least);
    expect(arrived.length).toBeLessThanOrEqual(most);
    return arrived.filter((e) => e.what === 'accepted').length;
  }
  const stageOf = (log: readonly EventEnvelope[], type: EventEnvelope['type']) => log.filter((e) => e.type === type).length;

  it('[RUN-4] [SEAL-6] goes from goal to end when nobody is killed, and the judges find nothing', async () => {
    const s = await scene.start('mixed');
    const log = await scene.ended(s.run);
    expect(await verdict(scene, s, log)).toEqual([]);
    for (const c of TICKET_CLASSES) expect(tickets(s, log, c)).toBe(1);
    expect(stageOf(log, 'effect.outcome-unknown') + stageOf(log, 'generation.outcome-unknown')).toBe(0);
    expect(scene.wire(s.tag)).toHaveLength(3);
  }, 60_000);

  it.each<[Failpoint, number]>([
    ['store.before-begin', 9], ['store.after-commit-before-reply', 9], ['store.after-reply', 9], ['relay.after-read', 3], ['relay.after-publish-before-cursor', 3], ['relay.after-cursor', 3],
  ])('[RUN-1] [RUN-4] [SEAL-2] loses and invents nothing when the event store dies at %s', async (name, nth) => {
    const { started, log } = await killed('event-store', name, nth, 'plain');
    expect(await verdict(scene, started, log)).toEqual([]);
    expect(tickets(started, log, 'queryable')).toBe(1);
  }, 150_000);

  it.each<[Failpoint, number]>([['sealer.before-append', 2], ['sealer.after-append', 2]])('[SEAL-2] [SEAL-4] [SEAL-6] leaves no half of a checkpoint when the sealer dies at %s', async (name, nth) => {
    const { started, log } = await killed('checkpoint-sealer', name, nth, 'plain');
    expect(await verdict(scene, started, log)).toEqual([]);
    expect(tickets(started, log, 'queryable')).toBe(1);
  }, 150_000);

  it.each<[Failpoint, string]>([
    ['reactor.after-receive', 'checkpoint-sealer policy-gate'], ['reactor.after-load', 'context-compiler provider-gateway'],
    ['reactor.after-decide', 'effect-reconciler policy-gate'], ['reactor.after-append-before-ack', 'provider-gateway effect-reconciler'],
  ])('[RUN-4] [EFF-2] [EFF-10] goes on when reacting services die at %s (%s) in one run', async (name, list) => {
    const services = list.split(' ') as readonly ServiceName[];
    await Promise.all(services.map((service) => arm(scene.stack, service, `${name}:kill@2`)));
    const started = await scene.start('plain');
    await Promise.all(services.map(async (service) => { // started again as soon as it is dead: behind a dead one the others have nothing to do
      await diedAt(scene.stack, service, name, 60_000);
      await scene.stack.service(service).restart();
    }));
    seen.add(name);
    const log = await scene.ended(started.run, ENDS_MS);
    expect(await verdict(scene, started, log)).toEqual([]);
    expect(tickets(started, log, 'queryable')).toBeLessThanOrEqual(1);
  }, 120_000);

  it('[EFF-2] [EFF-3] never sends an attempt that it finds after its death between claim and dispatch', async () => {
    const { started, log } = await killed('effect-reconciler', 'effect.after-claim-before-dispatch', 2, 'mixed');
    expect(await verdict(scene, started, log)).toEqual([]);
    expect(scene.tickets('neither', started.tag)).toEqual([]); // nobody may know that: so it is unknown, and was not sent again
    expect(scene.tickets('queryable', started.tag)).toEqual([]);
    expect(ofType(log, 'effect.needs-person').length).toBeGreaterThanOrEqual(1);
    for (const c of ['keyed', 'keyed-asked'] as const) expect(tickets(started, log, c)).toBe(1); // attempted again under the same key
  }, 150_000);

  it.each(TICKET_CLASSES)('[EFF-3] [EFF-4] [SEAL-4] files one ticket at a %s target when the reconciler dies between dispatch and observation', async (c) => {
    const { started, log } = await killed('effect-reconciler', 'effect.after-dispatch-before-observation', 2, c);
    expect(await verdict(scene, started, log)).toEqual([]);
    expect(tickets(started, log, c)).toBe(1);
    const unknown = ofType(log, 'effect.outcome-unknown');
    expect(unknown).toHaveLength(1);
    const reconciled = ofType(log, 'effect.reconciled');
    if (c === 'queryable' || c === 'keyed-asked') expect(reconciled.map((e) => [e.data.as, e.data.by])).toEqual([['happened', 'query']]);
    if (c === 'keyed') expect(scene.tickets(c, started.tag).map((e) => [e.what, e.key])).toEqual([['accepted', expect.any(String)], ['repeated', scene.tickets(c, started.tag)[0]?.key]]);
    if (c !== 'neither') return;
    expect(ofType(log, 'effect.needs-person')).toHaveLength(1);
    expect(ofType(log, 'run.ended')[0]?.data).toMatchObject({ withUnknowns: true });
    const finding = await scene.finding(started.run, unknown[0]?.data.effect as string, 'happened', 'the ticket is in the tracker');
    const settled = await scene.stack.waitFor(started.run, (l) => settledAfter(l, 'effect.reconciled', 'checkpoint.sealed', 'budget.settled'), 'the finding to settle it', 20_000);
    expect(ofType(settled, 'finding.accepted').map((e) => e.data.finding)).toEqual([finding]);
    expect(ofType(settled, 'effect.reconciled').map((e) => [e.data.as, e.data.by])).toEqual([['happened', 'finding']]);
    expect(tickets(started, settled, c)).toBe(1);
    expect(await verdict(scene, started, settled)).toEqual([]);
  }, 150_000);

  it.each(['readonly', 'contained'] as const)('[EFF-3] does %s work again after a death between dispatch and observation', async (script) => {
    const { started, log } = await killed('effect-reconciler', 'effect.after-dispatch-before-observation', 1, script);
    expect(await verdict(scene, started, log)).toEqual([]);
    const first = ofType(log, 'effect.intended')[0]?.data.effect;
    expect(ofType(log, 'effect.attempt-started').filter((e) => e.data.effect === first).map((e) => e.data.attemptNumber)).toEqual([1, 2]);
    expect(ofType(log, 'effect.observed').filter((e) => e.data.effect === first)).toHaveLength(1);
  }, 150_000);

  it('[EFF-2] [RUN-4] keeps what it recorded when the reconciler dies right after an observation', async () => {
    const { started, log } = await killed('effect-reconciler', 'effect.after-observation', 2, 'mixed');
    expect(await verdict(scene, started, log)).toEqual([]);
    for (const c of TICKET_CLASSES) expect(tickets(started, log, c)).toBeLessThanOrEqual(1);
  }, 150_000);

  it.each<[Failpoint, number]>([
    ['generation.after-claim-before-dispatch', 2], ['generation.after-dispatch-before-acceptance', 2], ['generation.after-acceptance', 2], ['generation.before-request-after-results', 2],
  ])('[CON-4] [EFF-10] [RES-9] goes on with the model when the gateway dies at %s', async (name, nth) => {
    const { started, log } = await killed('provider-gateway', name, nth, 'plain');
    expect(await verdict(scene, started, log)).toEqual([]);
    expect(tickets(started, log, 'queryable')).toBe(1);
    const unknown = ofType(log, 'generation.outcome-unknown').length;
    const before = name === 'generation.after-claim-before-dispatch';
    expect(unknown).toBe(before || name === 'generation.after-dispatch-before-acceptance' ? 1 : 0);
    expect(scene.wire(started.tag)).toHaveLength(ofType(log, 'generation.started').length - (before ? 1 : 0));
    expect(ofType(log, 'generation.accepted').map((e) => e.data.calls.length)).toEqual([1, 1, 0]);
    for (const e of ofType(log, 'effect.attempt-started')) expect(e.data.attemptNumber).toBe(1); // no tool was sent twice
    if (unknown > 0) expect(ofType(log, 'generation.started').map((e) => e.data.form)).toContain('exact-replay');
  }, 150_000);

  it('[RUN-4] has named every failpoint that a service passes', () => {
    expect([...FAILPOINTS].filter((f) => !seen.has(f) && f !== 'provision.after-stream-before-consumer')).toEqual([]); // provisioning is no service: see provision.spec.ts
  });

  it('[CON-1] [CON-3] shows the provider\'s opaque bytes nowhere after all of this', async () => {
    const { carriers, faults } = await carrierVerdict(scene);
    expect(carriers).toBeGreaterThan(5);
    expect(faults).toEqual([]);
  }, 60_000);

  it('[SVC-5] [SEAL-2] [SEAL-5] leaves a store in which the doctor finds nothing wrong', async () => {
    const { events, wrong } = await doctorVerdict(scene);
    expect(events).toBeGreaterThan(500);
    expect(wrong).toEqual([]);
  }, 60_000);
});
