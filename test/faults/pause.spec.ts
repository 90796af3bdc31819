/**
 * A process that stands still at a named place for longer than its lease (SIGSTOP), while others carry on, and comes back (SIGCONT): what it holds is
 * then over, and nothing more reaches the world. Effects of all six contracts are under way each time.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventEnvelope, ServiceName } from '@n17q/domain';
import type { Failpoint } from '@n17q/platform';
import { until, type ServiceHandle } from '@n17q/testing';
import { arm } from './kit/arm.js';
import { CellTable, judgedCell, KINDS } from './kit/cells.js';
import { boundaryFaults } from './kit/judges.js';
import { replicaOf } from './kit/replicas.js';
import { LEASE_MS, ofType, openScene, type Scene, type Started } from './kit/scene.js';
import { CALLS, WORLD_CLASSES } from './kit/tools.js';
import { verdict } from './kit/verdict.js';

const SCRIPTS = {
  six: [{ calls: [{ tool: 'read_file', args: { path: 'README.md' } }] }, { calls: Object.values(CALLS) }, { text: 'done' }],
  little: [{ calls: [CALLS.keyed] }, { text: 'done' }],
};

describe('a process that stands still beyond its lease', () => {
  let scene: Scene;
  const others = new Map<ServiceName, ServiceHandle>();
  const table = new CellTable('Accepted by the world, by place of the standstill and contract (requests that arrived, where more):');
  beforeAll(async () => { scene = await openScene({ scripts: SCRIPTS }); }, 180_000);
  afterAll(async () => {
    process.stdout.write(`${table.text()}\n`);
    await scene?.close();
  }, 60_000);

  /** Arms a stop in the stack's own process, starts a run, and resolves when it stands still there and another has taken its place. */
  async function standsStill(service: ServiceName, name: Failpoint, nth: number): Promise<{ started: Started; since: number }> {
    const other = others.get(service);
    other?.pause(); // the armed one is to get this work
    await arm(scene.stack, service, `${name}:stop@${nth}`);
    const started = await scene.start('six');
    await until(() => scene.stack.service(service).handle.stderr().includes(`failpoint ${name}`) || undefined, { withinMs: 60_000, what: `${service} to stand still at ${name}` });
    const since = performance.now();
    if (other === undefined) others.set(service, await replicaOf(scene.stack, service)); else other.resume();
    return { started, since };
  }
  /** A whole run that nobody else can serve: when it has ended, the woken process has long been through what it held. */
  async function goesThroughTheWoken(service: ServiceName): Promise<void> {
    const other = others.get(service) as ServiceHandle;
    other.pause();
    try { await scene.ended((await scene.start('little')).run, 60_000); } finally { other.resume(); }
  }
  const arrivals = (s: Started): readonly string[] => WORLD_CLASSES.flatMap((c) => scene.tickets(c, s.tag).map((e) => `${c} ${e.what}`));

  /** What the outside saw and the log says, when others had ended the run, and after the process came back. */
  async function throughIt(service: ServiceName, name: Failpoint, nth: number): Promise<{ readonly before: readonly EventEnvelope[]; readonly started: Started }> {
    const { started, since } = await standsStill(service, name, nth);
    const before = await scene.ended(started.run, 60_000);
    await until(() => performance.now() - since > LEASE_MS || undefined, { withinMs: LEASE_MS * 2, what: 'the lease to be over' });
    const [seen, requests] = [arrivals(started), scene.wire(started.tag).length];
    scene.stack.service(service).resume();
    await goesThroughTheWoken(service);
    expect(arrivals(started)).toEqual(seen);
    expect(scene.wire(started.tag)).toHaveLength(requests);
    const after = await scene.stack.waitFor(started.run, (l) => boundaryFaults(l).length === 0, 'what the woken one knows to be sealed', 20_000);
    expect(await verdict(scene, started, after)).toEqual([]);
    const found = KINDS.map((k) => [k, judgedCell(scene, started, after, k)] as const);
    for (const [k, c] of found) table.add(`${name}, ${service}`, k, c);
    expect(found.flatMap(([, c]) => c.wrong)).toEqual([]);
    return { before, started };
  }

  it('[EFF-2] [EFF-4] [EFF-10] dispatches none of the attempts that it had claimed', async () => {
    const { before, started } = await throughIt('effect-reconciler', 'effect.after-claim-before-dispatch', 2);
    expect(ofType(before, 'effect.outcome-unknown').map((e) => e.data.cause)).toEqual(Array.from({ length: 6 }, () => 'CLAIM_EXPIRED'));
    expect(arrivals(started).toSorted()).toEqual(['idempotent accepted', 'keyed accepted', 'read-only read']); // by the other one, where the contract lets it try again
    const attempts = ofType(before, 'effect.attempt-started').slice(1);
    expect(new Set(attempts.map((e) => e.data.owner)).size).toBe(2);
  }, 180_000);

  it.each<[Failpoint, ServiceName, number]>([
    ['effect.after-dispatch-before-observation', 'effect-reconciler', 2], ['effect.after-observation', 'effect-reconciler', 2],
    ['reactor.after-receive', 'policy-gate', 3], ['reactor.after-load', 'effect-reconciler', 4], ['reactor.after-decide', 'policy-gate', 4], ['reactor.after-append-before-ack', 'context-compiler', 2],
    ['reactor.after-decide', 'effect-reconciler', 4], ['reactor.after-decide', 'provider-gateway', 3],
  ])('[EFF-2] [EFF-4] [EFF-10] [RUN-4] changes nothing in the world when it wakes at %s (%s)', async (name, service, nth) => { await throughIt(service, name, nth); }, 180_000);

  it.each<[Failpoint, number]>([
    ['generation.after-claim-before-dispatch', 2], ['generation.after-dispatch-before-acceptance', 2], ['generation.after-acceptance', 2], ['generation.before-request-after-results', 3],
  ])('[EFF-10] [EFF-2] sends no model request when it wakes at %s', async (name, nth) => {
    const { before, started } = await throughIt('provider-gateway', name, nth);
    const claimed = name === 'generation.after-claim-before-dispatch' || name === 'generation.after-dispatch-before-acceptance';
    expect(ofType(before, 'generation.outcome-unknown').map((e) => e.data.cause)).toEqual(claimed ? ['CLAIM_EXPIRED'] : []);
    expect(scene.wire(started.tag)).toHaveLength(ofType(before, 'generation.started').length - (name === 'generation.after-claim-before-dispatch' ? 1 : 0));
  }, 180_000);
});
