/** Protocol state over the death of the gateway (G02): rebuilt from the store, verified before it is sent, refused where it is not whole. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventEnvelope } from '@n17q/domain';
import { geminiAccount, profilesOf, publishDocuments } from '@n17q/testing';
import { arm, diedAt } from './kit/arm.js';
import { carriersIn } from './kit/judges.js';
import { ofType, openScene, settledAfter, type Scene } from './kit/scene.js';
import { doctorVerdict, verdict } from './kit/verdict.js';

const STEPS = [
  { thought: 'what is there', calls: [{ tool: 'list_files', args: {} }] }, { calls: [{ tool: 'read_file', args: { path: 'README.md' } }, { tool: 'read_file', args: { path: 'package.json' } }] },
  { calls: [{ tool: 'ticket_queryable', args: { project: '$TAG', title: '$TAG', body: 'b' } }] }, { text: 'done' },
];

describe('the continuation of a model\'s turn', () => {
  let scene: Scene;
  beforeAll(async () => { scene = await openScene({ scripts: { turn: STEPS } }); }, 180_000);
  afterAll(() => scene?.close(), 60_000);

  /** Runs until the gateway is about to make the request after the second results, and is dead there. */
  async function deadBeforeThird(): Promise<{ run: string; tag: string }> {
    await arm(scene.stack, 'provider-gateway', 'generation.before-request-after-results:kill@3');
    const started = await scene.start('turn');
    await diedAt(scene.stack, 'provider-gateway', 'generation.before-request-after-results', 60_000);
    return started;
  }
  const resend = async (body: string): Promise<number> => (await fetch(`${scene.emulator.url}/v1beta/models/gemini-3-pro-preview:generateContent`, { method: 'POST', headers: { 'content-type': 'application/json', 'x-goog-api-key': 'key-a' }, body })).status;
  const tail = (log: readonly EventEnvelope[], type: EventEnvelope['type']) => log.filter((e) => e.type === type);

  it('[CON-4] [CTX-8] [RUN-4] is rebuilt after a kill between the tool result and the next request, and the provider takes it', async () => {
    const started = await deadBeforeThird();
    const before = scene.wire(started.tag).length;
    await scene.stack.service('provider-gateway').restart();
    const log = await scene.ended(started.run as never);
    expect(await verdict(scene, started as never, log)).toEqual([]);
    expect(ofType(log, 'generation.started').map((e) => e.data.form)).toEqual(['first', 'continued', 'continued', 'continued']);
    for (const e of ofType(log, 'effect.attempt-started')) expect(e.data.attemptNumber).toBe(1);
    expect((await doctorVerdict(scene)).wrong).toEqual([]);
    const third = scene.wire(started.tag)[before]?.body ?? '';
    const carriers = carriersIn([third]);
    expect(carriers.length).toBeGreaterThanOrEqual(2); // both steps' pieces, not the last one's alone
    expect(await resend(third)).toBe(200);
    const cut = (body: string, c: string): string => body.replaceAll(`,"thoughtSignature":"${c}"`, '').replaceAll(`"thoughtSignature":"${c}",`, '');
    for (const c of carriers) {
      const less = cut(third, c);
      expect(JSON.stringify(JSON.parse(less))).not.toContain(c);
      expect(third.length - less.length).toBe(c.length + '"thoughtSignature":"",'.length); // nothing but the piece is gone
    }
    const calls = (JSON.parse(third) as { contents: { role: string; parts: { functionCall?: object; thoughtSignature?: string }[] }[] }).contents.flatMap((x) => x.parts).filter((x) => x.functionCall !== undefined && x.thoughtSignature !== undefined);
    expect(calls.length).toBeGreaterThanOrEqual(2);
    for (const call of calls) expect(await resend(cut(third, call.thoughtSignature as string))).toBe(400); // each step's own, not only the last
    const none = carriers.reduce(cut, third);
    expect(await resend(none)).toBe(400);
    expect(await resend(third.replace(carriers.at(-1) as string, (carriers.at(-1) as string).replace(/^./u, (x) => (x === 'A' ? 'B' : 'A'))))).toBe(400);
  }, 150_000);

  it('[CON-4] [CON-2] stops before sending, and names the step, when a piece is gone from the store', async () => {
    const started = await deadBeforeThird();
    const before = scene.wire(started.tag).length;
    const steps = (await scene.stack.events(started.run as never)).flatMap((e) => (e.type === 'generation.accepted' ? e.data.continuations.map((c) => ({ generation: e.data.generation, sealed: c.sealed.commitment })) : []));
    expect(steps.length).toBeGreaterThanOrEqual(2);
    expect(await scene.owner('delete from n17q.contents where tenant = $1 and commitment = $2 returning commitment', [scene.stack.tenant, steps[0]?.sealed])).toHaveLength(1);
    await scene.stack.service('provider-gateway').restart();
    const log = await scene.stack.waitFor(started.run as never, (l) => settledAfter(l, 'generation.blocked', 'checkpoint.sealed'), 'the gateway to stop', 60_000);
    const [blocked] = ofType(log, 'generation.blocked');
    expect(blocked?.data).toMatchObject({ code: 'PROTOCOL_STATE_MISSING', facts: { generation: steps[0]?.generation, step: 1 } });
    expect(blocked?.data.reason).toContain('protocol state missing');
    expect(scene.wire(started.tag)).toHaveLength(before);
    expect(ofType(log, 'generation.started').filter((e) => e.data.generation === blocked?.data.generation)).toEqual([]);
  }, 150_000);

  it('[CON-2] [CON-1] does not send a piece whose bytes in the store were replaced', async () => {
    const started = await deadBeforeThird();
    const before = scene.wire(started.tag).length;
    const sealed = (await scene.stack.events(started.run as never)).flatMap((e) => (e.type === 'generation.accepted' ? e.data.continuations.map((c) => c.sealed.commitment) : []));
    expect(await scene.owner('update n17q.contents set body = $3 where tenant = $1 and commitment = $2 returning commitment', [scene.stack.tenant, sealed[0], Buffer.alloc(80, 7)])).toHaveLength(1);
    await scene.stack.service('provider-gateway').restart();
    const log = await scene.stack.waitFor(started.run as never, (l) => ofType(l, 'generation.blocked').length > 0, 'the gateway to stop', 60_000);
    expect(ofType(log, 'generation.blocked')[0]?.data.code).toMatch(/^(PROTOCOL_STATE_MISSING|CONTINUATION_ALTERED)$/);
    expect(scene.wire(started.tag)).toHaveLength(before);
  }, 150_000);

  it('[CON-5] [RES-9] is not kept in a run that keeps metadata only: it says so, and goes on reconstructed', async () => {
    const started = await scene.start('turn', { retention: 'metadata-only' });
    const log = await scene.ended(started.run);
    expect(await verdict(scene, started, log)).toEqual([]);
    expect(ofType(log, 'continuation.retained')).toEqual([]);
    expect(new Set(ofType(log, 'generation.accepted').map((e) => e.data.recoverable))).toEqual(new Set(['unavailable']));
    expect(ofType(log, 'generation.started').map((e) => e.data.form)).toEqual(['first', 'reconstructed', 'reconstructed', 'reconstructed']);
    expect(ofType(log, 'context.compiled').slice(1).map((e) => e.data.because)).toEqual(Array.from({ length: 3 }, () => expect.stringContaining('exact recovery is unavailable')));
    expect(await scene.owner('select commitment from n17q.contents where tenant = $1 and stream = $2 and class = $3', [scene.stack.tenant, `run/${started.run}`, 'continuation'])).toEqual([]);
    expect(carriersIn(scene.wire(started.tag).map((w) => w.body))).toEqual([]);
  }, 90_000);

  it('[RES-3] [RES-8] [RES-9] [RUN-2] [NAT-1] [CON-2] goes on with another account and model when the first is removed: a new segment, told from the record', async () => {
    const started = await deadBeforeThird();
    scene.emulator.removeAccount('acct-a');
    try {
      await publishDocuments(scene.stack.store, scene.stack.tenant, { profiles: profilesOf([geminiAccount('acct-b', scene.emulator.url, ['gemini-3-flash-preview'])]) });
      await scene.stack.service('provider-gateway').restart();
      const log = await scene.ended(started.run as never, 60_000);
      expect(await verdict(scene, started as never, log)).toEqual([]);
      const segments = ofType(log, 'segment.started');
      expect(segments.map((e) => [e.data.segment, e.data.from?.account ?? null, e.data.to.account])).toEqual([[1, null, 'acct-a'], [2, 'acct-a', 'acct-b']]);
      expect(segments[1]?.data).toMatchObject({ from: { model: 'gemini-3-pro-preview' }, to: { model: 'gemini-3-flash-preview' }, reason: expect.stringContaining('no longer configured'), checkpoint: expect.any(String) });
      expect(ofType(log, 'context.compiled').find((e) => e.revision > (segments[0]?.revision ?? 0) && e.data.route.account === 'acct-b')?.data).toMatchObject({ form: 'reconstructed', opensLineage: true, continuations: [] });
      const wire = scene.wire(started.tag);
      expect(carriersIn(wire.filter((w) => w.account === 'acct-b').map((w) => w.body)).filter((c) => carriersIn(wire.filter((w) => w.account === 'acct-a').map((w) => w.body)).includes(c))).toEqual([]);
      expect(ofType(log, 'provider.observed').length).toBe(ofType(log, 'generation.accepted').length);
      for (const e of ofType(log, 'provider.observed')) expect(e.data.observation).toMatchObject({ responseId: expect.any(String) });
      for (const e of tail(log, 'effect.attempt-started')) expect((e.data as { attemptNumber: number }).attemptNumber).toBe(1);
      expect(scene.tickets('queryable', started.tag).map((e) => e.what)).toEqual(['accepted']);
    } finally {
      scene.emulator.addAccount('acct-a', 'key-a');
    }
  }, 150_000);
});
