/** Several processes of each service at once: everything is decided once, whoever decides, and the same word of a person said fifty times is one word. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import type { EventEnvelope, ServiceName } from '@n17q/domain';
import { publishDocuments, until, type ServiceHandle } from '@n17q/testing';
import { arm } from './kit/arm.js';
import { judgedCell, KINDS } from './kit/cells.js';
import { policyWith } from './kit/policies.js';
import { replicaOf, secondApi } from './kit/replicas.js';
import { ofType, openScene, REACTING, SCENE_POLICY, SERVICES, settledAfter, type Scene, type Started } from './kit/scene.js';
import type { Scripts } from './kit/scripts.js';
import { CALLS, ticket } from './kit/tools.js';
import { verdict } from './kit/verdict.js';

const PROJECTS = Array.from({ length: 6 }, (_, i) => `project-${i}-${randomBytes(3).toString('hex')}`);
const SCRIPTS: Scripts = {
  six: [{ calls: [{ tool: 'read_file', args: { path: 'README.md' } }] }, { calls: Object.values(CALLS) }, { text: 'done' }],
  write: [{ calls: [CALLS.neither] }, { text: 'done' }],
  ...Object.fromEntries(PROJECTS.map((p, i) => [`shared-${i}`, [{ calls: [ticket('neither', '$TAG', p)] }, { text: 'done' }]])),
};

describe('several of each service', () => {
  let scene: Scene;
  const others = new Map<ServiceName, ServiceHandle>();
  let apis: readonly string[] = [];
  beforeAll(async () => {
    scene = await openScene({ scripts: SCRIPTS, stack: { services: [...SERVICES, 'api'], policy: { leaseMs: 10_000 } } }); // nobody is late here
    await Promise.all(REACTING.map(async (service) => { others.set(service, await replicaOf(scene.stack, service)); }));
    apis = [scene.stack.api.url, await secondApi(scene.stack)];
  }, 240_000);
  afterAll(() => scene?.close(), 60_000);

  it('[SVC-1] [EFF-10] [RUN-1] do everything once', async () => {
    const runs = await Promise.all(Array.from({ length: 6 }, () => scene.start('six')));
    const owners = new Set<string>();
    for (const s of runs) {
      const log = await scene.ended(s.run, 90_000);
      expect(await verdict(scene, s, log)).toEqual([]);
      expect(KINDS.map((k) => judgedCell(scene, s, log, k))).toEqual(KINDS.map(() => ({ accepted: 1, arrived: 1, wrong: [] })));
      expect(scene.wire(s.tag)).toHaveLength(ofType(log, 'generation.started').length - ofType(log, 'generation.not-sent').length);
      for (const e of [...ofType(log, 'effect.attempt-started'), ...ofType(log, 'generation.started')]) owners.add(e.data.owner);
    }
    expect(owners.size).toBeGreaterThan(2); // both replicas of at least one service took part
  }, 240_000);

  /** Of runs that want the same thing: who was let through, and that the others were told why not. */
  function through(logs: readonly (readonly EventEnvelope[])[]): number {
    const started = logs.filter((l) => ofType(l, 'effect.attempt-started').length > 0);
    for (const l of logs.filter((x) => !started.includes(x))) expect(ofType(l, 'effect.denied').map((e) => e.data.code)).toEqual(['EFFECT_UNRESOLVED']);
    return started.length;
  }
  const arrived = (project: string): number => scene.worlds.neither.ledger().entries.filter((e) => JSON.stringify(e.body).includes(project)).length;

  it('[EFF-6] [EFF-7] [EFF-10] let one of two runs through that want the same thing at the same moment, however often that happens', async () => {
    scene.worlds.neither.setMode({ reply: 'hold' }); // it stays open while the other one is judged
    try {
      const pairs = await Promise.all(PROJECTS.flatMap((_, i) => [i, i]).map(async (i) => ({ i, s: await scene.start(`shared-${i}`) })));
      const logs = await Promise.all(pairs.map(async ({ i, s }) => ({ i, log: await scene.ended(s.run, 90_000) })));
      for (const [i, project] of PROJECTS.entries()) {
        expect(arrived(project)).toBe(1);
        expect(through(logs.filter((l) => l.i === i).map((l) => l.log))).toBe(1);
      }
    } finally {
      scene.worlds.neither.setMode({ reply: 'normal' });
      scene.worlds.neither.release();
    }
  }, 120_000);

  it('[EFF-6] [EFF-7] let nothing start on the permit of a gate that decided before the other one\'s permit was used', async () => {
    const gate = others.get('policy-gate') as ServiceHandle;
    const project = `late-${randomBytes(3).toString('hex')}`;
    (SCRIPTS as Record<string, unknown>)['late'] = [{ calls: [ticket('neither', '$TAG', project)] }, { text: 'done' }];
    gate.pause();
    await arm(scene.stack, 'policy-gate', 'reactor.after-decide:stop@2'); // once for the model call, once for the effect
    const first = await scene.start('late');
    await until(() => scene.stack.service('policy-gate').handle.stderr().includes('failpoint') || undefined, { withinMs: 30_000, what: 'the gate to stand still with its decision' });
    expect(ofType(await scene.stack.events(first.run), 'effect.permitted')).toEqual([]);
    scene.worlds.neither.setMode({ reply: 'hold' });
    try {
      const second = await scene.start('late');
      gate.resume();
      await until(() => arrived(project) > 0 || undefined, { withinMs: 30_000, what: 'one ticket to arrive' });
      scene.stack.service('policy-gate').resume();
      const logs = await Promise.all([first, second].map((s) => scene.ended(s.run, 60_000)));
      expect(arrived(project)).toBe(1);
      expect(through(logs)).toBe(1);
    } finally {
      scene.worlds.neither.setMode({ reply: 'normal' });
      scene.worlds.neither.release();
    }
  }, 120_000);

  it('[APP-1] [APP-3] [RUN-1] take one decision where the same approval is sent fifty times over two apis, and do it once', async () => {
    await publishDocuments(scene.stack.store, scene.stack.tenant, { policy: policyWith({ ask: [CALLS.neither.tool] }) });
    try {
      const s: Started = await scene.start('write');
      const asked = await scene.stack.waitFor(s.run, (l) => settledAfter(l, 'approval.requested', 'checkpoint.sealed'), 'the question', 30_000);
      const { approval, subject } = ofType(asked, 'approval.requested').at(-1)?.data ?? { approval: '', subject: '' };
      const claimed = await fetch(`${apis[1]}/v1/runs/${s.run}/approvals/${approval}`, { method: 'POST', body: JSON.stringify({ decision: 'approved', subject, note: 'go', by: 'somebody-else' }), headers: { 'content-type': 'application/json', authorization: `Bearer ${scene.stack.api.token}` } });
      expect([claimed.status, ofType(await scene.stack.events(s.run), 'approval.decided')]).toEqual([400, []]); // who decides is told by the token, never by the body
      const key = randomBytes(12).toString('hex');
      const send = async (i: number) => {
        const res = await fetch(`${apis[i % 2]}/v1/runs/${s.run}/approvals/${approval}`, {
          method: 'POST', body: JSON.stringify({ decision: 'approved', subject, note: 'go' }),
          headers: { 'content-type': 'application/json', authorization: `Bearer ${scene.stack.api.token}`, ...(i < 25 ? { 'idempotency-key': key } : {}) },
        });
        return { status: res.status, keyed: i < 25, body: (await res.json()) as { readonly revision?: number; readonly code?: string; readonly detail?: string } };
      };
      const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => send(i)));
      const log = await scene.ended(s.run, 60_000);
      const decided = ofType(log, 'approval.decided');
      expect(decided).toHaveLength(1);
      expect(decided[0]?.actor).toEqual({ kind: 'person', id: 'operator' });
      for (const a of answers) { // the one that was first, its repeats under the same key, and for everybody else a refusal that says why
        if (a.status === 202) expect(a.body.revision).toBe(decided[0]?.revision);
        else expect([a.status === 503 ? 'BUSY' : 'ILLEGAL', a.body.detail]).toEqual([a.body.code, expect.stringMatching(/No approval of this name waits|Others were faster|The run has ended and takes no decision any more/u)]);
      }
      const taken = answers.filter((a) => a.status === 202);
      expect(taken.length).toBeGreaterThan(0);
      expect(taken.filter((a) => !a.keyed).length).toBeLessThanOrEqual(1);
      expect(scene.tickets('neither', s.tag).map((e) => e.what)).toEqual(['accepted']);
      expect(await verdict(scene, s, log)).toEqual([]);
    } finally { await publishDocuments(scene.stack.store, scene.stack.tenant, { policy: SCENE_POLICY }); }
  }, 120_000);
});
