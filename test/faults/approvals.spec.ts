/**
 * What a person approved is done exactly, once, and only while all that it rests on stands. Nobody can rewrite the arguments of an accepted call here, so
 * "changed after approval" is tried by what can be tried: a decision on another subject, a later output with other arguments, another mapping.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fact, type EventEnvelope, type ToolMapping } from '@n17q/domain';
import { publishDocuments, until } from '@n17q/testing';
import { digestOf } from '@n17q/contracts';
import { startUnderLastPermit } from './kit/as-service.js';
import { policyWith, RULE_WORDS } from './kit/policies.js';
import { ofType, openScene, settledAfter, type Scene, type Started } from './kit/scene.js';
import type { Scripts } from './kit/scripts.js';
import { CALLS, CLASSES, ticket, toolsFor, WORLD_CLASSES, type WorldClass } from './kit/tools.js';
import { verdict } from './kit/verdict.js';

const page = (text: unknown, version: string) => ({ tool: CLASSES.idempotent.tool, args: { name: '$TAG', text, version } });
const again = (call: (typeof CALLS)['keyed']) => [{ calls: [call] }, { text: 'done' }];
const SCRIPTS: Scripts = {
  reworded: [{ calls: [ticket('neither', 'message A')] }, { calls: [ticket('neither', 'message B')] }, { text: 'done' }],
  'number-as-text': [{ calls: [page(5, '"v0"')] }, { calls: [page('5', '"v1"')] }, { text: 'done' }],
  'key-order': [{ calls: [{ tool: CLASSES.neither.tool, args: { title: 't', project: '$TAG', body: '$TAG' } }] }, { text: 'done' }],
  twice: [{ calls: [ticket('keyed')] }, { calls: [ticket('keyed')] }, { text: 'done' }],
  neither: again(CALLS.neither), keyed: again(CALLS.keyed), queryable: again(CALLS.queryable), idempotent: again(CALLS.idempotent), 'keyed-asked': again(ticket('keyed-asked')), 'absent-never': again(ticket('absent-never')),
};
const ASKED = WORLD_CLASSES.map((c) => CLASSES[c].tool).filter((t) => t !== CLASSES['read-only'].tool);
const PERMIT_LIFE_MS = 120_000;

describe('an approval', () => {
  let scene: Scene;
  let tools: readonly ToolMapping[];
  const policy = (forbid: readonly string[] = [], change: object = {}) => publishDocuments(scene.stack.store, scene.stack.tenant, { policy: policyWith({ ask: ASKED, ...(forbid.length === 0 ? {} : { forbid }) }, { permitLifeMs: PERMIT_LIFE_MS, ...change }) });
  const registry = (documents: readonly ToolMapping[]) => publishDocuments(scene.stack.store, scene.stack.tenant, { registry: { tools: documents } });
  const roles = (...people: readonly string[]) => publishDocuments(scene.stack.store, scene.stack.tenant, { roles: { people: people.map((person) => ({ person, roles: ['operator'] })), delegations: [] } });
  beforeAll(async () => {
    scene = await openScene({ scripts: SCRIPTS });
    tools = toolsFor(Object.fromEntries(WORLD_CLASSES.map((c) => [c, scene.worlds[c].url])) as { [C in WorldClass]: string });
    await policy();
    await roles('operator', 'reviewer');
  }, 180_000);
  afterAll(() => scene?.close(), 60_000);

  const asked = (s: Started, nth = 1): Promise<readonly EventEnvelope[]> => scene.stack.waitFor(s.run, (l) => ofType(l, 'approval.requested').length >= nth && settledAfter(l, 'approval.requested', 'checkpoint.sealed'), 'the question', 30_000);
  const last = (l: readonly EventEnvelope[]) => ofType(l, 'approval.requested').at(-1)?.data as { approval: string; subject: string; expiresAt: number };
  async function decide(s: Started, l: readonly EventEnvelope[], decision: 'approved' | 'rejected' = 'approved', person = 'operator'): Promise<void> {
    const { approval, subject } = last(l);
    await scene.say(s.run, [fact('approval.decided', { approval, subject: subject as never, decision, note: '' })], [], person);
  }
  const arrived = (c: WorldClass, s: Started): readonly string[] => scene.tickets(c, s.tag).map((e) => e.what);
  const denials = (l: readonly EventEnvelope[]) => ofType(l, 'effect.denied').map((e) => e.data);
  /** Model requests between a question and what was done about it: the model is not asked again for an approved call. */
  const askedMeanwhile = (l: readonly EventEnvelope[]): number => { const from = l.findIndex((e) => e.type === 'approval.requested'); const to = l.findIndex((e, i) => i > from && ['effect.observed', 'effect.denied'].includes(e.type)); return l.slice(from, to).filter((e) => e.type === 'generation.started').length; };

  it.each([['reworded', 'neither', 'another message'], ['number-as-text', 'idempotent', 'a number as text']] as const)('[APP-2] [APP-3] [EFF-7] (R04) is for one call alone: %s at %s, %s, is asked about anew', async (script, c, _what) => {
    const s = await scene.start(script);
    const first = await asked(s);
    await decide(s, first);
    const second = await asked(s, 2);
    expect(arrived(c, s)).toEqual(['accepted']);
    expect(last(second).subject).not.toBe(last(first).subject);
    const { approval } = last(second);
    await expect(scene.say(s.run, [fact('approval.decided', { approval, subject: last(first).subject as never, decision: 'approved', note: '' })])).rejects.toThrow(/the approval is for another intent/u);
    await expect(scene.say(s.run, [fact('approval.decided', { approval: last(first).approval, subject: last(first).subject as never, decision: 'approved', note: 'once more' })])).rejects.toThrow(/no approval .* waits for a decision/u); // it is spent
    await decide(s, second, 'rejected');
    const log = await scene.ended(s.run);
    expect(denials(log).map((d) => [d.code, d.reason])).toEqual([['NOT_APPROVED', expect.stringContaining('rejected')]]);
    expect(arrived(c, s)).toEqual(['accepted']);
    expect(askedMeanwhile(log)).toBe(0);
    expect(await verdict(scene, s, log)).toEqual([]);
  }, 60_000);

  it('[APP-2] [APP-1] (R04) does not depend on the order of keys, and the model is not asked again for what was approved', async () => {
    const s = await scene.start('key-order');
    await decide(s, await asked(s));
    const log = await scene.ended(s.run);
    expect(ofType(log, 'approval.requested')).toHaveLength(1);
    expect(scene.tickets('neither', s.tag).map((e) => Object.keys(e.body as object))).toEqual([['body', 'project', 'title']]); // as normalised, whatever the model wrote
    expect(askedMeanwhile(log)).toBe(0);
    expect(await verdict(scene, s, log)).toEqual([]);
  }, 60_000);

  it.each<[string, (t: ToolMapping) => ToolMapping]>([
    ['target', (t) => ({ ...t, target: `${t.target}/elsewhere` })],
    ['schema', (t) => ({ ...t, schema: { ...(t.schema as object), description: 'revision 4' }, schemaDigest: digestOf({ ...(t.schema as object), description: 'revision 4' }), mappingRevision: 2 })],
  ])('[APP-2] [TOOL-1] [TOOL-4] [EFF-7] (R04) does not carry over to another %s: refused before a byte left, and asked about anew', async (part, change) => {
    const s = await scene.start('twice');
    const first = await asked(s);
    await registry(tools.map((t) => (t.name === CLASSES.keyed.tool ? change(t) : t)));
    try {
      await decide(s, first);
      const second = await asked(s, 2);
      expect(denials(second)).toMatchObject([{ code: 'TOOL_NOT_MAPPED', reason: expect.stringContaining(`another ${part}`) }]);
      expect(last(second).subject).not.toBe(last(first).subject);
      expect(arrived('keyed', s)).toEqual([]);
      await decide(s, second, 'rejected');
      const log = await scene.ended(s.run);
      expect(arrived('keyed', s)).toEqual([]);
      expect(await verdict(scene, s, log)).toEqual([]);
    } finally { await registry(tools); }
  }, 60_000);

  it('[APP-2] [APP-3] [EFF-7] [POL-1] [POL-2] [TOOL-5] [RES-1] (R05) that waits is worth nothing once it expired, was revoked, policy forbids, the tool is gone or its giver lost the role; after a restart alone it works once', async () => {
    const start = async (script: WorldClass, person = 'operator') => { const s = await scene.start(script); return { c: script, s, person, log: await asked(s) }; };
    await policy([], { approvalLifeMs: 12_000 });
    const expires = await start('absent-never');
    const undecided = await start('absent-never');
    await policy();
    const [revoked, tightened, withdrawn, unroled, restarted] = await Promise.all([start('neither'), start('keyed'), start('idempotent'), start('keyed-asked', 'reviewer'), start('queryable')]);
    const waiting = [expires, revoked, tightened, withdrawn, unroled, restarted];
    scene.stack.service('effect-reconciler').pause(); // the queue that they wait behind
    for (const w of waiting) await decide(w.s, w.log, 'approved', w.person);
    for (const w of waiting) await scene.stack.waitFor(w.s.run, (l) => ofType(l, 'effect.permitted').length > 0 && settledAfter(l, 'effect.permitted', 'checkpoint.sealed'), 'the permit', 30_000);
    scene.stack.service('policy-gate').pause(); // nobody judges anew: the store alone stands between the permit and the attempt

    await scene.say(revoked.s.run, [fact('approval.revoked', { approval: last(revoked.log).approval, reason: 'no longer' })]);
    const word = async (w: { readonly s: Started }) => startUnderLastPermit(scene.stack, w.s.run);
    expect(await word(revoked)).toMatchObject({ kind: 'refused', code: 'ILLEGAL', facts: { why: 'its approval does not stand' } });
    await until(() => Date.now() > last(expires.log).expiresAt || undefined, { withinMs: 20_000, what: 'the approval to run out' });
    expect(await word(expires)).toMatchObject({ kind: 'refused', code: 'PERMIT_EXPIRED' });
    await roles('operator');
    expect(await word(unroled)).toMatchObject({ kind: 'refused', code: 'REQUIREMENT_FAILED', facts: { stream: 'tenant/roles' } });
    await registry(tools.filter((t) => t.name !== CLASSES.idempotent.tool));
    expect(await word(withdrawn)).toMatchObject({ kind: 'refused', code: 'REQUIREMENT_FAILED', facts: { stream: 'tenant/registry' } });
    await policy([CLASSES.keyed.tool]);
    expect(await word(tightened)).toMatchObject({ kind: 'refused', code: 'REQUIREMENT_FAILED', facts: { stream: 'tenant/policy' } });
    for (const w of waiting) expect(ofType(await scene.stack.events(w.s.run), 'effect.attempt-started')).toEqual([]);

    scene.stack.service('policy-gate').resume();
    await scene.stack.service('effect-reconciler').restart();
    const reasons = new Map<string, readonly (readonly [string, string])[]>();
    for (const [name, w] of Object.entries({ expires, undecided, revoked, tightened, withdrawn, unroled, restarted })) {
      const log = await scene.ended(w.s.run, 60_000);
      expect(await verdict(scene, w.s, log)).toEqual([]);
      reasons.set(name, denials(log).map((d) => [d.code, d.reason] as const));
      expect([name, arrived(w.c, w.s)]).toEqual([name, name === 'restarted' ? ['accepted'] : []]);
    }
    expect(Object.fromEntries(reasons)).toEqual({
      expires: [['NOT_APPROVED', expect.stringContaining('ran out')]], undecided: [['NOT_APPROVED', expect.stringContaining('expired')]], revoked: [['NOT_APPROVED', expect.stringContaining('revoked')]],
      tightened: [['POLICY_FORBIDS', expect.stringContaining(RULE_WORDS.forbid)]], withdrawn: [['TOOL_NOT_MAPPED', expect.stringContaining('not registered any more')]], unroled: [['NOT_APPROVED', expect.stringContaining('reviewer holds none of the roles')]], restarted: [],
    });
    const history = await scene.stack.events(withdrawn.s.run); // the tool is gone, and can be read as it was
    expect(ofType(history, 'effect.intended').map((e) => [e.data.tool, e.data.contract.kind])).toEqual([[CLASSES.idempotent.tool, 'idempotent']]);
    await Promise.all([registry(tools), policy(), roles('operator', 'reviewer')]);
  }, 120_000);
});
