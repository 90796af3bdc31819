import { describe, expect, it } from '@jest/globals';
import { fact } from './events.js';
import { needsOf } from './needs.js';
import { History, OP } from './spec-kit.js';

/** A queryable effect of unknown outcome, a pause, a resume, and a call of another target that waits. */
function resumed(): { readonly h: History; readonly unknown: string; readonly other: string } {
  const h = new History();
  h.turn([{ tool: 'file', args: { what: 'a' } }, { tool: 'mail', args: { what: 'b' } }]);
  h.start(); h.end('unknown');
  const unknown = Object.values(h.state.effects).find((e) => e.tool === 'file')?.effect ?? '';
  const other = Object.values(h.state.effects).find((e) => e.tool === 'mail')?.effect ?? '';
  h.must('api', [fact('run.pause-requested', { reason: 'wait' })], OP);
  h.carryOn();
  h.must('api', [fact('run.resume-requested', { reason: 'go on' })], OP);
  h.seal(); h.gate(); h.seal();
  return { h, unknown, other };
}

describe('a resume', () => {
  it('[RES-1] has what is unknown looked at before anything consequential is permitted', () => {
    const { h, unknown, other } = resumed();
    expect(h.state.status).toBe('active');
    expect(h.state.lookFirst).toEqual([unknown]);
    h.carryOn();
    expect(h.state.effects[unknown]?.lookPermit).not.toBeNull();
    expect(h.state.effects[other]?.permit?.seenRevision ?? 0).toBeLessThan(h.state.authorityRevision); // no permit that stands
    expect(needsOf(h.state).filter((n) => n.reason.startsWith('attempt:'))).toEqual([]);
    h.must('effect-reconciler', [fact('effect.looked', { effect: unknown, look: 1, answer: 'cannot-tell', cause: '' })]);
    expect(h.state.lookFirst).toEqual([]);
    h.carryOn();
    expect(h.state.effects[other]?.permit?.seenRevision).toBeGreaterThanOrEqual(h.state.authorityRevision);
  });
  it('[RES-1] is taken seriously by the store too: no attempt and no model call starts before the look', () => {
    const { h, other } = resumed();
    const e = h.state.effects[other];
    if (e === undefined) throw new Error('no effect');
    const permit = { permit: 'p', subject: e.subject, seenRevision: h.state.revision, tenant: { policy: 1, registry: 1, profiles: 1, roles: 1 }, expiresAt: 9e9, world: { kind: 'real' as const }, grounds: { revision: 1, at: 1, by: [], met: [] }, siblings: [], approval: null };
    h.state = { ...h.state, boundary: [], effects: { ...h.state.effects, [other]: { ...e, stage: 'permitted', permit } } };
    expect(h.append('effect-reconciler', [fact('effect.attempt-started', { effect: other, attempt: 'a', attemptNumber: 1, owner: 'o', permit: 'p', leaseMs: 1000, dispatchBy: h.now + 500 })])).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('looked at') });
  });
  it('[RES-1] goes on when the unknown effect waits for a person instead', () => {
    const { h, unknown } = resumed();
    h.carryOn();
    h.must('effect-reconciler', [fact('effect.needs-person', { effect: unknown, reason: 'nobody else can tell' })]);
    expect(h.state.lookFirst).toEqual([]);
  });
  it('[RES-1] waits for what is under way since before it: its outcome, or the look when nobody knows it', () => {
    for (const how of ['observed', 'unknown'] as const) {
      const h = new History();
      h.turn([{ tool: 'file', args: { what: 'a' } }, { tool: 'mail', args: { what: 'b' } }]);
      h.start();
      const [file, mail] = ['file', 'mail'].map((t) => Object.values(h.state.effects).find((e) => e.tool === t)?.effect ?? '') as [string, string];
      expect(h.state.effects[file]?.stage).toBe('in-flight');
      h.must('api', [fact('run.pause-requested', { reason: 'wait' })], OP); h.carryOn();
      h.must('api', [fact('run.resume-requested', { reason: 'go on' })], OP);
      h.seal(); h.gate(); h.seal();
      expect(h.state.lookFirst).toEqual([file]);
      h.carryOn();
      const begins = (): readonly string[] => needsOf(h.state).filter((n) => n.reason.startsWith('attempt:')).map((n) => n.reason);
      expect([how, begins()]).toEqual([how, []]);
      h.end(how); h.carryOn();
      if (how === 'unknown') {
        expect([h.state.lookFirst, begins()]).toEqual([[file], []]);
        h.must('effect-reconciler', [fact('effect.looked', { effect: file, look: 1, answer: 'cannot-tell', cause: '' })]);
        h.carryOn();
      }
      expect(h.state.lookFirst).toEqual([]);
      expect(h.state.effects[mail]?.permit?.seenRevision).toBeGreaterThanOrEqual(h.state.authorityRevision);
    }
  });
  it('[RES-1] judges under the policy of now: what was permitted before it is judged again', () => {
    const h = new History();
    h.turn([{ tool: 'mail', args: { what: 'b' } }]);
    const before = Object.values(h.state.effects)[0]?.permit?.permit;
    h.must('api', [fact('run.pause-requested', { reason: 'wait' })], OP); h.carryOn();
    h.must('api', [fact('run.resume-requested', { reason: 'go on' })], OP); h.carryOn();
    const after = Object.values(h.state.effects)[0]?.permit?.permit;
    expect(before).toBeDefined();
    expect(after).toBeDefined();
    expect(after).not.toBe(before);
  });
});
