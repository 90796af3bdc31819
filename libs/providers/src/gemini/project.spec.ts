import { describe, expect, it } from '@jest/globals';
import type { GenerationPlan, LineageEntry, OpaquePiece } from '@n17q/domain';
import { geminiAdapter } from './adapter.js';

const adapter = geminiAdapter();
const route = { account: 'a', provider: 'google', adapter: 'gemini', model: 'gemini-3-pro-preview' };
const input: LineageEntry = { kind: 'input', text: 'start' };
const call = (callId: string, tool = 'f') => ({ kind: 'call' as const, callId, tool, args: {} });
const output: LineageEntry = { kind: 'output', generation: 'g1', parts: [{ kind: 'opaque' }, call('1'), call('2', 'g')] };
const results: LineageEntry = { kind: 'results', state: 'now', results: [{ callId: '1', tool: 'f', ok: true, text: 'yes' }, { callId: '2', tool: 'g', ok: false, text: 'no' }] };
const thought: OpaquePiece = { partIndex: 0, placement: 'part', bytes: Buffer.from('{"text":"","thought":true}') };
const side: OpaquePiece = { partIndex: 1, placement: 'side', bytes: Buffer.from('"A\\/+="') };
const plan = (entries: readonly LineageEntry[], more: Partial<GenerationPlan> = {}): GenerationPlan => ({ system: 's', entries, tools: [{ name: 'f', description: 'd', schema: { type: 'object' } }], outputTokensMax: 5, ...more });
const project = (of: GenerationPlan, pieces: readonly OpaquePiece[] = [thought, side]) => adapter.project(of, route, new Map([['g1', pieces]]));

