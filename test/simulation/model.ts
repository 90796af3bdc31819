/**
 * A provider in memory: an adapter with a wire of its own, and the server behind it. The server issues an opaque piece with each output that has
 * calls, takes it back only on the same parts, after the same bytes, from the same account and model, and counts what it executed.
 */
import { canonical, sha256 } from '@n17q/contracts';
import type { CapabilityProfile, GenerationPlan, Json, LineageEntry, OutputPart, Route } from '@n17q/domain';
import type { OnceOutcome } from '@n17q/platform';
import type { Interpretation, PieceMap, PiecePlace, Projection, ProviderAdapter } from '@n17q/providers';
import type { Prng } from './prng.js';
import type { Owner, Scheduler } from './scheduler.js';

export const PIECE_MARK = 'OPAQUE~';
/** In a response's id: the provider holds that nothing of this conversation is open any more. It knows nothing of the world. */
export const REMEMBERS = '-nothing-is-open';
export const PROFILE: CapabilityProfile = { contextTokens: 1_000_000, outputTokensMax: 8192, toolCalls: true, structuredOutput: true, nativeContinuation: false, opaqueRequired: 'current-turn', storesContent: false };

export type ModelMode = 'ok' | 'loses-request' | 'loses-reply' | 'busy' | 'refuses' | 'not-sent' | 'late' | 'cut';
export interface ModelRequest { readonly at: number; readonly storePosition: number; readonly wire: string; readonly mode: ModelMode; readonly account: string; readonly model: string; executed: boolean; wrong: string | null }
interface Issued { readonly account: string; readonly model: string; readonly before: string; readonly parts: string }
export interface ModelLedger { readonly requests: ModelRequest[]; readonly issued: Map<string, Issued> }
export type Script = (turn: number, offered: readonly string[]) => { readonly parts: readonly OutputPart[]; readonly finish: 'stop' | 'length' };

interface Wire { readonly system: string; readonly tools: readonly { readonly name: string }[]; readonly entries: readonly { readonly kind: string; readonly parts?: readonly (OutputPart & { readonly sig?: string })[] }[] }
const bare = (parts: readonly (OutputPart & { readonly sig?: string })[]): string => canonical(parts.map((p) => ({ ...p, sig: '', callId: '' })));
const firstCall = (parts: readonly OutputPart[]): number => parts.findIndex((p) => p.kind === 'call');

export interface ModelOptions { readonly weights: { readonly [m in ModelMode]: number }; readonly script: Script; readonly storePosition: () => number; readonly timeoutMs: number }

export class Model {
  readonly ledger: ModelLedger = { requests: [], issued: new Map() };
  readonly owner: Owner = { name: 'model', alive: true };
  calm = false;
  private turns = 0;
  constructor(private readonly sched: Scheduler, private readonly rng: Prng, private readonly o: ModelOptions) {}

  adapter(process: Owner): ProviderAdapter {
    return {
      name: 'simulated',
      profile: () => PROFILE,
      project: (plan, route, pieces) => project(plan, route, pieces),
      required: (plan) => required(plan),
      send: (request, endpoint, options) => this.send(process, request.path, request.body, endpoint.credential, options.beforeFirstByte),
      interpret: (outcome, c) => interpret(outcome, c.newCallId),
    };
  }

  private async send(process: Owner, model: string, body: string, account: string, beforeFirstByte: (() => boolean) | undefined): Promise<OnceOutcome> {
    const mode = this.calm ? 'ok' : this.rng.weighted(this.o.weights);
    await this.sched.park(process, 'connects to the model', () => undefined);
    if (mode === 'not-sent') return { kind: 'not-sent', cause: 'CONNECTION_REFUSED' };
    if (beforeFirstByte && !beforeFirstByte()) return { kind: 'not-sent', cause: 'STOPPED_BEFORE_FIRST_BYTE' };
    const r: ModelRequest = { at: this.sched.now, storePosition: this.o.storePosition(), wire: body, mode, account, model, executed: false, wrong: null };
    this.ledger.requests.push(r);
    const replied = mode === 'loses-request' ? new Promise<never>(() => undefined) : this.sched.park(this.owner, 'takes in a request', () => this.serve(r))
      .then((answer) => (mode === 'loses-reply' ? new Promise<never>(() => undefined) : this.sched.park(this.owner, 'answers', () => answer, mode === 'late' ? this.sched.now + this.rng.whole(1000, this.o.timeoutMs * 2) : 0)));
    const timeout = this.sched.park(process, 'gives the model up', (): OnceOutcome => ({ kind: 'cut', cause: 'TIMEOUT', partial: Buffer.alloc(0) }), this.sched.now + this.o.timeoutMs);
    const end = await Promise.race([replied, timeout]);
    return this.sched.park(process, 'hears the model', () => end);
  }

