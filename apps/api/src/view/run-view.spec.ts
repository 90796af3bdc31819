import { describe, expect, it } from '@jest/globals';
import { http } from '@n17q/contracts';
import { emptyRun, type Approval, type Effect, type RunState } from '@n17q/domain';
import { runViewOf } from './run-view.js';
import { actionsOf, moveOf, whoOf } from './words.js';

const NOW = 1_800_000_000_000;
const ref = { commitment: `c1.${'0'.repeat(64)}`, bytes: 1, class: 'tool-arguments', media: 'text/plain' } as const;
const base: RunState = { ...emptyRun('acme', 'r'), revision: 3, status: 'active', lastAt: NOW, task: { goal: { ...ref, class: 'input' }, title: 'T', constraints: [], tools: [], whenDone: 'end', changePolicy: 'allow' } };
const effect = (id: string, stage: Effect['stage'], kind: Effect['contract']['kind'] = 'neither'): Effect => ({
  effect: id, call: `call-${id}`, generation: 'g', segment: 1, tool: 'pay', mapping: { registryRevision: 1, mappingRevision: 1, server: 's', schemaDigest: 'd' }, contract: { kind }, scope: { target: 'bank', fields: { account: 'd' } }, args: ref, subject: 's', key: 'k',
  world: { kind: 'real' }, amounts: { usd_micros: 0, tokens: 0, calls: 1 }, stage, intendedAt: 1, permit: null, reservation: null, attempts: [{ attempt: 'a', owner: 'o', startedAt: NOW, leaseMs: 5, end: stage === 'in-flight' ? 'open' : 'unknown' }], receipts: [], result: null, lookPermit: null, looks: 0, lastLookAt: null, needsPerson: null, unused: 0, duplicated: 0, dataClass: 'internal' as const, migrated: null, erased: false,
});

