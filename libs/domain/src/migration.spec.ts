import { describe, expect, it } from '@jest/globals';
import { allowedRecoveries, queryOf } from './effect.js';
import { fact } from './events.js';
import { History, OP, toolOf } from './spec-kit.js';

/** An effect of unknown outcome whose tool the registry no longer has. */
function removed(tool: 'mail' | 'pay' | 'file' | 'read'): { readonly h: History; readonly id: string } {
  const h = new History();
  h.turn([{ tool, args: { what: 'a' } }]);
  h.start();
  h.change('registry', { tools: ['read', 'box', 'put', 'pay', 'file', 'mail'].filter((t) => t !== tool).map(toolOf) });
  h.end('unknown');
  h.carryOn();
  return { h, id: Object.keys(h.state.effects)[0] ?? '' };
}
const migrate = (h: History, effect: string, tool: string, by = OP): void => { h.must('api', [fact('effect.migration-requested', { migration: `m-${h.state.revision}`, effect, tool, reason: 'it is this one now' })], by); h.carryOn(); };

describe('an unknown effect whose tool is another one now, or none', () => {
  it('[TOOL-3, TOOL-5] of a keyed contract is not attempted again: it asks for a migration', () => {
    const { h, id } = removed('pay');
    expect(h.events.filter((e) => e.type === 'effect.permitted')).toHaveLength(1);
    expect(h.state.effects[id]).toMatchObject({ stage: 'unknown', contract: { kind: 'keyed' }, needsPerson: expect.stringContaining('MIGRATION_NEEDED') });
  });
  it('[TOOL-5, POL-5] of a contract that can be asked is looked at under the contract that it pinned', () => {
    const { h, id } = removed('file');
    expect(h.state.effects[id]?.lookPermit).not.toBeNull();
    for (let i = 1; i <= 12; i++) { h.must('effect-reconciler', [fact('effect.looked', { effect: id, look: i, answer: 'cannot-tell', cause: '' })]); h.now += 60_000; h.carryOn(); }
    expect(h.state.effects[id]).toMatchObject({ stage: 'unknown', needsPerson: expect.stringContaining('MIGRATION_NEEDED') });
  });
  it('[TOOL-3] is looked at as the tool that a person with authority names, and its own contract still says what may be repeated', () => {
    const { h, id } = removed('pay');
    migrate(h, id, 'file');
    const e = h.state.effects[id];
    expect(e).toMatchObject({ contract: { kind: 'keyed' }, migrated: { tool: 'file', contract: { kind: 'queryable' } }, needsPerson: null });
    expect(e?.lookPermit).not.toBeNull();
    if (e !== undefined) expect(allowedRecoveries(e, h.now)).toEqual(['look', 'wait-for-evidence']);
    h.must('effect-reconciler', [fact('effect.reconciled', { effect: id, as: 'happened', by: 'query', evidence: h.content('seen', 'evidence'), text: null })]);
    expect(h.state.effects[id]?.stage).toBe('happened');
  });
  it('[TOOL-3, EFF-5] is never settled as absent by what its own contract did not call final', () => {
    const { h, id } = removed('pay');
    migrate(h, id, 'file');
    const e = h.state.effects[id];
    if (e !== undefined) expect(queryOf(e)).toEqual({ absenceFinalAfterMs: null });
    h.now += 1_000_000;
    expect(h.append('effect-reconciler', [fact('effect.reconciled', { effect: id, as: 'did-not-happen', by: 'query', evidence: h.content('nothing', 'evidence'), text: null })])).toMatchObject({ code: 'ILLEGAL' });
  });
  it.each([['somebody without the role', 'file', { kind: 'person', id: 'ivan' }, 'NOT_AUTHORISED'], ['a tool that nobody registered', 'fax', OP, 'UNKNOWN_TOOL']] as const)('[TOOL-3] is not migrated by %s', (_who, tool, by, code) => {
    const { h, id } = removed('pay');
    migrate(h, id, tool, by);
    expect(h.events.filter((e) => e.type === 'effect.migration-refused').map((e) => e.data)).toMatchObject([{ effect: id, code }]);
    expect(h.state.effects[id]).toMatchObject({ migrated: null, needsPerson: expect.any(String) });
    expect(h.state.migrations).toEqual([]);
  });
  it('[TOOL-5] stays readable, and is not offered or called', () => {
    const { h, id } = removed('read');
    expect(h.state.effects[id]).toMatchObject({ tool: 'read', mapping: { registryRevision: 1 } });
    expect(h.events.filter((e) => e.type === 'effect.attempt-started')).toHaveLength(1);
  });
});
