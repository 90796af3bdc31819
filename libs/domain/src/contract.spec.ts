import { describe, expect, it } from '@jest/globals';
import { AFTER_UNKNOWN, CONTRACT_FIELDS, CONTRACT_KINDS, INTERFERENCE, isConsequential, KEY_LIFE_MARGIN, recoveriesOf, type ContractKind, type EffectContract } from './contract.js';

const LIFE = 10_000;
const OF: { readonly [K in ContractKind]: EffectContract } = {
  'read-only': { kind: 'read-only' }, contained: { kind: 'contained' }, idempotent: { kind: 'idempotent', precondition: 'etag' }, keyed: { kind: 'keyed', keyLifeMs: LIFE }, queryable: { kind: 'queryable', query: { absenceFinalAfterMs: null } }, neither: { kind: 'neither' },
};

describe('effect contracts', () => {
  it('[EFF-1] name what may follow an unknown outcome, kind by kind', () => {
    expect(Object.fromEntries(CONTRACT_KINDS.map((k) => [k, recoveriesOf(OF[k], 0, 0)]))).toEqual({
      'read-only': ['attempt-again'], contained: ['attempt-again'], idempotent: ['attempt-again-if-precondition-holds', 'wait-for-evidence'], keyed: ['attempt-again-with-same-key', 'wait-for-evidence'], queryable: ['look', 'wait-for-evidence'], neither: ['wait-for-evidence'],
    });
    for (const k of CONTRACT_KINDS) expect(AFTER_UNKNOWN[k].why).not.toBe('');
  });
  it('[EFF-4] allow nothing but waiting where there is neither key nor query', () => expect(recoveriesOf(OF.neither, 0, 1e9)).toEqual(['wait-for-evidence']));
  it('[EFF-4] let no key be used near or after the end of its life', () => {
    expect(recoveriesOf(OF.keyed, 1000, 1000 + LIFE * KEY_LIFE_MARGIN - 1)).toContain('attempt-again-with-same-key');
    for (const late of [LIFE * KEY_LIFE_MARGIN, LIFE, LIFE * 9]) expect(recoveriesOf(OF.keyed, 1000, 1000 + late)).toEqual(['wait-for-evidence']);
    expect(recoveriesOf({ kind: 'keyed' }, 0, 0)).toEqual(['wait-for-evidence']);
  });
  it('[EFF-5] ask first where a target can be asked', () => expect(recoveriesOf({ ...OF.keyed, query: { absenceFinalAfterMs: null } }, 0, 0)[0]).toBe('look'));
  it('[EFF-4] take an idempotent effect without its precondition for one that cannot be repeated', () => expect(recoveriesOf({ kind: 'idempotent' }, 0, 0)).toEqual(['wait-for-evidence']));
  it('[EFF-6] let no unresolved consequential effect be joined by another in its scope', () => {
    for (const open of CONTRACT_KINDS) for (const asked of CONTRACT_KINDS) {
      const harmless = !isConsequential(OF[open]) || !isConsequential(OF[asked]);
      expect(`${open} ${asked} ${INTERFERENCE[open][asked]}`).toBe(`${open} ${asked} ${harmless ? 'allow' : open === 'idempotent' && asked === 'idempotent' ? 'ask' : 'deny'}`);
    }
  });
  it('[EFF-1] require the fields that their recoveries rest on', () => {
    expect(CONTRACT_FIELDS.keyed.required).toEqual(['keyLifeMs']);
    expect(CONTRACT_FIELDS.queryable.required).toEqual(['query']);
    expect(CONTRACT_FIELDS.idempotent.required).toEqual(['precondition']);
    expect(CONTRACT_FIELDS.neither).toEqual({ required: [], allowed: [] });
  });
});
