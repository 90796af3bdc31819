/** Servers that go away while runs are under way: nothing acknowledged is lost, the services say what they wait for, and go on by themselves. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'nats';
import { connectBus, natsConfig, provision, request, RUN_EVENTS_STREAM, storeSubject } from '@n17q/bus';
import { contentOf, sha256, type AppendOutcome } from '@n17q/contracts';
import { runStream, type RunId } from '@n17q/domain';
import { HistoryRecorder, judgeHistory, startProxy, until, type FinalRow } from '@n17q/testing';
import { ofType, openScene, SERVICES, type Scene, type Started } from './kit/scene.js';
import { verdict } from './kit/verdict.js';

const SCRIPTS = {
  work: [{ calls: [{ tool: 'list_files', args: {} }] }, { calls: [{ tool: 'read_file', args: { path: 'README.md' } }, { tool: 'ticket_queryable', args: { project: '$TAG', title: '$TAG', body: 'b' } }] }, { calls: [{ tool: 'write_file', args: { path: 'NOTE.md', content: '$TAG' } }] }, { text: 'done' }],
};
const LONG_MS = 60_000;
const PAUSE_MS = 20_000;

/** Runs at several places of their way: each is started when the one before has come some way. */
async function several(scene: Scene, count: number): Promise<readonly Started[]> {
  const runs: Started[] = [];
  for (let i = 0; i < count; i++) {
    runs.push(await scene.start('work'));
    await scene.stack.waitFor((runs.at(-1) as Started).run, (l) => l.length >= 8, 'a run to get under way', 60_000);
  }
  return runs;
}
async function allEnd(scene: Scene, runs: readonly Started[], withinMs = 120_000): Promise<void> {
  for (const s of runs) {
    const log = await scene.ended(s.run, withinMs);
    expect(await verdict(scene, s, log)).toEqual([]);
    expect(scene.tickets('queryable', s.tag).filter((e) => e.what === 'accepted').length).toBeLessThanOrEqual(1);
    if (ofType(log, 'effect.outcome-unknown').length === 0) expect(scene.tickets('queryable', s.tag)).toHaveLength(1);
  }
}
const said = (scene: Scene): string => SERVICES.map((s) => scene.stack.service(s).handle.stderr()).join('\n');