describe('projection', () => {
  it('[CON-1] [CTX-8] writes exactly these bytes', () => {
    const projection = project(plan([input, output, results]));
    expect(projection).toMatchObject({ kind: 'projected', request: { path: '/v1beta/models/gemini-3-pro-preview:generateContent' } });
    expect(projection.kind === 'projected' && projection.request.body).toBe('{"systemInstruction":{"parts":[{"text":"s"}]},'
      + '"tools":[{"functionDeclarations":[{"description":"d","name":"f","parametersJsonSchema":{"type":"object"}}]}],'
      + '"contents":[{"role":"user","parts":[{"text":"start"}]},'
      + '{"role":"model","parts":[{"text":"","thought":true},{"functionCall":{"args":{},"name":"f"},"thoughtSignature":"A\\/+="},{"functionCall":{"args":{},"name":"g"}}]},'
      + '{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":"yes"}}},{"functionResponse":{"name":"g","response":{"error":"no"}}},'
      + '{"text":"[state of the run, 3 characters]\\nnow\\n[end of the state of the run]"}]}],'
      + '"generationConfig":{"maxOutputTokens":5}}');
  });

  const results2 = results as Extract<LineageEntry, { kind: 'results' }>;
  it.each<[string, GenerationPlan, readonly OpaquePiece[], string]>([
    ['no entries', plan([]), [], 'PLAN_EMPTY'],
    ['an output first', plan([output, results]), [thought, side], 'PLAN_STARTS_WITHOUT_INPUT'],
    ['nothing after an output', plan([input, output]), [thought, side], 'PLAN_HAS_NOTHING_NEW'],
    ['an output without parts', plan([input, { kind: 'output', generation: 'g1', parts: [] }, input]), [], 'OUTPUT_EMPTY'],
    ['calls left unanswered', plan([input, output, input]), [thought, side], 'RESULTS_MISMATCH'],
    ['results in the order of completion', plan([input, output, { ...results2, results: [...results2.results].reverse() }]), [thought, side], 'RESULTS_MISMATCH'],
    ['results of two calls of one tool, swapped', plan([input, { kind: 'output', generation: 'g1', parts: [{ kind: 'opaque' }, call('1'), call('2')] }, { kind: 'results', state: '', results: ['2', '1'].map((callId) => ({ callId, tool: 'f', ok: true, text: '' })) }]), [thought, side], 'RESULTS_MISMATCH'],
    ['one result missing', plan([input, output, { ...results2, results: results2.results.slice(1) }]), [thought, side], 'RESULTS_MISMATCH'],
    ['an invented id', plan([input, output, { ...results2, results: results2.results.map((r) => ({ ...r, providerCallId: 'x' })) }]), [thought, side], 'RESULTS_MISMATCH'],
    ['results of nothing', plan([input, { ...results2, results: [] }]), [], 'RESULTS_MISMATCH'],
    ['a tool name that cannot be said', plan([input], { tools: [{ name: 'a b', description: '', schema: {} }] }), [], 'TOOL_NAME_INVALID'],
    ['a tool twice', plan([input], { tools: ['f', 'f'].map((name) => ({ name, description: '', schema: {} })) }), [], 'TOOL_DUPLICATE'],
    ['too many output tokens', plan([input], { outputTokensMax: 1e9 }), [], 'OUTPUT_TOKENS_OUT_OF_RANGE'],
    ['a lost signature', plan([input, output, results]), [thought], 'PIECE_MISSING'],
    ['a lost opaque part', plan([input, output, results]), [side], 'PIECE_MISSING'],
    ['an empty signature', plan([input, output, results]), [thought, { ...side, bytes: Buffer.from('""') }], 'PIECE_MISSING'],
    ['a piece that is no string', plan([input, output, results]), [thought, { ...side, bytes: Buffer.from('"a","x":1') }], 'PIECE_MALFORMED'],
    ['a part that is no object', plan([input, output, results]), [{ ...thought, bytes: Buffer.from('{},{}') }, side], 'PIECE_MALFORMED'],
    ['a piece beside an opaque part', plan([input, output, results]), [{ ...side, partIndex: 0 }], 'PIECE_MISPLACED'],
    ['a piece beyond the parts', plan([input, output, results]), [thought, side, { ...side, partIndex: 7 }], 'PIECE_MISPLACED'],
    ['two pieces for one part', plan([input, output, results]), [thought, side, side], 'PIECE_DUPLICATE'],
    ['a value that disables the check', plan([input, output, results]), [thought, { ...side, bytes: Buffer.from('"skip_thought_signature_validator"') }], 'PIECE_BYPASS'],
    ['pieces of another lineage', plan([input]), [side], 'PIECE_OF_UNKNOWN_OUTPUT'],
  ])('[CON-2] refuses before anything leaves: %s', (_name, of, pieces, code) => {
    expect(project(of, pieces)).toMatchObject({ kind: 'refused', code });
  });

  it('[CON-4] names the step whose signature is gone', () => {
    const second: LineageEntry = { kind: 'output', generation: 'g2', parts: [call('3')] };
    const answer: LineageEntry = { kind: 'results', state: '', results: [{ callId: '3', tool: 'f', ok: true, text: '' }] };
    const of = plan([input, output, results, second, answer]);
    expect(adapter.required(of, route)).toEqual([{ generation: 'g1', partIndex: 1 }, { generation: 'g2', partIndex: 0 }]);
    expect(project(of)).toEqual({ kind: 'refused', code: 'PIECE_MISSING', generation: 'g2', partIndex: 0, step: 2, message: expect.stringContaining('step 2') as unknown });
    expect(adapter.required(plan([...of.entries, { kind: 'output', generation: 'g3', parts: [{ kind: 'text', text: 't' }] }, input]), route)).toEqual([]);
    expect(adapter.required(of, { ...route, model: 'gemini-2.5-pro' })).toEqual([]);
  });

  it('takes a signed thought before the call in place of a signature on it', () => {
    const of = plan([input, output, results]);
    const signed = [{ ...thought, bytes: Buffer.from('{"text":"","thought":true,"thoughtSignature":"AA=="}') }];
    expect(project(of, signed)).toMatchObject({ kind: 'projected' });
    expect(adapter.required(of, route, new Map([['g1', signed]]))).toEqual([{ generation: 'g1', partIndex: 0 }]);
    expect(adapter.required(of, route, new Map([['g1', [thought, side]]]))).toEqual([{ generation: 'g1', partIndex: 1 }]);
    expect(adapter.required(of, route, new Map([['g1', [thought]]]))).toEqual([{ generation: 'g1', partIndex: 1 }]);
  });

  it('knows only the models of its catalogue', () => {
    for (const model of ['gemini-9', 'constructor', '../x', 'toString']) expect(adapter.project(plan([input]), { ...route, model }, new Map())).toMatchObject({ kind: 'refused', code: 'MODEL_UNKNOWN' });
    expect(adapter.profile('constructor')).toBeUndefined();
  });
});
