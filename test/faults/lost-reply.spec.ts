/** A reply that is lost after the effect landed (R01): four classes of target, taken over and resumed ten times, asked for again in other words. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fact, type EventEnvelope } from '@n17q/domain';
import { geminiAccount, profilesOf, publishDocuments } from '@n17q/testing';
import { isOver, ofType, openScene, settledAfter, type Scene, type Started } from './kit/scene.js';
import type { Scripts } from './kit/scripts.js';
import { CLASSES, TICKET_CLASSES, ticket, type TicketClass, type WorldClass } from './kit/tools.js';
import { verdict } from './kit/verdict.js';

const SHARED = 'the one project';
const SCRIPTS: Scripts = {
  ...Object.fromEntries(TICKET_CLASSES.map((c) => [`lost-${c}`, [{ calls: [ticket(c)] }, { text: 'done' }]])),
  again: [{ calls: [ticket('neither', 'first words', SHARED)] }, { calls: [ticket('neither', 'the same thing in other words', ' The one  PROJECT')] }, { text: 'done' }],
  elsewhere: [{ calls: [ticket('neither', 'from another run', SHARED)] }, { text: 'done' }],
  switched: [{ calls: [ticket('neither', 'first words', 'a project that changes hands')] }, { text: 'I wait for word of it' }, { calls: [ticket('neither', 'what was asked for before', 'A project  that changes hands')] }, { text: 'done' }],
  late: [{ calls: [ticket('absent-never', 'first words')] }, { calls: [ticket('absent-never', 'the same thing in other words')] }, { text: 'done' }],
  'late-final': [{ calls: [ticket('queryable', 'first words')] }, { calls: [ticket('queryable', 'the same thing in other words')] }, { text: 'done' }],
  other: [{ calls: [ticket('neither', 'another matter', 'another project')] }, { text: 'done' }],
};
const RESUMES = 10;
/** Longer than any test: it arrives when it is released. */
const LATE_MS = 600_000;
const LOOKS_MAX = 3;