describe('an outage', () => {
  let scene: Scene;
  let patient: Scene;
  let long: Promise<void> | undefined;
  beforeAll(async () => {
    [scene, patient] = await Promise.all([openScene({ scripts: SCRIPTS }), openScene({ scripts: SCRIPTS })]);
    // the long outage runs beside the others
    const runs = await several(patient, 3);
    await patient.stack.sandbox.nats.kill();
    long = (async () => {
      await delay(LONG_MS); // the length of the outage is what is tested
      expect(SERVICES.filter((s) => !patient.stack.service(s).handle.stderr().includes('disconnected'))).toEqual([]);
      await patient.stack.sandbox.nats.restart();
      await allEnd(patient, runs);
      await allEnd(patient, await several(patient, 1));
    })();
    long.catch(() => undefined); // its own test reports it
  }, 240_000);
  afterAll(async () => { await Promise.allSettled([scene?.close(), patient?.close()]); }, 90_000);

  it('[RUN-4] [RUN-1] of Postgres, killed and started again, loses nothing, and the runs end by themselves', async () => {
    const runs = await several(scene, 3);
    await scene.stack.sandbox.postgres.kill();
    await until(() => /out of reach|database|ECONNREFUSED|terminating/u.test(said(scene)) || undefined, { withinMs: 30_000, what: 'a service to say what it waits for' });
    await scene.stack.sandbox.postgres.restart();
    await allEnd(scene, runs);
  }, 240_000);

  it('[RUN-4] of Postgres that stands still for 20 s is waited out', async () => {
    const runs = await several(scene, 2);
    scene.stack.sandbox.postgres.pause();
    await delay(PAUSE_MS); // the length of the pause is what is tested
    scene.stack.sandbox.postgres.resume();
    await allEnd(scene, runs);
  }, 240_000);

  it('[RUN-4] [SVC-1] of the stream, deleted under the services, is bridged by sweeps, and over when it is provisioned again', async () => {
    const password = randomBytes(18).toString('base64url');
    const config = natsConfig({ passwords: scene.stack.site.busPasswords });
    await scene.stack.sandbox.nats.reload(config.replace('users: [', `users: [\n    { user: "breaker", password: "${password}" }`));
    const breaker = await connect({ servers: scene.stack.site.natsUrl, user: 'breaker', pass: password });
    const jsm = await breaker.jetstreamManager();
    try {
      const runs = await several(scene, 1);
      expect(await jsm.streams.delete(RUN_EVENTS_STREAM)).toBe(true);
      await allEnd(scene, [...runs, await scene.start('work')]); // nobody is woken by the bus now
      const admin = await connectBus({ service: 'provisioner', url: scene.stack.site.natsUrl, password: scene.stack.site.busPasswords.provisioner });
      try { expect((await provision(admin)).created).toContain(`stream ${RUN_EVENTS_STREAM}`); } finally { await admin.close(); }
      const last = await scene.start('work');
      await allEnd(scene, [last]);
      const head = await scene.owner<{ p: string }>('select max(position)::text as p from n17q.events');
      await until(async () => {
        const cursor = (await scene.owner<{ p: string }>('select cursor_position::text as p from n17q.relay'))[0]?.p;
        return Number(cursor) >= Number(head[0]?.p) || undefined;
      }, { withinMs: 60_000, everyMs: 100, what: 'the relay to have told the new stream everything' });
      expect((await jsm.streams.info(RUN_EVENTS_STREAM)).state.messages).toBeGreaterThan(0);
    } finally {
      await breaker.close();
      await scene.stack.sandbox.nats.reload(config);
    }
  }, 240_000);

  it('[RUN-4] of all services at once loses nothing: started again, they go on where the log says', async () => {
    const runs = await several(scene, 3);
    await Promise.all(SERVICES.map((s) => scene.stack.service(s).kill()));
    await Promise.all(SERVICES.map((s) => scene.stack.service(s).restart()));
    await allEnd(scene, runs);
  }, 240_000);

  it('[RUN-1] [RUN-4] that cuts replies on their way leaves each append in once or not at all, as its caller was told', async () => {
    const proxy = await startProxy({ targetHost: '127.0.0.1', targetPort: scene.stack.sandbox.nats.port });
    const bus = await connectBus({ service: 'api', url: `nats://127.0.0.1:${proxy.port}`, password: scene.stack.site.busPasswords.api, reconnectWaitMs: 50 });
    const runs: RunId[] = [];
    for (let i = 0; i < 4; i++) runs.push(await scene.stack.createRun({ goal: 'script=none case=notes', title: 'notes', budget: { usd_micros: 0, tokens: 0, calls: 0 } }));
    for (const r of runs) await scene.stack.waitFor(r, (l) => l.at(-1)?.type === 'checkpoint.sealed' && l.some((e) => e.type === 'generation.denied'), 'the run to come to rest', 60_000);
    const recorders = runs.flatMap((run) => Array.from({ length: 2 }, (_, w) => ({ run, recorder: new HistoryRecorder(`${run}-${w}`) })));
    const firsts = new Map<RunId, number>();
    for (const r of runs) firsts.set(r, (await scene.stack.events(r)).length);
    let writing = true;
    const writers = recorders.map(async ({ run, recorder }) => {
      let expected = firsts.get(run) as number;
      for (let n = 0; n < 25; n++) {
        const note = contentOf(`note ${n}`, 'input');
        const event = { eventId: randomUUID(), type: 'note.added', data: { text: note.ref, visibility: 'run' } };
        const body = { tenant: scene.stack.tenant, stream: runStream(run), expected, appendId: randomUUID(), actor: { kind: 'person', id: 'operator' }, correlation: run, causation: null, events: [event], contents: [{ ref: note.ref, salt: Buffer.from(note.salt).toString('base64'), body: Buffer.from(note.body).toString('base64') }] };
        for (let tries = 0; tries < 40; tries++) {
          const call = recorder.append({ run, appendId: body.appendId, expectedRevision: expected, events: [{ eventId: event.eventId, digest: sha256(note.ref.commitment) }] });
          const o = await request<AppendOutcome>(bus, storeSubject('append', 'api'), body, { timeoutMs: 700 });
          if (o.kind !== 'answered' || o.value.kind === 'busy') { call.unknown(); await delay(50); continue; }
          if (o.value.kind === 'appended') { call.ok([o.value.first]); expected = o.value.last; } else if (o.value.kind === 'conflict') { call.conflict(o.value.revision); expected = o.value.revision; } else throw new Error(o.value.message);
          break;
        }
      }
    });
    const cutting = (async () => {
      while (writing) {
        await delay(150);
        proxy.dropReplies(true);
        await delay(120);
        proxy.dropReplies(false); // resets the connections that lost bytes
        await delay(250);
        proxy.cut();
        proxy.restore();
      }
    })();
    try { await Promise.all(writers); } finally { writing = false; await cutting; await bus.close(500); await proxy.close(); }
    const rows: FinalRow[] = [];
    for (const r of runs) for (const e of await scene.stack.events(r)) rows.push({ run: r, revision: e.revision, position: e.position.split(':').at(-1) ?? '', eventId: e.eventId, appendId: e.appendId, digest: sha256(e.type === 'note.added' ? e.data.text.commitment : '') });
    const { violations, judged } = judgeHistory(recorders.flatMap((x) => x.recorder.operations), rows, { othersWrite: true });
    expect(violations.filter((v) => v.check !== 'POSITIONS')).toEqual([]); // other runs hold the positions between
    expect(judged.ok).toBeGreaterThan(50);
    expect(judged.unknown).toBeGreaterThan(3);
  }, 240_000);

  it('[RUN-4] of NATS for 60 s, beyond its client\'s own patience, is waited out by every service', async () => {
    await long;
  }, 240_000);
});
