/**
 * A plan as the bytes of one `generateContent` request.
 *
 * W1. The body is `{system, tools, contents, generationConfig}` in this order, so that everything up to the last content
 *     is a prefix of the lineage's next request (CTX-8). What may change between requests comes after it.
 * W2. Each entry becomes one content, by itself: no entry's bytes depend on a later one.
 * W3. An output goes back as one model content with its parts in their order; its results as one user content, in the
 *     order of the calls, whatever the order of completion.
 * W4. A piece's bytes are inserted as they are. Nothing is merged, filtered or moved, however empty it looks.
 * W5. Objects are written with sorted keys: a plan that went through a store gives the same bytes.
 *
 * Rows: CTX-8, CON-1, CON-2.
 */
import type { CallResult, GenerationPlan, Json, LineageEntry, OpaquePiece, OutputPart, Route } from '@n17q/domain';
import type { PieceMap, Projection, ProjectionRefusal, ProjectionRefusalCode } from '../adapter.js';
import { stableJson } from '../stable-json.js';
import type { ModelCatalogue } from './models.js';
import { pieceFault, pieceText, unsignedStep } from './pieces.js';

type Output = Extract<LineageEntry, { kind: 'output' }>;
type Results = Extract<LineageEntry, { kind: 'results' }>;

const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/;
const MODEL_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,126}[a-z0-9])?$/;

export function projectGemini(plan: GenerationPlan, route: Route, pieces: PieceMap, catalogue: ModelCatalogue): Projection {
  const profile = Object.hasOwn(catalogue, route.model) && MODEL_NAME.test(route.model) ? catalogue[route.model] : undefined;
  if (profile === undefined) return refuse('MODEL_UNKNOWN', 'the model is not in the catalogue');
  if (!Number.isSafeInteger(plan.outputTokensMax) || plan.outputTokensMax < 1 || plan.outputTokensMax > profile.outputTokensMax) {
    return refuse('OUTPUT_TOKENS_OUT_OF_RANGE', `outputTokensMax must be 1 to ${profile.outputTokensMax}`);
  }
  const fault = toolFault(plan) ?? shapeFault(plan) ?? piecesFault(plan, pieces)
    ?? (profile.opaqueRequired === 'current-turn' ? unsignedStep(plan, pieces) : undefined);
  if (fault !== undefined) return fault;

  const prefix = `{${frame(plan)}"contents":[${plan.entries.map((entry) => contentOf(entry, pieces)).join(',')}`;
  return {
    kind: 'projected',
    request: {
      path: `/v1beta/models/${route.model}:generateContent`,
      body: `${prefix}],"generationConfig":${stableJson({ maxOutputTokens: plan.outputTokensMax })}}`,
      prefixBytes: Buffer.byteLength(prefix),
      prefixDigestInput: prefix,
    },
  };
}

function refuse(code: ProjectionRefusalCode, message: string, generation?: string): ProjectionRefusal {
  return { kind: 'refused', code, message, ...(generation === undefined ? {} : { generation }) };
}

function toolFault(plan: GenerationPlan): ProjectionRefusal | undefined {
  const names = new Set<string>();
  for (const { name } of plan.tools) {
    if (!TOOL_NAME.test(name)) return refuse('TOOL_NAME_INVALID', `tool name not expressible: ${name.slice(0, 128)}`);
    if (names.has(name)) return refuse('TOOL_DUPLICATE', `tool declared twice: ${name}`);
    names.add(name);
  }
  return undefined;
}

/** The turn order that the provider demands, checked before anything leaves. */
function shapeFault(plan: GenerationPlan): ProjectionRefusal | undefined {
  const { entries } = plan;
  if (entries.length === 0) return refuse('PLAN_EMPTY', 'the lineage has no entries');
  if (entries[0]?.kind !== 'input') return refuse('PLAN_STARTS_WITHOUT_INPUT', 'a lineage starts with an input');
  if (entries.at(-1)?.kind === 'output') return refuse('PLAN_HAS_NOTHING_NEW', 'the last entry is the model\'s own output');
  for (const [i, entry] of entries.entries()) {
    const before = entries[i - 1];
    if (entry.kind === 'output') {
      if (entry.parts.length === 0) return refuse('OUTPUT_EMPTY', 'an output has no parts', entry.generation);
      if (before?.kind === 'output') return refuse('RESULTS_MISMATCH', 'two outputs follow each other', entry.generation);
    } else if (!answers(before, entry)) {
      return refuse('RESULTS_MISMATCH', 'results must answer every call of the output before them, in its order', before?.kind === 'output' ? before.generation : undefined);
    }
  }
  return undefined;
}

