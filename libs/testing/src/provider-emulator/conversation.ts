/**
 * A run of model calls against one endpoint, as a gateway would make them but with all state in memory: for tests of
 * adapters and of the emulator. Every tool answers at once with a text that names it.
 */
import type { CallResult, GenerationPlan, LineageEntry, OpaquePiece, OutputPart, Route } from '@n17q/domain';
import type { Accepted, Interpretation, PieceMap, ProviderAdapter, SendOptions, WireRequest } from '@n17q/providers';

export interface ConversationOptions {
  readonly adapter: ProviderAdapter;
  readonly baseUrl: string;
  readonly credential: string;
  readonly model?: string;
  readonly send?: SendOptions;
  readonly system?: string;
}

export class Conversation {
  entries: LineageEntry[] = [];
  readonly pieces = new Map<string, readonly OpaquePiece[]>();
  readonly requests: WireRequest[] = [];
  readonly interpretations: Interpretation[] = [];
  route: Route;
  credential: string;
  readonly #options: ConversationOptions;

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.credential = options.credential;
    this.route = { account: 'a', provider: 'google', adapter: options.adapter.name, model: options.model ?? 'gemini-3-pro-preview' };
  }

  plan(): GenerationPlan {
    const schema = { type: 'object', properties: { path: { type: 'string' } } };
    return {
      system: this.#options.system ?? 'You repair code.', entries: this.entries, outputTokensMax: 1024,
      tools: ['lookup', 'commit'].map((name) => ({ name, description: `the ${name} tool`, schema })),
    };
  }

  input(text: string): this {
    this.entries.push({ kind: 'input', text });
    return this;
  }

  /** One model call. An accepted output joins the lineage; anything else changes nothing. A refused projection throws. */
  async call(pieces: PieceMap = this.pieces): Promise<Interpretation> {
    const { adapter, baseUrl, send } = this.#options;
    const projection = adapter.project(this.plan(), this.route, pieces);
    if (projection.kind === 'refused') throw new Error(`projection refused: ${projection.code}`);
    this.requests.push(projection.request);
    const outcome = await adapter.send(projection.request, { baseUrl, credential: this.credential }, send ?? { timeoutMs: 5_000 });
    const generation = `g${this.entries.length}`;
    const interpretation = adapter.interpret(outcome, {
      generation, newCallId: (i) => `${generation}.${i}`, offered: ['lookup', 'commit'], sent: pieces, credential: this.credential,
    });
    this.interpretations.push(interpretation);
    if (interpretation.kind === 'accepted') {
      this.entries.push({ kind: 'output', generation, parts: interpretation.parts });
      this.pieces.set(generation, interpretation.pieces);
    }
    return interpretation;
  }

  async accepted(): Promise<Accepted> {
    const interpretation = await this.call();
    if (interpretation.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(interpretation)}`);
    return interpretation;
  }

  /** Results of every call of the last output. */
  results(text = 'done', state = 'budget left: 3'): this {
    const last = this.entries.at(-1);
    const calls = (last?.kind === 'output' ? last.parts : []).filter((part): part is Extract<OutputPart, { kind: 'call' }> => part.kind === 'call');
    this.entries.push({ kind: 'results', state, results: calls.map((call): CallResult => ({
      callId: call.callId, tool: call.tool, ok: true, text: `${call.tool} ${text}`, ...(call.providerCallId === undefined ? {} : { providerCallId: call.providerCallId }),
    })) });
    return this;
  }
}
