/**
 * Turns an interpretation into facts: observations, retained continuations, usage, and what was accepted.
 *
 * O1. Whatever a model says, one append records it and its usage, once: what is too much for an append, or comes after the run's end, is a refusal that was paid for.
 *
 * Rows: CON-1, CON-2, CON-5, NAT-1, NAT-2, BUD-3, RUN-3.
 */
import { v7 as uuidv7 } from 'uuid';
import { canonical, type ContentUpload } from '@n17q/contracts';
import { clip, fact, modelOf, type AcceptedCall, type Amounts, type ContentRef, type ContinuationHandle, type Fact, type Generation, type Json, type OutputPart, type ProfilesDocument, type ProviderAccount, type RunState, type Usage } from '@n17q/domain';
import type { Interpretation, RefusalCode } from '@n17q/providers';
import { tooMuch, unfit, wellFormed } from './bounds.js';
import type { GatewayPorts } from './ports.js';

export interface Recorded { readonly facts: readonly Fact[]; readonly contents: readonly ContentUpload[] }

/** Null when the provider did not say enough: the reservation then stays. */
export function spentFor(doc: ProfilesDocument | undefined, g: Generation, u: Usage | undefined): Amounts | null {
  if (u?.inputTokens === undefined || u.outputTokens === undefined) return null;
  const m = modelOf(doc, g.route);
  if (m === undefined) return null;
  const usd_micros = Math.ceil((u.inputTokens * m.usdMicrosPer1kInput + u.outputTokens * m.usdMicrosPer1kOutput) / 1000);
  return usd_micros > COUNT_MAX ? null : { usd_micros, tokens: u.inputTokens + u.outputTokens, calls: 0 };
}

export async function recorded(p: GatewayPorts, s: RunState, g: Generation, attempt: string, account: ProviderAccount, doc: ProfilesDocument | undefined, heard: Interpretation): Promise<Recorded> {
  const ids = { generation: g.generation, attempt };
  const r: Interpretation = (heard.kind === 'accepted' || heard.kind === 'refused') && heard.usage !== undefined ? { ...heard, usage: countable(heard.usage) } : heard;
  switch (r.kind) {
    case 'not-sent': return { facts: [fact('generation.not-sent', { ...ids, cause: r.cause })], contents: [] };
    case 'unknown': return { facts: [fact('generation.outcome-unknown', { ...ids, cause: r.message === undefined ? r.cause : clip(`${r.cause}: ${r.message}`, 1000) })], contents: [] };
    case 'refused': return {
      contents: [],
      facts: [fact('generation.refused', {
        ...ids, class: r.class, code: r.code, reason: clip(r.message, 1000), facts: { status: r.status, executed: r.executed } as Json, retryAfterMs: r.retryAfterMs ?? null,
        usage: r.usage ?? null, spent: r.usage === undefined ? (r.executed ? null : { usd_micros: 0, tokens: 0, calls: 0 }) : spentFor(doc, g, r.usage),
      })],
    };
    case 'accepted': break;
  }
  if (s.status === 'ended') { // keeps O1
    const disagreed = fact('provider.disagreed', { generation: g.generation, adapter: account.adapter, code: 'OUTPUT_AFTER_END', observation: { attempt } });
    return { contents: [], facts: [disagreed, refusedOutput(g, attempt, doc, r, 'RUN_ENDED', 'the run ended while the model call was under way: its output is not accepted', undefined)] };
  }
  const accepted = tooMuch(r.parts) ?? await acceptedFacts(p, s, g, attempt, account, doc, r);
  const why = typeof accepted === 'string' ? accepted : unfit(accepted.facts, accepted.contents);
  if (typeof accepted !== 'string' && why === null) return accepted;
  const kept = await p.keep(s.tenant, s.run, clip(JSON.stringify(r.parts), EVIDENCE_CHARS_MAX), 'model-output', 'text/plain; charset=utf-8');
  return { contents: kept.upload === null ? [] : [kept.upload], facts: [refusedOutput(g, attempt, doc, r, 'OUTPUT_OUT_OF_BOUNDS', why ?? '', kept.ref)] }; // keeps O1
}

