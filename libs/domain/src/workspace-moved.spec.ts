import { describe, expect, it } from '@jest/globals';
import { fact, type WorkspaceRef } from './events.js';
import type { EffectContract } from './contract.js';
import { recordOutcome, startable, withWorkspace } from './reconcile.js';
import { History, toolOf } from './spec-kit.js';
import type { ToolMapping } from './tool.js';

const tree = (n: number): WorkspaceRef => ({ base: 'b', tree: { commitment: `c1.${String(n).repeat(64)}`, bytes: 1, class: 'workspace', media: 'application/json' } });
const write = (contract: EffectContract = { kind: 'contained' }): ToolMapping => ({ ...toolOf('box'), contract, connector: { kind: 'workspace', config: { operation: 'write' } } });
const claim = (h: History): { readonly effect: string; readonly attempt: string; readonly from: WorkspaceRef | null } => {
  h.carryOn();
  const from = h.state.workspace;
  expect(startable(h.state, h.now)).not.toEqual([]);
  h.start();
  const e = Object.values(h.state.effects).find((x) => x.stage === 'in-flight');
  return { effect: e?.effect ?? '', attempt: e?.attempts.at(-1)?.attempt ?? '', from };
};
/** The call comes back with what it left behind. */
const comesBack = (h: History, c: ReturnType<typeof claim>, left: WorkspaceRef): void => {
  const said = recordOutcome(h.state, c.effect, c.attempt, { kind: 'observed', ok: true, text: h.content('wrote', 'tool-result'), receipt: null }, h.now);
  const facts = withWorkspace(h.state, said, c.effect, c.from, { workspace: left, summary: 's' });
  if (facts.length > 0) h.must('effect-reconciler', facts);
};
const expires = (h: History, c: ReturnType<typeof claim>): void => { h.now += 5000; h.must('effect-reconciler', [fact('effect.outcome-unknown', { effect: c.effect, attempt: c.attempt, cause: 'CLAIM_EXPIRED' })]); };
const begun = (tool: ToolMapping, calls = 1): History => {
  const h = new History({ workspace: tree(0) });
  h.change('registry', { tools: [tool] });
  h.turn(Array.from({ length: calls }, (_, n) => ({ tool: 'box', args: { what: String(n) } })));
  return h;
};
const at = (h: History): string | undefined => h.state.workspace?.tree.commitment;
const conflicts = (h: History) => h.events.filter((e) => e.type === 'workspace.conflicted').map((e) => JSON.parse((e.data as { found: string }).found) as object);

describe('a call that comes back after its claim ran out', () => {
  it('[WSP-3] does not undo what another call left in the workspace meanwhile, and says what it left', () => {
    const h = begun(write(), 2);
    const first = claim(h);
    expires(h, first);
    const again = claim(h);
    comesBack(h, again, tree(1));
    const second = claim(h);
    expect(second.effect).not.toBe(first.effect);
    comesBack(h, second, tree(2));
    comesBack(h, first, tree(1));
    expect(at(h)).toBe(tree(2).tree.commitment);
  });
  it('[WSP-3, EFF-3] of a contained call is not taken over where the workspace went on, and the call is made again on what is there now', () => {
    const h = begun(write(), 2);
    const first = claim(h);
    expires(h, first);
    h.must('effect-reconciler', [fact('workspace.changed', { effect: null, workspace: tree(5), previous: at(h) ?? null, summary: 'by somebody' })]);
    comesBack(h, first, tree(1));
    expect(at(h)).toBe(tree(5).tree.commitment);
    expect(conflicts(h)).toEqual([{ code: 'WORKSPACE_MOVED_ON', began: tree(0).tree.commitment, now: tree(5).tree.commitment, left: tree(1).tree.commitment, summary: 's' }]);
    expect(h.state.effects[first.effect]?.stage).toBe('unknown');
    const again = claim(h);
    expect(again.from).toEqual(tree(5));
    comesBack(h, again, tree(6));
    expect([at(h), h.state.effects[again.effect]?.stage]).toEqual([tree(6).tree.commitment, 'observed']);
  });
  it('[WSP-3, EFF-5] of a contract that is never repeated happened all the same, and its state is a conflict', () => {
    const h = begun(write({ kind: 'neither' }));
    const first = claim(h);
    expires(h, first);
    h.must('effect-reconciler', [fact('workspace.changed', { effect: null, workspace: tree(5), previous: at(h) ?? null, summary: 'by somebody' })]);
    comesBack(h, first, tree(1));
    expect([at(h), h.state.effects[first.effect]?.stage, conflicts(h).length]).toEqual([tree(5).tree.commitment, 'happened', 1]);
    expect(h.state.effects[first.effect]?.result).toMatchObject({ ok: false, text: null, words: expect.stringContaining('nothing of what it wrote there was taken over') }); // and the model is told so
  });
  it('[WSP-3] is taken over where nothing moved the workspace, once', () => {
    const h = begun(write());
    const first = claim(h);
    expires(h, first);
    comesBack(h, first, tree(1));
    comesBack(h, first, tree(1));
    expect([at(h), h.events.filter((e) => e.type === 'workspace.changed').length, h.state.effects[first.effect]?.stage]).toEqual([tree(1).tree.commitment, 1, 'happened']);
  });
  it('[WSP-3] is refused by the store where it follows another state than the one that is there', () => {
    const h = begun(write());
    const first = claim(h);
    expect(h.append('effect-reconciler', [fact('workspace.changed', { effect: first.effect, workspace: tree(2), previous: tree(1).tree.commitment, summary: 's' })])).toMatchObject({ kind: 'refused', code: 'ILLEGAL', facts: { why: 'it follows another state of the workspace' } });
  });
});
