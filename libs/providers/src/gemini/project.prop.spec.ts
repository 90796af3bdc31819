import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { GenerationPlan, Json, LineageEntry, OpaquePiece, OutputPart } from '@n17q/domain';
import type { PieceMap, WireRequest } from '../adapter.js';
import { geminiAdapter } from './adapter.js';

const route = { account: 'a', provider: 'google', adapter: 'gemini', model: 'gemini-3-pro-preview' };
const adapter = geminiAdapter();
const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 12 }), fc.string({ unit: 'binary', maxLength: 6 }), fc.constantFrom('', '"},{', '\ud800', ']}', '\\'));
const args = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
const token = fc.base64String({ minLength: 4, maxLength: 60 }).map((value) => JSON.stringify(value).replaceAll('/', '\\/'));

type Told = { part: 'text' | 'call' | 'thought'; text: string; args: object; token: string; id: boolean };
const told: fc.Arbitrary<Told> = fc.record({ part: fc.constantFrom('text' as const, 'call' as const, 'thought' as const), text, args, token, id: fc.boolean() });
const turns = fc.array(fc.record({ output: fc.array(told, { minLength: 1, maxLength: 4 }), state: text }), { minLength: 1, maxLength: 6 });

/** A lineage grown step by step: every prefix of it that can be sent. */
function grown(steps: { output: Told[]; state: string }[], system: string): { plans: GenerationPlan[]; pieces: Map<string, OpaquePiece[]> } {
  const pieces = new Map<string, OpaquePiece[]>();
  const entries: LineageEntry[] = [{ kind: 'input', text: 'start' }];
  const tools = ['f', 'g.h'].map((name) => ({ name, description: 'd', schema: { type: 'object', a: 1 } as Json }));
  const plans = [{ system, tools, entries: [...entries], outputTokensMax: 10 }];
  steps.forEach(({ output, state }, s) => {
    const generation = `gen-${s}`;
    const parts = output.map((of, i): OutputPart => (of.part === 'thought' ? { kind: 'opaque' } : of.part === 'text' ? { kind: 'text', text: of.text }
      : { kind: 'call', callId: `${s}.${i}`, tool: 'f', args: of.args as Json, ...(of.id ? { providerCallId: `p${s}.${i}` } : {}) }));
    const first = parts.findIndex((part) => part.kind === 'call');
    pieces.set(generation, output.flatMap((of, partIndex): OpaquePiece[] => (of.part === 'thought' ? [{ partIndex, placement: 'part', bytes: Buffer.from(`{"thought": true, "text":${JSON.stringify(of.text)}, "thoughtSignature" :${of.token}}`) }]
      : partIndex === first ? [{ partIndex, placement: 'side', bytes: Buffer.from(of.token) }] : [])));
    entries.push({ kind: 'output', generation, parts });
    entries.push(first < 0 ? { kind: 'input', text: state } : { kind: 'results', state, results: parts.flatMap((part) => (part.kind === 'call' ? [{ callId: part.callId, tool: part.tool, ok: s % 2 === 0, text: state, ...(part.providerCallId === undefined ? {} : { providerCallId: part.providerCallId }) }] : [])) });
    plans.push({ system, tools, entries: [...entries], outputTokensMax: 10 + s });
  });
  return { plans, pieces };
}

const within = (plan: GenerationPlan, pieces: PieceMap): PieceMap => new Map([...pieces].filter(([g]) => plan.entries.some((entry) => entry.kind === 'output' && entry.generation === g)));
function requestOf(plan: GenerationPlan, pieces: PieceMap): WireRequest {
  const projection = adapter.project(plan, route, within(plan, pieces));
  if (projection.kind === 'refused') throw new Error(`${projection.code}: ${projection.message}`);
  return projection.request;
}
/** The same value with every object's keys in reverse order, as a store may give it back. */
const reversed = <T>(value: T): T => (Array.isArray(value) ? value.map(reversed) : value !== null && typeof value === 'object'
  ? Object.fromEntries(Object.entries(value).reverse().map(([key, member]) => [key, reversed(member)])) : value) as T;

