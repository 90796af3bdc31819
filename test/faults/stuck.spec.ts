/** Killed inside a tool (R12): one call finished, one in the world without a word, one not started. Never stuck, never unusable, also without any model. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { fact, type EventEnvelope } from '@n17q/domain';
import { geminiAccount, profilesOf, publishDocuments, until } from '@n17q/testing';
import { policyWith } from './kit/policies.js';
import { LEASE_MS, ofType, openScene, settledAfter, type Scene, type Started } from './kit/scene.js';
import { verdict } from './kit/verdict.js';

const SCRIPTS = {
  three: [
    { calls: [{ tool: 'read_file', args: { path: 'README.md' } }, { tool: 'ticket_neither', args: { project: '$TAG', title: '$TAG', body: 'b' } }, { tool: 'write_file', args: { path: 'NOTE.md', content: 'n' } }] },
    { text: 'I wait for word of the ticket' }, { text: 'now I know' },
  ],
  hangs: [{ calls: [{ tool: 'ticket_neither', args: { project: '$TAG', title: '$TAG', body: 'b' } }] }, { text: 'I was told' }],
};

describe('a run whose tool call was cut in the middle (R12)', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene({ scripts: SCRIPTS, stack: { policy: policyWith({ ask: ['write_file'] }) } });
  }, 180_000);
  afterAll(() => scene?.close(), 60_000);
  afterEach(() => { scene.worlds.neither.setMode({ reply: 'normal' }); scene.worlds.neither.release(); });

  const effectOf = (log: readonly EventEnvelope[], tool: string): string => ofType(log, 'effect.intended').find((e) => e.data.tool === tool)?.data.effect as string;
  const attempts = (log: readonly EventEnvelope[], tool: string): number => ofType(log, 'effect.attempt-started').filter((e) => e.data.effect === effectOf(log, tool)).length;
  async function cutInTheMiddle(): Promise<{ started: Started; log: readonly EventEnvelope[] }> {
    scene.worlds.neither.setMode({ reply: 'hold' });
    const started = await scene.start('three', { whenDone: 'await-input' });
    await until(() => scene.tickets('neither', started.tag).length > 0 || undefined, { withinMs: 60_000, what: 'the ticket to arrive' });
    const log = await scene.stack.waitFor(started.run, (l) => ofType(l, 'approval.requested').length > 0 && ofType(l, 'effect.observed').length > 0, 'one call done and one asked about', 30_000);
    return { started, log };
  }

  it.each(['the reconciler alone', 'the reconciler, and Postgres while it recovers'])('[SEAL-4] [EFF-3] [EFF-4] [RUN-4] keeps what was done, asks about what may have been, and does the rest once, after the death of %s', async (who) => {
    const { started } = await cutInTheMiddle();
    await scene.stack.service('effect-reconciler').kill();
    if (who.includes('Postgres')) { await scene.stack.sandbox.postgres.kill(); }
    await Promise.all([scene.stack.service('effect-reconciler').restart(), who.includes('Postgres') ? scene.stack.sandbox.postgres.restart() : undefined]);
    const asked = await scene.stack.waitFor(started.run, (l) => settledAfter(l, 'effect.needs-person', 'checkpoint.sealed'), 'a person to be asked', 30_000);
    const unknown = ofType(asked, 'effect.outcome-unknown')[0];
    const claimed = ofType(asked, 'effect.attempt-started').find((e) => e.data.effect === effectOf(asked, 'ticket_neither'));
    expect(unknown?.data).toMatchObject({ effect: effectOf(asked, 'ticket_neither'), cause: 'CLAIM_EXPIRED' });
    expect((unknown?.recordedAt ?? 0) - (claimed?.recordedAt ?? 0)).toBeGreaterThanOrEqual(LEASE_MS); // not before others may look
    const approval = ofType(asked, 'approval.requested')[0];
    await scene.say(started.run, [fact('approval.decided', { approval: approval?.data.approval as string, subject: approval?.data.subject as never, decision: 'approved', note: 'fine' })]);
    const log = await scene.stack.waitFor(started.run, (l) => ofType(l, 'generation.accepted').length === 2 && settledAfter(l, 'generation.accepted', 'checkpoint.sealed'), 'the model to be told', 60_000);
    expect([attempts(log, 'read_file'), attempts(log, 'ticket_neither'), attempts(log, 'write_file')]).toEqual([1, 1, 1]);
    expect(ofType(log, 'effect.observed').map((e) => e.data.effect)).toEqual([effectOf(log, 'read_file'), effectOf(log, 'write_file')]);
    expect(scene.wire(started.tag).map((w) => w.refused)).toEqual([undefined, undefined]); // every call has its answer, in its place
    expect(scene.wire(started.tag)[1]?.body).toContain('OUTCOME UNKNOWN');
    expect(await verdict(scene, started, log)).toEqual([]);
    expect(scene.tickets('neither', started.tag)).toHaveLength(1);
  }, 180_000);

  it('[EFF-5] [RUN-2] is settled by a person with no model provider configured at all, and goes on when there is one again', async () => {
    const { started } = await cutInTheMiddle();
    await scene.stack.service('effect-reconciler').kill();
    await scene.stack.service('effect-reconciler').restart();
    const asked = await scene.stack.waitFor(started.run, (l) => settledAfter(l, 'effect.needs-person', 'checkpoint.sealed'), 'a person to be asked', 30_000);
    await publishDocuments(scene.stack.store, scene.stack.tenant, { profiles: { accounts: [], preference: [] } });
    await scene.finding(started.run, effectOf(asked, 'ticket_neither'), 'happened', 'it is in the tracker');
    const settled = await scene.stack.waitFor(started.run, (l) => ofType(l, 'effect.reconciled').length > 0, 'the finding to settle it', 30_000);
    expect(ofType(settled, 'effect.reconciled').map((e) => [e.data.as, e.data.by])).toEqual([['happened', 'finding']]);
    const approval = ofType(settled, 'approval.requested')[0];
    await scene.say(started.run, [fact('approval.decided', { approval: approval?.data.approval as string, subject: approval?.data.subject as never, decision: 'rejected', note: 'not needed' })]);
    const waiting = await scene.stack.waitFor(started.run, (l) => settledAfter(l, 'context.blocked', 'checkpoint.sealed'), 'the run to wait for a model', 30_000);
    expect(ofType(waiting, 'context.blocked').map((e) => e.data.code)).toEqual(['NO_ROUTE']);
    await publishDocuments(scene.stack.store, scene.stack.tenant, { profiles: profilesOf([geminiAccount('acct-a', scene.emulator.url, ['gemini-3-pro-preview'])]) });
    const log = await scene.stack.waitFor(started.run, (l) => ofType(l, 'generation.accepted').length === 2 && settledAfter(l, 'generation.accepted', 'checkpoint.sealed'), 'the run to go on', 60_000);
    expect(await verdict(scene, started, log)).toEqual([]);
    expect(attempts(log, 'write_file')).toBe(0);
    expect(ofType(log, 'effect.denied').map((e) => e.data.code)).toEqual(['NOT_APPROVED']);
    expect(scene.tickets('neither', started.tag)).toHaveLength(1);
  }, 180_000);

  it('[EFF-3] [EFF-4] is not held up for ever by a tool that never answers', async () => {
    scene.worlds.neither.setMode({ reply: 'hold' });
    const started = await scene.start('hangs');
    const log = await scene.ended(started.run, 60_000);
    expect(ofType(log, 'effect.outcome-unknown').map((e) => e.data.cause)).toEqual(['TIMEOUT']);
    expect(ofType(log, 'run.ended')[0]?.data).toMatchObject({ withUnknowns: true });
    expect(await verdict(scene, started, log)).toEqual([]);
    expect(scene.tickets('neither', started.tag)).toHaveLength(1);
  }, 90_000);
});
