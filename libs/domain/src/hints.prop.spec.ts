import { describe, expect, it } from '@jest/globals';
import { CONTRACT_KINDS, INTERFERENCE, isConsequential, recoveriesOf, type ContractKind, type EffectContract, type Interference } from './contract.js';
import { strictest, type ToolHints } from './hints.js';

const QUERY = { absenceFinalAfterMs: 60_000 };
const CONTRACTS: { readonly [K in ContractKind]: readonly EffectContract[] } = {
  'read-only': [{ kind: 'read-only' }],
  contained: [{ kind: 'contained' }],
  idempotent: [{ kind: 'idempotent', precondition: 'if-match' }, { kind: 'idempotent', precondition: 'if-match', query: QUERY }],
  keyed: [{ kind: 'keyed', keyLifeMs: 100_000 }, { kind: 'keyed', keyLifeMs: 100_000, query: QUERY }],
  queryable: [{ kind: 'queryable', query: QUERY }],
  neither: [{ kind: 'neither' }],
};
const SAID = [undefined, true, false] as const;
const HINTS: readonly ToolHints[] = SAID.flatMap((readOnlyHint) => SAID.flatMap((destructiveHint) => SAID.flatMap((idempotentHint) => SAID.map((openWorldHint) => ({ readOnlyHint, destructiveHint, idempotentHint, openWorldHint })))));
const ALL = CONTRACT_KINDS.flatMap((k) => CONTRACTS[k]);
const STRICTNESS: readonly Interference[] = ['allow', 'ask', 'deny'];

describe('hints of a server', () => {
  it('[EFF-4] [TOOL-4] never allow a recovery that the declared contract does not allow, for every contract and every combination', () => {
    let tried = 0;
    for (const declared of ALL) for (const hints of HINTS) for (const now of [0, 49_999, 50_000, 1_000_000]) {
      const strict = strictest(declared, hints);
      const allowed = recoveriesOf(declared, 0, now);
      for (const r of recoveriesOf(strict, 0, now)) expect({ r, ok: allowed.includes(r) || r === 'wait-for-evidence' }).toEqual({ r, ok: true });
      tried++;
    }
    expect(tried).toBe(ALL.length * 81 * 4);
  });

  it('[EFF-4] [EFF-6] never make an effect less consequential, or let more pass beside it', () => {
    for (const declared of ALL) for (const hints of HINTS) {
      const strict = strictest(declared, hints);
      expect(isConsequential(strict) || !isConsequential(declared)).toBe(true);
      for (const other of CONTRACT_KINDS) {
        expect(STRICTNESS.indexOf(INTERFERENCE[strict.kind][other])).toBeGreaterThanOrEqual(STRICTNESS.indexOf(INTERFERENCE[declared.kind][other]));
        expect(STRICTNESS.indexOf(INTERFERENCE[other][strict.kind])).toBeGreaterThanOrEqual(STRICTNESS.indexOf(INTERFERENCE[other][declared.kind]));
      }
    }
  });

  it('[TOOL-4] change nothing when the server says nothing, or says it twice', () => {
    for (const declared of ALL) for (const hints of HINTS) {
      expect(strictest(declared, {})).toBe(declared);
      expect(strictest(strictest(declared, hints), hints)).toEqual(strictest(declared, hints));
    }
  });

  it.each<readonly [ContractKind, ToolHints, ContractKind]>([
    ['read-only', { readOnlyHint: false }, 'neither'], ['read-only', { destructiveHint: true }, 'neither'], ['read-only', { readOnlyHint: true }, 'read-only'],
    ['neither', { readOnlyHint: true, idempotentHint: true, destructiveHint: false }, 'neither'],
    ['contained', { openWorldHint: true }, 'neither'], ['contained', { readOnlyHint: false }, 'contained'],
    ['idempotent', { idempotentHint: false }, 'neither'], ['idempotent', { destructiveHint: true }, 'idempotent'], ['queryable', { destructiveHint: true }, 'queryable'],
  ])('[EFF-4] declared %s, the server says %j: %s', (kind, hints, becomes) => {
    expect(strictest(CONTRACTS[kind][0] as EffectContract, hints).kind).toBe(becomes);
  });
});
