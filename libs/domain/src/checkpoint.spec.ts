import { describe, expect, it } from '@jest/globals';
import { cutOf, differences, SECTION_NAMES, SECTIONS, sectionsOf } from './checkpoint.js';
import { isUnresolved } from './effect.js';
import { fact } from './events.js';
import type { RunState } from './run.js';
import type { ContentRef } from './content.js';
import { History, OP, plain, toolOf, weakDigest } from './spec-kit.js';

function busy(): History {
  const h = new History();
  h.turn([{ tool: 'mail', args: { what: 'a' } }]);
  h.start(); h.end('unknown'); h.carryOn();
  return h;
}
const cut = (s: RunState) => cutOf(s, plain, weakDigest);

describe('a checkpoint', () => {
  it('[SEAL-1] holds every part that a resume needs', () => {
    expect(SECTION_NAMES).toEqual(['task', 'plan', 'evidence', 'constraints', 'registry', 'requests', 'effects', 'approvals', 'world', 'artifacts', 'policy', 'budget', 'workspace', 'schedules', 'configuration', 'protocol']);
    const { state } = busy();
    const body = sectionsOf(state) as unknown as { [s: string]: { [k: string]: unknown } };
    expect(body['effects']).toMatchObject([{ tool: 'mail', stage: 'unknown', unresolved: true, allowed: ['wait-for-evidence'], prohibited: expect.stringContaining('mail') }]);
    expect(body['budget']).toMatchObject({ used: { tokens: expect.any(Number) }, reservedTotal: {}, left: {} });
    expect(body['configuration']).toMatchObject({ segment: 1, retention: 'standard' });
    expect((body['artifacts'] as unknown as unknown[]).length).toBeGreaterThan(0);
  });
  it('[SEAL-9] says of each part whether it is required; the protocol store alone is not', () => expect(SECTION_NAMES.filter((s) => !SECTIONS[s].required)).toEqual(['protocol']));
  it('[SEAL-5] differs in its effects when an unresolved one is left out', () => {
    const { state } = busy();
    const without = { ...state, effects: Object.fromEntries(Object.entries(state.effects).filter(([, e]) => !isUnresolved(e))) };
    expect(differences(cut(without).manifest, cut(state).manifest)).toContain('section effects');
  });
  it('[SEAL-8] has one digest for one state, wherever it was folded, and names each part that differs', () => {
    const { state } = busy();
    const again = JSON.parse(JSON.stringify(state)) as RunState;
    expect(cut(again).manifest).toEqual(cut(state).manifest);
    expect(differences(cut(state).manifest, cut(state).manifest)).toEqual([]);
    expect(differences({ ...cut(state).manifest, head: 'x' }, cut(state).manifest)).toEqual(['head']);
    expect(differences(cut({ ...state, plan: ['other'] }).manifest, cut(state).manifest)).toEqual(['section plan']);
  });
  it('[SEAL-7] shares the parts that did not change', () => {
    const h = busy();
    const before = cut(h.state).manifest.sections;
    h.must('api', [fact('plan.changed', { steps: ['one'] })], OP);
    const after = cut(h.state).manifest.sections;
    expect(SECTION_NAMES.filter((s) => before[s] !== after[s]).sort()).toEqual(['evidence', 'plan']);
  });
  it('[SEAL-7] does not grow with the length of a run', () => {
    const size = (turns: number): number => { const h = new History(); for (let i = 0; i < turns; i++) { h.turn([{ tool: 'read', args: { what: `${i}` } }]); h.start(); h.end('observed'); } h.carryOn(); return Object.values(cut(h.state).bodies).reduce((n, b) => n + b.length, 0); };
    expect(size(24)).toBeLessThan(size(12) * 1.1);
  });
  it('[SEAL-6] is due after output, observation, decision, reconciliation and run state, and never for what a model call or a compile says on its way', () => {
    const h = new History();
    expect(h.state.boundary).toEqual(['run-state']);
    h.seal(); h.compile();
    expect(h.state.boundary).toEqual([]);
    h.gate();
    expect(h.state.boundary).toEqual(['decision']);
    h.seal(); h.generate(); h.seal(); h.answer([{ tool: 'mail', args: {} }]);
    expect(h.state.boundary).toEqual(['model-output']);
    h.carryOn(); h.start();
    expect(h.state.boundary).toEqual([]);
    h.end('unknown');
    expect(h.state.boundary).toEqual(['world-reconciliation']);
  });
  it('[WSP-1] cites base, tree, what changed it, and what was run on which tree with which result', () => {
    const tree = (n: number): ContentRef => ({ commitment: `c1.${String(n).repeat(64)}`, bytes: 2, class: 'workspace', media: 'application/json' });
    const workspace = { base: 'b'.repeat(40), tree: tree(0) };
    const h = new History({ workspace });
    const kind = (name: string, k: 'workspace' | 'command') => ({ ...toolOf('box'), name, target: name, connector: { kind: k, config: {} } });
    h.change('registry', { tools: [kind('write', 'workspace'), kind('test', 'command')] });
    h.turn([{ tool: 'write', args: { what: 'a' } }, { tool: 'test', args: {} }]);
    h.start(); h.end('observed');
    h.must('effect-reconciler', [fact('workspace.changed', { effect: Object.keys(h.state.effects)[0] ?? null, workspace: { ...workspace, tree: tree(1) }, previous: tree(0).commitment, summary: 'wrote a' })]);
    h.seal(); h.gate(); h.seal(); h.start(); h.end('failed');
    const ws = sectionsOf(h.state).workspace as unknown as { readonly base: string; readonly tree: ContentRef; readonly changed: readonly object[]; readonly validations: readonly object[] };
    expect(ws).toMatchObject({ base: 'b'.repeat(40), tree: tree(1), changed: [{ effect: Object.keys(h.state.effects)[0], tree: tree(1).commitment, summary: 'wrote a' }] });
    expect(ws.validations).toEqual([expect.objectContaining({ tool: 'test', tree: tree(1).commitment, ok: false, text: expect.objectContaining({ class: 'tool-result' }) })]);
    expect(cut(h.state).cites).toEqual(expect.arrayContaining([tree(1).commitment, (ws.validations[0] as { text: ContentRef }).text.commitment]));
  });
});
