import { describe, expect, it } from '@jest/globals';
import { allowedRecoveries, prohibited } from './effect.js';
import { fact } from './events.js';
import { contentEnds, judgeAppend } from './guard.js';
import { needsOf } from './needs.js';
import { unresolvedOf } from './run.js';
import { History, OP, plain, weakDigest } from './spec-kit.js';

/** A run that ended with an unknown effect. */
function ended(tool: 'mail' | 'file' | 'pay', retention: 'standard' | 'metadata-only' = 'standard'): { readonly h: History; readonly id: string } {
  const h = new History({ retention });
  h.turn([{ tool, args: { what: 'x' } }]);
  h.start(); h.end('unknown');
  h.must('api', [fact('run.end-requested', { reason: 'enough' })], OP);
  h.seal(); h.gate(); h.seal();
  expect(h.state).toMatchObject({ status: 'ended', ended: { withUnknowns: true } });
  return { h, id: Object.keys(h.state.effects)[0] ?? '' };
}
function erase(h: History): boolean {
  h.must('api', [fact('run.erasure-requested', { reason: 'asked by law' })], OP);
  expect(needsOf(h.state).map((n) => `${n.service} ${n.reason}`)).toContain('checkpoint-sealer erase');
  const facts = [fact('content.erased', { reason: 'asked by law', by: OP, unresolved: unresolvedOf(h.state).map((e) => e.effect) })];
  const j = judgeAppend(h.state, 'checkpoint-sealer', h.envelopes(facts, 'checkpoint-sealer', { kind: 'service', id: 'checkpoint-sealer' }), { manifest: null, canonical: plain, digest: weakDigest });
  h.must('checkpoint-sealer', facts);
  h.seal();
  return j.kind === 'judged' && j.eraseContents;
}

describe('evidence', () => {
  it('[EFF-8] of an unresolved effect outlives the end of a run that keeps metadata only, until it is settled', () => {
    const { h, id } = ended('mail', 'metadata-only');
    expect(contentEnds(h.state)).toBe(false);
    const erases = (facts: Parameters<History['must']>[1], writer: Parameters<History['must']>[0]): boolean => { const j = judgeAppend(h.state, writer, h.envelopes(facts, writer, OP), { manifest: null, canonical: plain, digest: weakDigest }); if (j.kind === 'refused') throw new Error(j.message); h.must(writer, facts, writer === 'api' ? OP : undefined); return j.eraseContents; };
    expect(erases([fact('receipt.received', { effect: id, receipt: h.content('r', 'receipt'), from: 'tool' })], 'api')).toBe(false);
    const [receipt] = h.state.receiptsPending;
    if (receipt === undefined) throw new Error('no receipt');
    expect(erases([fact('effect.receipt-recorded', receipt), fact('effect.reconciled', { effect: id, as: 'happened', by: 'receipt', evidence: receipt.receipt, text: null })], 'effect-reconciler')).toBe(true);
  });
  it('[EFF-8] that is erased on request leaves the skeleton: unresolved, evidence erased, and never repeatable', () => {
    for (const tool of ['mail', 'file', 'pay'] as const) {
      const { h, id } = ended(tool);
      expect(erase(h)).toBe(true);
      const e = h.state.effects[id];
      if (e === undefined) throw new Error('forgotten');
      expect(e).toMatchObject({ stage: 'unknown', erased: true, permit: null, lookPermit: null, needsPerson: expect.stringContaining('EVIDENCE_ERASED') });
      expect(allowedRecoveries(e, h.now)).toEqual([]);
      expect(prohibited(e)).toContain('its evidence was erased');
      h.now += 10_000_000; h.carryOn();
      expect(h.open().map((o) => o.effect)).toEqual([id]);
      expect(needsOf(h.state).filter((n) => n.service !== 'checkpoint-sealer')).toEqual([]);
    }
  });
  it('[EFF-8] that is gone cannot show that nothing happened; that something did, a person may still find', () => {
    const { h, id } = ended('mail');
    erase(h);
    const find = (verdict: 'happened' | 'did-not-happen'): void => { h.must('api', [fact('effect.finding-submitted', { finding: verdict, effect: id, verdict, evidence: h.content(verdict, 'evidence') })], OP); h.seal(); h.gate(); h.seal(); };
    find('did-not-happen');
    expect(h.events.find((x) => x.type === 'finding.refused')?.data).toMatchObject({ code: 'EVIDENCE_ERASED' });
    expect(h.append('effect-reconciler', [fact('effect.reconciled', { effect: id, as: 'did-not-happen', by: 'finding', evidence: null, text: null })])).toMatchObject({ code: 'ILLEGAL' });
    find('happened');
    h.must('effect-reconciler', [fact('effect.reconciled', { effect: id, as: 'happened', by: 'finding', evidence: h.content('e', 'evidence'), text: null })]);
    expect(h.state.effects[id]?.stage).toBe('happened');
  });
  it('[EFF-8] still keeps others from doing the same again', () => {
    const { h, id } = ended('mail');
    erase(h);
    const second = new History();
    second.carryOn(); second.generate(); second.seal(); second.answer([{ tool: 'mail', args: { what: 'x' } }]); second.seal(); second.intend();
    second.gate(h.open().map((o) => ({ ...o, effect: `${id}-of-another`, run: 'elsewhere' })));
    expect(second.events.find((x) => x.type === 'effect.denied')?.data).toMatchObject({ code: 'EFFECT_UNRESOLVED', facts: { unresolved: `${id}-of-another` } });
  });
  it('[EFF-8] is erased only of a run that has ended, once, and by the sealer when somebody asked', () => {
    const h = new History();
    expect(h.append('api', [fact('run.erasure-requested', { reason: 'r' })], OP)).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('has not ended') });
    const { h: over } = ended('mail');
    expect(over.append('checkpoint-sealer', [fact('content.erased', { reason: 'r', by: OP, unresolved: [] })])).toMatchObject({ code: 'ILLEGAL' });
    over.must('api', [fact('run.erasure-requested', { reason: 'r' })], OP);
    expect(over.append('api', [fact('run.erasure-requested', { reason: 'r' })], OP)).toMatchObject({ code: 'ILLEGAL' });
    expect(over.append('checkpoint-sealer', [fact('content.erased', { reason: 'r', by: OP, unresolved: [] })])).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('unresolved') });
  });
});