describe('a run for a person', () => {
  it('[EFF-1] names every unresolved effect with stage, contract, attempts, receipts, what is allowed and what must not be repeated', () => {
    const v = runViewOf({ ...base, effects: { a: effect('a', 'unknown'), b: effect('b', 'in-flight'), c: effect('c', 'observed') } }, null, NOW);
    expect(http.runView.safeParse(v).error).toBeUndefined();
    expect(v.unresolved.map((e) => [e.effect, e.stage, e.contract.kind, e.attempts.length, e.allowed, e.prohibited === null])).toEqual([['a', 'unknown', 'neither', 1, ['wait-for-evidence'], false], ['b', 'in-flight', 'neither', 1, [], false]]);
    expect(v.effects).toHaveLength(3);
  });

  it('[BUD-1] shows what is used, reserved and left of the whole run', () => {
    const amounts = (n: number): { usd_micros: number; tokens: number; calls: number } => ({ usd_micros: n, tokens: n, calls: n });
    const v = runViewOf({ ...base, budget: { ...base.budget, granted: amounts(10), drawn: amounts(8), used: amounts(3), reservations: { r: amounts(2), q: amounts(1) } } }, null, NOW);
    expect(v.budget).toMatchObject({ granted: amounts(10), used: amounts(3), reserved: amounts(3), left: amounts(4) });
  });

  it('[CON-1] holds nothing of a continuation, neither bytes nor where they lie', () => {
    const sealed = { commitment: `c1.${'f'.repeat(64)}`, bytes: 9, class: 'continuation', media: 'x' } as const;
    const lineage: RunState['lineage'] = { lineage: 'l', route: { account: 'a', provider: 'p', adapter: 'x', model: 'm' }, system: ref, tools: ref, open: false, binding: null, retained: [{ handle: 'the-handle', generation: 'g', turn: 1, exact: 'e' }], wirePrefix: null, turn: 1, bytes: 1, items: [{ kind: 'output', generation: 'g', output: ref, continuations: [{ handle: 'the-handle', partIndex: 0, placement: 'side', sealed, exact: 'e' }], turn: 1, calls: [], recoverable: 'exact' }] };
    const text = JSON.stringify(runViewOf({ ...base, lineage }, null, NOW));
    expect([text.includes(sealed.commitment), text.includes('the-handle')]).toEqual([false, false]);
  });

  it('says in a list whom each run waits for, and says nobody only of what has ended', () => {
    const approval: Approval = { approval: 'ap', effect: 'a', subject: 's', stage: 'requested', by: null, beside: [], expiresAt: NOW };
    const blocked = (code: string, waitsFor: 'person' | 'profiles' | 'budget'): Partial<RunState> => ({ blocked: { code, reason: '', waitsFor, facts: {} } });
    const call = { call: 'call-a', tool: 'pay', args: ref, generation: 'g', effect: 'a', refused: null };
    const cases: [Partial<RunState>, string][] = [
      [{ status: 'ended', ...blocked('NO_ROUTE', 'profiles') }, 'nobody: ended'], [{ status: 'paused' }, 'a person: to resume'],
      [blocked('NO_ROUTE', 'profiles'), 'a model account'], [blocked('BUDGET_EXHAUSTED', 'budget'), 'a person: budget'], [blocked('CHANGE_NEEDS_REVIEW', 'person'), 'a person: CHANGE_NEEDS_REVIEW'],
      [{ calls: [call], effects: { a: effect('a', 'awaiting-approval') }, approvals: { ap: approval } }, 'a person: an approval'], [{ calls: [call], effects: { a: effect('a', 'in-flight') } }, 'tools'],
      [{}, 'a person: an input'], [{ finished: 'stop', task: { ...base.task as NonNullable<RunState['task']>, whenDone: 'await-input' } }, 'a person: an input'], [{ finished: 'stop' }, 'policy gate'],
    ];
    for (const [more, who] of cases) expect([more, whoOf({ ...base, ...more })]).toEqual([more, who]);
  });

  it('shows no block and no pause of a run that has ended', () => {
    const v = runViewOf({ ...base, status: 'ended', paused: { code: 'ASKED', reason: '' }, blocked: { code: 'NO_ROUTE', reason: '', waitsFor: 'profiles', facts: {} } }, null, NOW);
    expect([v.blocked, v.paused]).toEqual([null, null]);
  });

  it('[WSP-1] shows which command was run on which state of the workspace, and what changed it', () => {
    const tree = { ...ref, commitment: `c1.${'1'.repeat(64)}` };
    const ran = (t: string | null) => ({ effect: 'a', tool: 'run_tests', tree: t, ok: true, text: ref, revision: 2 });
    const v = runViewOf({ ...base, workspace: { base: 'b', tree }, validations: [ran('c1.old'), ran(tree.commitment), ran(null)], workspaceChanges: [{ effect: 'a', tree: tree.commitment, summary: 'one file' }] }, null, NOW);
    expect(http.runView.safeParse(v).error).toBeUndefined();
    expect([v.validations.map((x) => x.ofPresentTree), v.workspaceChanges]).toEqual([[false, true, false], [{ effect: 'a', tree: tree.commitment, summary: 'one file' }]]);
  });

  it('[BUD-1] shows the time at work as it runs on, and its end', () => {
    const clock = { limitMs: 10_000, spentMs: 4_000, since: NOW };
    expect(runViewOf({ ...base, clock }, null, NOW + 1_000).work).toEqual({ spentMs: 5_000, limitMs: 10_000, atWork: true, endsAt: new Date(NOW + 6_000).toISOString() });
    expect(runViewOf({ ...base, clock: { ...clock, since: null } }, null, NOW + 1_000).work).toEqual({ spentMs: 4_000, limitMs: 10_000, atWork: false, endsAt: null });
  });

  it('[RES-1] [SRC-2] shows what is looked at first after a resume, and which required sources are missing', () => {
    const source = { source: 's', identity: 'page', effect: 'a', tool: 'read', retrievedAt: NOW, content: null, excerpt: ref, required: true, replay: 'live' as const, gap: 'NOT_RETRIEVED: cut', review: 'unreviewed' as const, reviewedBy: null };
    const v = runViewOf({ ...base, lookFirst: ['a'], sources: [source, { ...source, source: 't', identity: 'other', required: false }] }, null, NOW);
    expect([v.lookFirst, v.sources]).toEqual([['a'], { known: 2, omitted: 0, gaps: [{ source: 's', identity: 'page', why: 'NOT_RETRIEVED: cut' }] }]);
  });

  it('says in words whose move it is, and what a person can do', () => {
    const approval: Approval = { approval: 'ap', effect: 'a', subject: 's', stage: 'requested', by: null, beside: [], expiresAt: NOW };
    const cases: [Partial<RunState>, string, readonly string[], readonly string[]][] = [
      [{ status: 'ended', ended: { how: 'completed', withUnknowns: true, by: { kind: 'person', id: 'a' }, reason: '', revision: 3 }, effects: { a: effect('a', 'unknown') } }, 'evidence can still come', ['submit_finding', 'add_note'], ['add_input', 'end_run']],
      [{ status: 'paused', paused: { code: 'ASKED', reason: '' } }, 'paused (ASKED)', ['resume_run', 'continue_provider_response'], ['pause_run']],
      [{ blocked: { code: 'NO_ROUTE', reason: 'none is there', waitsFor: 'profiles', facts: {} } }, 'whoever configures model accounts: none is there (NO_ROUTE)', ['resume_run'], ['decide_approval']],
      [{ approvals: { ap: approval } }, 'waits for an input', ['decide_approval'], ['submit_finding']],
      [{ status: 'ended', approvals: { ap: approval, aq: { ...approval, stage: 'approved' } } }, 'nobody: the run has ended', ['add_note'], ['decide_approval', 'revoke_approval']],
      [{ finished: 'stop', boundary: ['model-output'] }, 'once the sealer has sealed', ['pause_run'], ['resume_run']],
    ];
    for (const [more, words, can, cannot] of cases) {
      const s = { ...base, ...more };
      expect(moveOf(s).words).toContain(words);
      expect(actionsOf(s)).toEqual(expect.arrayContaining([...can]));
      for (const c of cannot) expect(actionsOf(s)).not.toContain(c);
    }
  });
});