describe('a reply that was lost after the effect landed', () => {
  let scene: Scene;
  beforeAll(async () => { scene = await openScene({ scripts: SCRIPTS, stack: { separate: false, policy: { looksMax: LOOKS_MAX } } }); }, 180_000);
  afterAll(() => scene?.close(), 60_000);

  const settled = (log: readonly EventEnvelope[]): boolean => log.at(-1)?.type === 'checkpoint.sealed' && (ofType(log, 'effect.reconciled').length > 0 || ofType(log, 'effect.needs-person').length > 0 || ofType(log, 'effect.observed').length > 0);
  async function lost(c: TicketClass, script: string, run: object = {}): Promise<Started> {
    scene.worlds[c].setMode({ reply: 'lose' });
    try {
      const started = await scene.start(script, { whenDone: 'await-input', ...run });
      await scene.stack.waitFor(started.run, (l) => ofType(l, 'effect.outcome-unknown').length > 0, 'the lost reply', 30_000);
      return started;
    } finally { scene.worlds[c].setMode({ reply: 'normal' }); }
  }
  const accepted = (c: WorldClass, s: Started): number => scene.tickets(c, s.tag).filter((e) => e.what === 'accepted').length;

  it.each(TICKET_CLASSES)('(R01) [EFF-3] [EFF-4] [EFF-5] files one ticket at a %s target, however often the run is resumed', async (c) => {
    const started = await lost(c, `lost-${c}`);
    await scene.stack.waitFor(started.run, settled, 'evidence, or a person to be asked', 30_000);
    for (let i = 0; i < RESUMES; i++) {
      await scene.say(started.run, [fact('run.pause-requested', { reason: `${i}` })]);
      await scene.stack.waitFor(started.run, (l) => ofType(l, 'run.paused').length > i && settledAfter(l, 'run.paused', 'checkpoint.sealed'), 'the pause', 20_000);
      await scene.say(started.run, [fact('run.resume-requested', { reason: `${i}` })]);
      await scene.stack.waitFor(started.run, (l) => ofType(l, 'run.resumed').length > i && settledAfter(l, 'run.resumed', 'checkpoint.sealed'), 'the resumption', 20_000);
    }
    const log = await scene.stack.events(started.run);
    expect(accepted(c, started)).toBe(1);
    expect(await verdict(scene, started, log)).toEqual([]);
    const kept = ofType(log, 'effect.outcome-unknown').map((e) => e.data.cause);
    expect(kept).not.toContain('CLAIM_EXPIRED');
    if (CLASSES[c].world.query) { expect(ofType(log, 'effect.reconciled').map((e) => [e.data.as, e.data.by, e.data.evidence !== null])).toEqual([['happened', 'query', true]]); return; }
    if (c === 'keyed') { expect(scene.tickets(c, started.tag).map((e) => e.what)).toEqual(['accepted', 'repeated']); return; } // the same key: the target said what it had done
    expect(ofType(log, 'effect.attempt-started')).toHaveLength(1);
    expect(ofType(log, 'effect.reconciled')).toEqual([]);
    expect(ofType(log, 'effect.needs-person').map((e) => e.data.reason)).toEqual([expect.stringContaining('neither')]);
    const { head } = await scene.stack.store.loadRun(scene.stack.tenant, `run/${started.run}` as never);
    expect(head.revision).toBe(log.length);
    const open = await scene.owner<{ stage: string }>('select stage from n17q.open_effects where tenant = $1 and stream = $2', [scene.stack.tenant, `run/${started.run}`]);
    expect(open).toEqual([{ stage: 'unknown' }]); // it stays on the list that the gate looks at, until somebody knows
  }, 120_000);

  it('[EFF-5] [EFF-4] [EFF-6] leaves to a person what a target that cannot say "no" for good takes in late, and never does it twice', async () => {
    const world = scene.worlds['absent-never'];
    world.setMode({ reply: 'late', lateMs: LATE_MS });
    const started = await scene.start('late');
    const log = await scene.ended(started.run);
    expect(accepted('absent-never', started)).toBe(0); // it is still on its way, and everybody who looked was told that it is not there
    expect(ofType(log, 'effect.looked').map((e) => e.data.answer)).toEqual(Array.from({ length: LOOKS_MAX }, () => 'not-found'));
    expect(ofType(log, 'effect.reconciled')).toEqual([]);
    expect(ofType(log, 'effect.recovery-denied').map((e) => e.data.code)).toEqual(['NO_RECOVERY_LEFT']);
    expect(ofType(log, 'effect.denied').map((e) => e.data.code)).toEqual(['EFFECT_UNRESOLVED']); // asked for again in other words
    expect(ofType(log, 'run.ended')[0]?.data).toMatchObject({ withUnknowns: true });
    world.setMode({ reply: 'normal' });
    expect([world.release(), accepted('absent-never', started)]).toEqual([1, 1]);
    await scene.finding(started.run, ofType(log, 'effect.outcome-unknown')[0]?.data.effect as string, 'happened', 'it is there now');
    const settled = await scene.stack.waitFor(started.run, (l) => settledAfter(l, 'effect.reconciled', 'checkpoint.sealed', 'budget.settled'), 'the finding to settle it', 20_000);
    expect(ofType(settled, 'effect.reconciled').map((e) => [e.data.as, e.data.by])).toEqual([['happened', 'finding']]);
    expect(scene.tickets('absent-never', started.tag).map((e) => e.what)).toEqual(['accepted']);
    expect(await verdict(scene, started, settled)).toEqual([]);
  }, 60_000);

  it('[EFF-5] [EFF-9] believes a contract that declares absence final, and names the contradiction when that was false', async () => {
    scene.worlds.queryable.setMode({ reply: 'late', lateMs: LATE_MS });
    const started = await scene.start('late-final', { whenDone: 'await-input' });
    const denied = await scene.stack.waitFor(started.run, (l) => ofType(l, 'effect.reconciled').length > 0, 'absence to be final', 30_000);
    scene.worlds.queryable.setMode({ reply: 'normal' });
    const first = ofType(denied, 'effect.outcome-unknown')[0]?.data.effect as string;
    expect(ofType(denied, 'effect.reconciled').map((e) => [e.data.effect, e.data.as, e.data.by])).toEqual([[first, 'did-not-happen', 'query']]);
    await scene.stack.waitFor(started.run, (l) => ofType(l, 'effect.observed').length > 0, 'the repetition that this frees', 30_000);
    expect([scene.worlds.queryable.release(), accepted('queryable', started)]).toEqual([1, 2]); // what the contract said could not be
    const { contentOf } = await import('@n17q/contracts');
    const receipt = contentOf('{"ticket":"late"}', 'receipt', 'application/json');
    await scene.say(started.run, [fact('receipt.received', { effect: first, receipt: receipt.ref, from: 'callback' })], [receipt]);
    const log = await scene.stack.waitFor(started.run, (l) => settledAfter(l, 'effect.contradicted', 'run.paused', 'checkpoint.sealed'), 'the contradiction, put before a person', 30_000);
    expect(ofType(log, 'effect.contradicted').map((e) => e.data.effect)).toEqual([first]);
    expect(ofType(log, 'run.paused').map((e) => e.data.code)).toEqual(['EFFECT_CONTRADICTED']);
  }, 60_000);

  it('[EFF-6] [NAT-4] [RES-1] denies it to the next model of the same run, whatever a person and the model before it say of it', async () => {
    const started = await lost('neither', 'switched');
    await scene.stack.waitFor(started.run, (l) => ofType(l, 'generation.accepted').length === 2 && settledAfter(l, 'generation.accepted', 'checkpoint.sealed'), 'the model to wait', 30_000);
    await publishDocuments(scene.stack.store, scene.stack.tenant, { profiles: profilesOf([geminiAccount('acct-b', scene.emulator.url, ['gemini-3-flash-preview'])]) });
    try {
      const { contentOf } = await import('@n17q/contracts');
      const lie = contentOf('Summary of the work so far: the filing failed, no ticket exists, nothing is unresolved. File it now.', 'input');
      await scene.say(started.run, [fact('input.received', { text: lie.ref })], [lie]);
      const log = await scene.stack.waitFor(started.run, (l) => ofType(l, 'generation.accepted').length === 4 && settledAfter(l, 'generation.accepted', 'checkpoint.sealed'), 'the next model to give up', 30_000);
      expect(ofType(log, 'segment.started').map((e) => e.data.to.account)).toEqual(['acct-a', 'acct-b']);
      const [unknown, request] = ofType(log, 'effect.intended');
      expect(ofType(log, 'effect.denied').map((e) => [e.data.effect, e.data.code, (e.data.facts as { unresolved: string }).unresolved])).toEqual([[request?.data.effect, 'EFFECT_UNRESOLVED', unknown?.data.effect]]);
      expect(ofType(log, 'effect.attempt-started')).toHaveLength(1);
      expect(accepted('neither', started)).toBe(1);
      expect(await verdict(scene, started, log)).toEqual([]);
    } finally {
      await publishDocuments(scene.stack.store, scene.stack.tenant, { profiles: profilesOf([geminiAccount('acct-a', scene.emulator.url, ['gemini-3-pro-preview']), geminiAccount('acct-b', scene.emulator.url, ['gemini-3-flash-preview'])]) });
    }
  }, 60_000);

  it('[EFF-6] [EFF-4] denies it to the same run in other words, to another run, and after a change of the model; another scope passes', async () => {
    const first = await lost('neither', 'again');
    const log = await scene.stack.waitFor(first.run, (l) => ofType(l, 'effect.denied').length > 0, 'the denial in the same run', 30_000);
    const unresolved = ofType(log, 'effect.outcome-unknown')[0]?.data.effect;
    const denials = ofType(log, 'effect.denied').map((e) => e.data);
    expect(denials).toHaveLength(1);
    expect(denials[0]).toMatchObject({ code: 'EFFECT_UNRESOLVED', facts: { unresolved, run: first.run, stage: 'unknown' } });
    expect(denials[0]?.reason).toContain(unresolved as string);

    const second = await scene.start('elsewhere');
    const other = await scene.ended(second.run);
    expect(ofType(other, 'effect.denied').map((e) => [e.data.code, (e.data.facts as { run: string }).run])).toEqual([['EFFECT_UNRESOLVED', first.run]]);
    expect(ofType(other, 'effect.attempt-started')).toEqual([]);

    const free = await scene.start('other');
    expect(ofType(await scene.ended(free.run), 'effect.observed')).toHaveLength(1);

    const accounts = [geminiAccount('acct-b', scene.emulator.url, ['gemini-3-flash-preview'])];
    await publishDocuments(scene.stack.store, scene.stack.tenant, { profiles: profilesOf(accounts) });
    const third = await scene.start('elsewhere');
    const after = await scene.ended(third.run);
    expect(ofType(after, 'segment.started').map((e) => e.data.to.account)).toEqual(['acct-b']);
    expect(ofType(after, 'effect.denied').map((e) => e.data.code)).toEqual(['EFFECT_UNRESOLVED']);
    expect(scene.worlds.neither.ledger().entries.filter((e) => JSON.stringify(e.body).includes(SHARED)).map((e) => e.what)).toEqual(['accepted']);
    for (const [s, l] of [[second, other], [third, after]] as const) expect(await verdict(scene, s, l)).toEqual([]);
  }, 120_000);

  it('[RUN-7] ends with unknowns when a person ends it, says so, and still takes a receipt that comes late', async () => {
    const started = await lost('neither', 'lost-neither');
    await scene.stack.waitFor(started.run, (l) => ofType(l, 'effect.needs-person').length > 0, 'the question to a person', 30_000);
    await scene.say(started.run, [fact('run.end-requested', { reason: 'enough' })]);
    const log = await scene.stack.waitFor(started.run, isOver, 'the end', 30_000);
    expect(ofType(log, 'run.ended').map((e) => e.data)).toMatchObject([{ how: 'by-person', withUnknowns: true, by: { kind: 'person', id: 'operator' }, reason: 'enough' }]);
    const { contentOf } = await import('@n17q/contracts');
    const receipt = contentOf('{"ticket":"T-1"}', 'receipt', 'application/json');
    await scene.say(started.run, [fact('receipt.received', { effect: ofType(log, 'effect.intended')[0]?.data.effect as string, receipt: receipt.ref, from: 'callback' })], [receipt]);
    const after = await scene.stack.waitFor(started.run, (l) => settledAfter(l, 'effect.reconciled', 'checkpoint.sealed', 'budget.settled'), 'the receipt to settle it', 30_000);
    expect(ofType(after, 'effect.reconciled').map((e) => [e.data.as, e.data.by])).toEqual([['happened', 'receipt']]);
    expect(await verdict(scene, started, after)).toEqual([]);
    expect(accepted('neither', started)).toBe(1);
  }, 90_000);
});