  private serve(r: ModelRequest): OnceOutcome {
    const answered = (status: number, body: unknown): OnceOutcome => ({ kind: 'answered', status, headers: {}, body: Buffer.from(JSON.stringify(body)) });
    if (r.mode === 'busy') return answered(429, { message: 'later' });
    if (r.mode === 'refuses') return answered(400, { message: 'no' });
    r.wrong = this.wrongPiece(r);
    if (r.wrong !== null) return answered(400, { message: r.wrong });
    r.executed = true;
    const wire = JSON.parse(r.wire) as Wire;
    this.turns += 1;
    const out = this.o.script(this.turns, wire.tools.map((t) => t.name));
    const at = firstCall(out.parts);
    const parts: (OutputPart & { sig?: string })[] = out.parts.map((p) => ({ ...p }));
    if (at >= 0) {
      const sig = `${PIECE_MARK}${this.turns}~${sha256(`${this.rng.seed} ${this.turns}`).slice(0, 24)}`;
      this.ledger.issued.set(sig, { account: r.account, model: r.model, before: prefixOf(r.wire), parts: bare(parts) });
      (parts[at] as { sig?: string }).sig = sig;
    }
    const whole = answered(200, { parts, finish: out.finish, usage: { input: Math.ceil(r.wire.length / 4), output: 20 }, id: `resp-${this.turns}${this.rng.chance(0.3) ? REMEMBERS : ''}` });
    return r.mode === 'cut' ? { kind: 'cut', cause: 'RESPONSE_CUT', status: 200, partial: Buffer.alloc(0) } : whole;
  }

  /** Every output that had a piece must bring it back, unchanged, in its place, after the bytes that it answered. */
  private wrongPiece(r: ModelRequest): string | null {
    const wire = JSON.parse(r.wire) as Wire;
    let upTo = wire.entries.length;
    for (const e of wire.entries.toReversed()) {
      upTo -= 1;
      if (e.kind !== 'output' || e.parts === undefined) continue;
      const at = firstCall(e.parts);
      if (at < 0) continue;
      const sig = e.parts[at]?.sig;
      const issued = sig === undefined ? undefined : this.ledger.issued.get(sig);
      if (issued === undefined) return 'PIECE_MISSING';
      if (issued.account !== r.account || issued.model !== r.model) return 'PIECE_FOREIGN';
      if (issued.parts !== bare(e.parts)) return 'PIECE_MOVED';
      if (issued.before !== textUpTo(wire, upTo)) return 'PIECE_AFTER_OTHER_BYTES';
    }
    return null;
  }
}

const head = (w: { readonly system: string; readonly tools: unknown }): string => `{"system":${JSON.stringify(w.system)},"tools":${JSON.stringify(w.tools)},"entries":[`;
const textUpTo = (w: Wire, count: number): string => `${head(w)}${w.entries.slice(0, count).map((e) => JSON.stringify(e)).join(',')}`;
const prefixOf = (body: string): string => { const w = JSON.parse(body) as Wire; return textUpTo(w, w.entries.length); };

function required(plan: GenerationPlan): readonly PiecePlace[] {
  return plan.entries.flatMap((e) => (e.kind === 'output' && firstCall(e.parts) >= 0 ? [{ generation: e.generation, partIndex: firstCall(e.parts) }] : []));
}
export function entryText(e: LineageEntry, pieces: PieceMap): string {
  if (e.kind !== 'output') return JSON.stringify(e);
  const own = pieces.get(e.generation) ?? [];
  return JSON.stringify({ kind: 'output', parts: e.parts.map((p, i) => { const piece = own.find((x) => x.partIndex === i); return { ...p, ...(piece === undefined ? {} : { sig: Buffer.from(piece.bytes).toString('utf8') }) }; }) });
}
/** The same without the check that pieces are there: what a careless adapter would do. */
export function projectAnyway(plan: GenerationPlan, route: Route, pieces: PieceMap): Projection {
  const prefix = `${head({ system: plan.system, tools: plan.tools })}${plan.entries.map((e) => entryText(e, pieces)).join(',')}`;
  return { kind: 'projected', request: { path: `/${route.model}`, body: `${prefix}],"max":${plan.outputTokensMax}}`, prefixBytes: Buffer.byteLength(prefix), prefixDigestInput: prefix } };
}
function project(plan: GenerationPlan, route: Route, pieces: PieceMap): Projection {
  for (const r of required(plan)) if (!(pieces.get(r.generation) ?? []).some((p) => p.partIndex === r.partIndex)) return { kind: 'refused', code: 'PIECE_MISSING', message: 'a piece is missing', generation: r.generation };
  return projectAnyway(plan, route, pieces);
}

function interpret(o: OnceOutcome, newCallId: (i: number) => string): Interpretation {
  if (o.kind === 'not-sent') return { kind: 'not-sent', cause: o.cause };
  if (o.kind === 'cut') return { kind: 'unknown', cause: o.cause };
  const b = JSON.parse(o.body.toString('utf8')) as { message?: string; parts?: (OutputPart & { sig?: string })[]; finish?: 'stop' | 'length'; usage?: { input: number; output: number }; id?: string };
  if (o.status === 429) return { kind: 'refused', class: 'retry-later', code: 'RATE_LIMITED', message: b.message ?? '', status: 429, executed: false, retryAfterMs: 300 };
  if (o.status !== 200) return { kind: 'refused', class: 'never-retry-as-is', code: 'INVALID_ARGUMENT', message: b.message ?? '', status: o.status, executed: false };
  const parts = (b.parts ?? []).map((p, i): OutputPart => { const { sig: _sig, ...plain } = p; return plain.kind === 'call' ? { ...plain, callId: newCallId(i) } : plain; });
  const pieces = (b.parts ?? []).flatMap((p, i) => (p.sig === undefined ? [] : [{ partIndex: i, placement: 'side' as const, bytes: Buffer.from(p.sig) }]));
  return { kind: 'accepted', parts, pieces, finish: b.finish ?? 'other', usage: { native: (b.usage ?? {}) as Json, inputTokens: b.usage?.input ?? 0, outputTokens: b.usage?.output ?? 0 }, observed: b.id === undefined ? {} : { responseId: b.id }, problems: [] };
}
