import { describe, expect, it } from '@jest/globals';
import { fact } from './events.js';
import { needsOf, wakeOf } from './needs.js';
import { takeReceipts } from './reconcile.js';
import { History, OP, profiles } from './spec-kit.js';

const named = (h: History): string[] => needsOf(h.state).map((n) => `${n.service} ${n.reason.split(':')[0]}`);

describe('needs', () => {
  it('[SEAL-6] let the sealer go first; only leases run on', () => {
    const h = new History();
    expect(named(h)).toEqual(['checkpoint-sealer seal']);
    h.turn([{ tool: 'mail', args: { what: 'a' } }, { tool: 'read', args: {} }]);
    h.start(); h.start(); h.end('observed');
    expect(named(h).sort()).toEqual(['checkpoint-sealer seal', 'effect-reconciler lease']);
  });
  it('[SCH-2] wait by name for the tenant when a run is blocked, and for nobody but its person when it is paused', () => {
    const h = new History();
    h.seal(); h.compile();
    h.change('profiles', profiles([]));
    h.gate();
    expect(needsOf(h.state)).toContainEqual({ service: 'policy-gate', reason: 'blocked:NO_ROUTE', dueAt: expect.any(Number), waitsFor: 'profiles' }); // from the denial on: a change before the seal wakes it too
    h.seal();
    expect(needsOf(h.state)).toEqual([{ service: 'policy-gate', reason: 'blocked:NO_ROUTE', dueAt: expect.any(Number), waitsFor: 'profiles' }]);
    h.must('api', [fact('run.pause-requested', { reason: '' })], OP);
    h.gate(); h.seal();
    expect(h.state.status).toBe('paused');
    expect(needsOf(h.state)).toEqual([]);
  });
  it('[SCH-2] have a permit that nobody used judged again when it ends, also for a repetition and for a look', () => {
    for (const tool of ['mail', 'pay', 'file']) {
      const h = new History();
      h.turn([{ tool, args: { what: 'a' } }]);
      if (tool !== 'mail') { h.start(); h.end('unknown'); while (h.seal() || h.gate()) { /* to the permit */ } }
      const e = Object.values(h.state.effects)[0];
      const p = e?.lookPermit ?? e?.permit;
      expect(needsOf(h.state)).toContainEqual(expect.objectContaining({ service: 'policy-gate', reason: `expiry:${p?.permit}`, dueAt: p?.expiresAt }));
    }
  });
  it('[RUN-4] wake the reconciler again for receipts that one append did not hold', () => {
    const h = new History();
    h.turn([{ tool: 'mail', args: { what: 'a' } }]);
    h.start(); h.end('observed'); h.seal();
    const effect = Object.keys(h.state.effects)[0] ?? '';
    for (let i = 0; i < 40; i++) h.must('api', [fact('receipt.received', { effect, receipt: h.content(`${h.id('r')}`, 'receipt'), from: 's' })], { kind: 'tool', id: 's' });
    let passes = 0;
    while (h.seal() || h.state.receiptsPending.length > 0) {
      const taken = takeReceipts(h.state);
      if (taken.length === 0) continue;
      const j = h.append('effect-reconciler', taken);
      if (j.kind !== 'judged') throw new Error(j.message);
      passes++;
      if (h.state.receiptsPending.length > 0 && h.state.boundary.length === 0) expect(wakeOf(j.needs.upsert, h.now)).toBe('effect-reconciler');
    }
    expect(passes).toBe(3);
  });
  it('wake one service, several, or none', () => {
    const n = (service: 'policy-gate' | 'effect-reconciler', dueAt: number) => ({ service, reason: 'r', dueAt, waitsFor: null });
    expect([wakeOf([], 5), wakeOf([n('policy-gate', 9)], 5), wakeOf([n('policy-gate', 5)], 5), wakeOf([n('policy-gate', 1), n('effect-reconciler', 1)], 5)]).toEqual(['none', 'none', 'policy-gate', 'several']);
  });
});