function answers(before: LineageEntry | undefined, entry: Exclude<LineageEntry, Output>): boolean {
  const calls = before?.kind === 'output' ? before.parts.filter((part) => part.kind === 'call') : [];
  const results = entry.kind === 'results' ? entry.results : [];
  if (entry.kind === 'results' && calls.length === 0) return false;
  return calls.length === results.length && calls.every((call, i) =>
    call.callId === results[i]?.callId && call.tool === results[i]?.tool && call.providerCallId === results[i]?.providerCallId);
}

function piecesFault(plan: GenerationPlan, pieces: PieceMap): ProjectionRefusal | undefined {
  const known = new Set<string>();
  for (const entry of plan.entries) {
    if (entry.kind !== 'output') continue;
    known.add(entry.generation);
    const fault = pieceFault(entry, pieces.get(entry.generation) ?? []);
    if (fault !== undefined) return fault;
  }
  for (const [generation, of] of pieces) {
    if (of.length > 0 && !known.has(generation)) return refuse('PIECE_OF_UNKNOWN_OUTPUT', 'pieces of an output that this lineage does not hold', generation);
  }
  return undefined;
}

function frame(plan: GenerationPlan): string {
  const system = plan.system === '' ? '' : `"systemInstruction":${stableJson({ parts: [{ text: plan.system }] })},`;
  const declarations = plan.tools.map((tool): Json => ({ name: tool.name, description: tool.description, parametersJsonSchema: tool.schema }));
  return declarations.length === 0 ? system : `${system}"tools":${stableJson([{ functionDeclarations: declarations }])},`;
}

function contentOf(entry: LineageEntry, pieces: PieceMap): string {
  switch (entry.kind) {
    case 'input': return content('user', [stableJson({ text: entry.text })]);
    case 'output': return content('model', modelParts(entry, pieces.get(entry.generation) ?? []));
    case 'results': return content('user', resultParts(entry));
    default: return entry satisfies never;
  }
}

function content(role: 'user' | 'model', parts: readonly string[]): string {
  return `{"role":"${role}","parts":[${parts.join(',')}]}`;
}

function modelParts(output: Output, pieces: readonly OpaquePiece[]): string[] {
  return output.parts.map((part, i) => {
    const piece = pieces.find((candidate) => candidate.partIndex === i);
    const bytes = piece === undefined ? undefined : pieceText(piece);
    if (part.kind === 'opaque') return bytes as string; // present: pieceFault went over every opaque part
    const visible = stableJson(visiblePart(part));
    return bytes === undefined ? visible : `${visible.slice(0, -1)},"thoughtSignature":${bytes}}`; // keeps W4
  });
}

function visiblePart(part: Exclude<OutputPart, { kind: 'opaque' }>): Json {
  if (part.kind === 'text') return { text: part.text };
  return { functionCall: { ...(part.providerCallId === undefined ? {} : { id: part.providerCallId }), name: part.tool, args: part.args } };
}

function resultParts(entry: Results): string[] {
  const responses = entry.results.map((result) => stableJson({ functionResponse: responseOf(result) }));
  return entry.state === '' ? responses : [...responses, stableJson({ text: delimited(entry.state) })];
}

function responseOf(result: CallResult): Json {
  return {
    ...(result.providerCallId === undefined ? {} : { id: result.providerCallId }),
    name: result.tool,
    response: result.ok ? { result: result.text } : { error: result.text },
  };
}

/** The length in the heading is what bounds the text: no content can imitate its own end. */
function delimited(state: string): string {
  return `[state of the run, ${state.length} characters]\n${state}\n[end of the state of the run]`;
}
