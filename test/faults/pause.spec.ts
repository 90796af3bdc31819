/** A process that stands still between its claim and its dispatch, longer than its lease, and comes back (SIGSTOP, SIGCONT); and two of each at once. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServiceName } from '@n17q/domain';
import type { Failpoint } from '@n17q/platform';
import { until, type ServiceHandle } from '@n17q/testing';
import { arm } from './kit/arm.js';
import { ofType, openScene, REACTING, type Scene } from './kit/scene.js';
import { CLASSES, TICKET_CLASSES, type TicketClass } from './kit/tools.js';
import { replicaOf } from './kit/replicas.js';
import { verdict } from './kit/verdict.js';

const ticket = (c: TicketClass) => ({ tool: CLASSES[c].tool, args: { project: '$TAG', title: '$TAG', body: 'as found' } });
const SCRIPTS = {
  ...Object.fromEntries(TICKET_CLASSES.map((c) => [`one-${c}`, [{ calls: [ticket(c)] }, { text: 'done' }]])),
  mixed: [{ calls: [{ tool: 'read_file', args: { path: 'README.md' } }] }, { calls: [...TICKET_CLASSES.map(ticket), { tool: 'write_file', args: { path: 'NOTE.md', content: '$TAG' } }] }, { text: 'done' }],
};

describe('a process that stands still', () => {
  let scene: Scene;
  const others = new Map<ServiceName, ServiceHandle>();
  beforeAll(async () => { scene = await openScene({ scripts: SCRIPTS }); }, 180_000);
  afterAll(() => scene?.close(), 60_000);

  /** Arms a stop in the stack's own process, starts a run, and resolves when it stands still there. */
  async function standsStill(service: ServiceName, name: Failpoint, nth: number, script: string) {
    const other = others.get(service);
    other?.pause(); // the armed one is to get this claim
    await arm(scene.stack, service, `${name}:stop@${nth}`);
    const started = await scene.start(script);
    await until(() => scene.stack.service(service).handle.stderr().includes(`failpoint ${name}`) || undefined, { withinMs: 60_000, what: `${service} to stand still at ${name}` });
    if (other === undefined) others.set(service, await replicaOf(scene.stack, service)); else other.resume();
    return started;
  }

  /** A whole run that nobody else can serve: when it has ended, the woken process has long been through what it held. */
  async function goesThroughTheWoken(service: ServiceName, script: string): Promise<void> {
    const other = others.get(service) as ServiceHandle;
    other.pause();
    try { await scene.ended((await scene.start(script)).run, 60_000); } finally { other.resume(); }
  }

  it.each(['neither', 'queryable', 'keyed'] as const)('[EFF-2] [EFF-4] [EFF-10] does not dispatch an attempt at a %s target when it wakes after its lease', async (c) => {
    const started = await standsStill('effect-reconciler', 'effect.after-claim-before-dispatch', 1, `one-${c}`);
    const log = await scene.ended(started.run, 60_000);
    expect(ofType(log, 'effect.outcome-unknown').map((e) => e.data.cause)).toEqual(['CLAIM_EXPIRED']);
    const before = scene.tickets(c, started.tag).length;
    expect(before).toBe(c === 'keyed' ? 1 : 0); // a key lets the other one try again; nothing else does
    scene.stack.service('effect-reconciler').resume();
    await goesThroughTheWoken('effect-reconciler', `one-${c}`);
    const after = await scene.stack.events(started.run);
    expect(scene.tickets(c, started.tag)).toHaveLength(before);
    expect(await verdict(scene, started, after)).toEqual([]);
    const attempts = ofType(after, 'effect.attempt-started');
    expect(new Set(attempts.map((e) => e.data.owner)).size).toBe(attempts.length);
  }, 180_000);

  it('[EFF-10] [EFF-2] does not send a model request when it wakes after its lease', async () => {
    const started = await standsStill('provider-gateway', 'generation.after-claim-before-dispatch', 2, 'one-keyed-asked');
    const log = await scene.ended(started.run, 60_000);
    expect(ofType(log, 'generation.outcome-unknown').map((e) => e.data.cause)).toEqual(['CLAIM_EXPIRED']);
    const requests = scene.wire(started.tag).length;
    expect(requests).toBe(ofType(log, 'generation.started').length - 1);
    scene.stack.service('provider-gateway').resume();
    await goesThroughTheWoken('provider-gateway', 'one-keyed-asked');
    expect(scene.wire(started.tag)).toHaveLength(requests);
    const after = await scene.stack.events(started.run);
    expect(await verdict(scene, started, after)).toEqual([]);
    expect(scene.tickets('keyed-asked', started.tag).map((e) => e.what)).toEqual(['accepted']);
  }, 180_000);

  it('[SVC-1] [EFF-10] [RUN-1] two of each reacting service at once do everything once', async () => {
    for (const service of REACTING) if (!others.has(service)) others.set(service, await replicaOf(scene.stack, service));
    const runs = await Promise.all(Array.from({ length: 6 }, () => scene.start('mixed')));
    const owners = new Set<string>();
    for (const s of runs) {
      const log = await scene.ended(s.run, 90_000);
      expect(await verdict(scene, s, log)).toEqual([]);
      for (const c of TICKET_CLASSES) expect(scene.tickets(c, s.tag).map((e) => e.what)).toEqual(['accepted']);
      expect(scene.wire(s.tag)).toHaveLength(ofType(log, 'generation.started').length - ofType(log, 'generation.not-sent').length);
      for (const e of [...ofType(log, 'effect.attempt-started'), ...ofType(log, 'generation.started')]) owners.add(e.data.owner);
    }
    expect(owners.size).toBeGreaterThan(2); // both replicas of at least one service took part
  }, 240_000);
});
