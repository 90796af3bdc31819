import { describe, expect, it } from '@jest/globals';
import { verifyContinuations, type Issuer } from './continuation.js';
import type { RunState } from './run.js';
import { History } from './spec-kit.js';

const ISSUER: Issuer = { adapter: 'x', endpoint: 'http://e', account: 'a', accountScope: 'a' };
/** Permitted to go on after two outputs with pieces. */
function goingOn(): History {
  const h = new History();
  for (let i = 0; i < 2; i++) { h.turn([{ tool: 'read', args: { what: 'a' } }]); h.start(); h.end('observed'); }
  h.carryOn();
  return h;
}
const required = (s: RunState) => (s.lineage?.items ?? []).flatMap((i) => (i.kind === 'output' ? [{ generation: i.generation as string, partIndex: 0 }] : []));
const code = (s: RunState, issuer = ISSUER, needs = required(s)): string | null => verifyContinuations(s, issuer, needs)?.code ?? null;
const lineage = (s: RunState, change: (l: NonNullable<RunState['lineage']>) => Partial<NonNullable<RunState['lineage']>>): RunState => ({ ...s, lineage: s.lineage === null ? null : { ...s.lineage, ...change(s.lineage) } });

describe('continuations', () => {
  it('[CON-2] go back as they came: same lineage, places, records, results and issuer', () => {
    const { state } = goingOn();
    expect(state.generation).toMatchObject({ stage: 'permitted', form: 'continued' });
    expect(state.generation?.continuations).toHaveLength(2);
    expect(code(state)).toBeNull();
  });
  for (const k of ['adapter', 'endpoint', 'account', 'accountScope'] as const) it(`[CON-2] go to no other ${k}`, () => expect(code(goingOn().state, { ...ISSUER, [k]: 'foreign' })).toBe('CONTINUATION_FOREIGN'));
  it('[CON-2] do not go when the results that answer them were edited', () => {
    const { state } = goingOn();
    const edited = lineage(state, (l) => ({ items: l.items.map((i, at) => (i.kind === 'said' && at === 2 ? { ...i, entry: { ...i.entry, commitment: 'c1.edited' } } : i)) }));
    expect(code(edited)).toBe('CONTINUATION_RESULTS_DIFFER');
  });
  it('[CON-2] do not go in another order', () => {
    const { state } = goingOn();
    const g = state.generation as NonNullable<RunState['generation']>;
    expect(code({ ...state, generation: { ...g, continuations: g.continuations.toReversed() } })).toBe('CONTINUATION_OUT_OF_ORDER');
  });
  it('[CON-2] do not go when one was added or left out', () => {
    const { state } = goingOn();
    const g = state.generation as NonNullable<RunState['generation']>;
    expect(code({ ...state, generation: { ...g, continuations: g.continuations.slice(1) } })).toBe('CONTINUATION_SET_DIFFERS');
  });
  it('[CON-2] do not go with another lineage, nor when those who issued them disagree', () => {
    const { state } = goingOn();
    const g = state.generation as NonNullable<RunState['generation']>;
    expect(code({ ...state, generation: { ...g, lineage: 'another' } })).toBe('CONTINUATION_OF_ANOTHER_LINEAGE');
    expect(code(lineage(state, () => ({ binding: 'mixed' })))).toBe('CONTINUATION_BINDING_MIXED');
  });
  it('[CON-3] do not go without a record of the gateway that says the same', () => {
    const { state } = goingOn();
    expect(code(lineage(state, () => ({ retained: [] })))).toBe('CONTINUATION_WITHOUT_RECORD');
    expect(code(lineage(state, (l) => ({ retained: l.retained.map((r) => ({ ...r, exact: '0'.repeat(64) })) })))).toBe('CONTINUATION_WITHOUT_RECORD');
    expect(code(lineage(state, (l) => ({ retained: l.retained.map((r) => ({ ...r, turn: r.turn + 1 })) })))).toBe('CONTINUATION_WITHOUT_RECORD');
  });
  it('[CON-4] that the protocol requires and the store lacks stop the request, and name the generation and the part', () => {
    const { state } = goingOn();
    expect(verifyContinuations(state, ISSUER, [{ generation: 'gen-of-nobody', partIndex: 3 }])).toMatchObject({ code: 'PROTOCOL_STATE_MISSING', facts: { generation: 'gen-of-nobody', partIndex: 3 } });
  });
  it('[CON-7] leave semantic state alone: without any lineage the run still has its task, plan, history and effects', () => {
    const { state } = goingOn();
    const { lineage: _gone, ...rest } = state;
    expect(rest.task).not.toBeNull();
    expect(rest.history.length).toBeGreaterThan(0);
    expect(JSON.stringify({ ...rest, generation: null })).not.toContain('con-');
  });
});