describe('projection', () => {
  it('[CTX-8] freezes the bytes of a lineage: each request begins with the whole prefix of the one before', () => {
    fc.assert(fc.property(turns, text, (steps, system) => {
      const { plans, pieces } = grown(steps, system);
      const requests = plans.map((plan) => requestOf(plan, pieces));
      for (const [i, request] of requests.entries()) {
        const bytes = Buffer.from(request.body);
        expect(bytes.subarray(0, request.prefixBytes).toString()).toBe(request.prefixDigestInput);
        const next = requests[i + 1];
        if (next !== undefined) expect(Buffer.from(next.body).subarray(0, request.prefixBytes).equals(bytes.subarray(0, request.prefixBytes))).toBe(true);
        const { contents } = JSON.parse(request.body) as { contents: unknown[] };
        expect(contents).toHaveLength(plans[i]?.entries.length as number);
      }
    }));
  });

  it('[CTX-8] gives the same bytes for a plan that a store gave back with other key orders', () => {
    fc.assert(fc.property(turns, (steps) => {
      const { plans, pieces } = grown(steps, 's');
      const last = plans.at(-1) as GenerationPlan;
      expect(requestOf(reversed(last), pieces)).toEqual(requestOf(last, pieces));
    }));
  });

  it('[CON-1] puts every opaque byte at its place and reads the wire back to the same parts and pieces', () => {
    fc.assert(fc.property(turns, (steps) => {
      const { plans, pieces } = grown(steps, 's');
      const last = plans.at(-1) as GenerationPlan;
      const request = requestOf(last, pieces);
      const { contents } = JSON.parse(request.body) as { contents: unknown[] };
      for (const [i, entry] of last.entries.entries()) {
        if (entry.kind !== 'output') continue;
        // the provider's answer in the very bytes that we would send back
        const before = request.body.indexOf(`"contents":[`);
        expect(before).toBeGreaterThan(0);
        const from = requestOf({ ...last, entries: last.entries.slice(0, i) }, pieces).prefixBytes + 1;
        const to = requestOf({ ...last, entries: last.entries.slice(0, i + 2) }, pieces).prefixBytes;
        const both = `[${Buffer.from(request.body).subarray(from, to).toString()}]`;
        expect(JSON.parse(both)).toEqual([contents[i], contents[i + 1]]);
        const output = both.slice(1, both.indexOf(',{"role":"user"'));
        const answer = `{"candidates":[{"content":${output},"finishReason":"STOP"}]}`;
        const read = adapter.interpret({ kind: 'answered', status: 200, headers: {}, body: Buffer.from(answer) }, { generation: entry.generation, offered: ['f'], newCallId: (at) => `${entry.generation.slice(4)}.${at}` });
        if (read.kind !== 'accepted') throw new Error(JSON.stringify(read));
        expect(JSON.stringify(read.parts)).toBe(JSON.stringify(entry.parts.map((part) => (part.kind === 'call' ? { ...part, args: JSON.parse(JSON.stringify(sorted(part.args))) as Json, ...(part.providerCallId === undefined ? {} : { providerCallId: part.providerCallId }) } : part))));
        expect(read.pieces.map((piece) => [piece.partIndex, piece.placement, Buffer.from(piece.bytes).toString()]))
          .toEqual((pieces.get(entry.generation) ?? []).map((piece) => [piece.partIndex, piece.placement, Buffer.from(piece.bytes).toString()]));
      }
    }), { numRuns: 60 });
  });
});

const sorted = (value: Json): Json => (Array.isArray(value) ? value.map((item) => sorted(item as Json)) : value !== null && typeof value === 'object'
  ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, sorted(member as Json)])) : value);
