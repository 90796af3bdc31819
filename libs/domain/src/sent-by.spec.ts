import { expect, it } from '@jest/globals';
import { keyTrustedUntil } from './contract.js';
import { dispatchBy, sentBy } from './effect.js';
import { fact } from './events.js';
import { recordLook } from './reconcile.js';
import { History } from './spec-kit.js';

const unknownOf = (tool: string): { readonly h: History; readonly id: string } => {
  const h = new History();
  h.turn([{ tool, args: { what: 'a' } }]);
  h.start(); h.end('unknown'); h.carryOn();
  return { h, id: Object.keys(h.state.effects)[0] ?? '' };
};

it('[EFF-5, EFF-4] counts absence from when the attempt may last have been sent, not from its claim: a slow connection leaves the target as long as the contract says', () => {
  const { h, id } = unknownOf('file');
  const e = h.state.effects[id];
  const claimed = e?.attempts[0]?.startedAt ?? 0;
  const evidence = h.content('nothing', 'evidence');
  const absent = fact('effect.reconciled', { effect: id, as: 'did-not-happen', by: 'query', evidence, text: null });
  h.now = claimed + 5000; // the claim is so old; its first byte may have left half a lease later
  expect(recordLook(h.state, id, { kind: 'not-found', evidence }, h.now).map((f) => f.type)).toEqual(['effect.looked']);
  expect(h.append('effect-reconciler', [absent])).toMatchObject({ kind: 'refused', facts: { why: 'absence is not final for this contract yet' } });
  h.now = claimed + 5000 + 500;
  expect(recordLook(h.state, id, { kind: 'not-found', evidence }, h.now).map((f) => f.type)).toEqual(['effect.looked', 'effect.reconciled']);
  expect(h.append('effect-reconciler', [absent]).kind).toBe('judged');
});
it('[EFF-4, EFF-10] lets a repetition under a key begin only while the key is relied on, however long its lease', () => {
  const { h, id } = unknownOf('pay');
  const e = h.state.effects[id];
  if (e === undefined) throw new Error('no effect');
  const until = keyTrustedUntil(e.contract, e.attempts[0]?.startedAt ?? 0);
  expect(dispatchBy(e, until - 10, 60_000)).toBe(until);
  expect(dispatchBy(e, until - 10, 10)).toBe(until - 5);
  expect(dispatchBy({ ...e, stage: 'permitted', attempts: [] }, until - 10, 60_000)).toBe(until + 29_990);
  const start = (by: number) => h.append('effect-reconciler', [fact('effect.attempt-started', { effect: id, attempt: 'again', attemptNumber: 2, owner: 'o', permit: h.state.effects[id]?.permit?.permit ?? '', leaseMs: 60_000, dispatchBy: by })]);
  expect(start(until + 1)).toMatchObject({ kind: 'refused', code: 'ILLEGAL', facts: { why: 'it might be sent when its key is not relied on any more' } });
  expect(start(until).kind).toBe('judged');
  expect(sentBy({ attempt: 'a', owner: 'o', startedAt: 7, leaseMs: 1000, end: 'open' })).toBe(507);
});