/** Of an output that is not accepted, what is kept as evidence. */
const EVIDENCE_CHARS_MAX = 64 * 1024;
type Accepted = Extract<Interpretation, { kind: 'accepted' }>;
function refusedOutput(g: Generation, attempt: string, doc: ProfilesDocument | undefined, r: Accepted, code: RefusalCode, reason: string, output: ContentRef | undefined): Fact {
  // what a changed context may mend gets one more try; the same again is over (fold.ts)
  return fact('generation.refused', {
    generation: g.generation, attempt, class: code === 'OUTPUT_OUT_OF_BOUNDS' ? 'repairable-once' : 'never-retry-as-is', code, reason: clip(reason, 1000), facts: { status: 200, executed: true, finish: r.finish, parts: r.parts.length },
    retryAfterMs: null, usage: r.usage, spent: spentFor(doc, g, r.usage), ...(output === undefined ? {} : { output }),
  });
}
/** No answer costs so much, and sums of what is below it stay exact. */
const COUNT_MAX = 1e12;
const count = (n: number | undefined): n is number => n !== undefined && Number.isSafeInteger(n) && n >= 0 && n <= COUNT_MAX;
/** Numbers of the provider's own are kept as they came, as far as they are no text of unknown size; a count that cannot be one was not given. */
function countable({ native, inputTokens, outputTokens }: Usage): Usage {
  const text = JSON.stringify(native);
  const kept = text.length > 8192 ? { omitted: 'larger than 8192 characters' } : wellFormed(native) ? native : { omitted: 'no well-formed text' };
  return { native: kept, ...(count(inputTokens) ? { inputTokens } : {}), ...(count(outputTokens) ? { outputTokens } : {}) };
}

async function acceptedFacts(p: GatewayPorts, s: RunState, g: Generation, attempt: string, account: ProviderAccount, doc: ProfilesDocument | undefined, r: Accepted): Promise<Recorded> {
  const contents: ContentUpload[] = [];
  const put = async (bytes: string | Uint8Array, cls: 'model-output' | 'tool-arguments' | 'continuation', media: string) => { const k = await p.keep(s.tenant, s.run, bytes, cls, media); if (k.upload !== null) contents.push(k.upload); return k.ref; };
  const modelServed = r.observed.modelServed ?? g.route.model;
  // keeps CON-5: a run that keeps metadata only keeps no opaque piece either, and says so
  const mayKeep = s.retention !== 'metadata-only';
  const continuations: ContinuationHandle[] = [];
  const retained: Fact[] = [];
  for (const piece of mayKeep ? r.pieces : []) {
    const handle = `con-${uuidv7()}`;
    const exact = p.sealing.exact(piece.bytes);
    const sealed = p.sealing.seal(piece.bytes, { tenant: s.tenant, run: s.run, lineage: g.lineage, generation: g.generation, partIndex: piece.partIndex, placement: piece.placement, adapter: account.adapter, account: account.account, accountScope: account.scope, endpoint: account.endpoint });
    continuations.push({ handle, partIndex: piece.partIndex, placement: piece.placement, sealed: await put(sealed, 'continuation', 'application/octet-stream'), exact });
    retained.push(fact('continuation.retained', { handle, generation: g.generation, turn: s.lineage?.turn ?? 0, adapter: account.adapter, endpoint: account.endpoint, account: account.account, accountScope: account.scope, modelServed, lineage: g.lineage, bytes: piece.bytes.length, exact }));
  }
  const calls: AcceptedCall[] = [];
  for (const part of r.parts) if (part.kind === 'call') calls.push({ call: part.callId, tool: part.tool, args: await put(canonical(part.args), 'tool-arguments', 'application/json') });
  const unavailable = r.pieces.length > 0 && !mayKeep;
  return {
    contents,
    facts: [
      fact('provider.observed', { generation: g.generation, adapter: account.adapter, account: account.account, endpoint: account.endpoint, observation: { responseId: r.observed.responseId ?? null, modelServed, modelAsked: g.route.model } }),
      ...retained,
      fact('generation.accepted', {
        generation: g.generation, attempt, output: await put(canonical({ parts: r.parts as readonly OutputPart[] }), 'model-output', 'application/json'), finish: r.finish, calls, continuations,
        recoverable: unavailable ? 'unavailable' : 'exact', why: unavailable ? 'RETENTION_METADATA_ONLY: the retention contract keeps no opaque protocol state; exact recovery is unavailable' : '',
        usage: r.usage, spent: spentFor(doc, g, r.usage),
      }),
    ],
  };
}
