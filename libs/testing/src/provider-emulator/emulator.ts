/**
 * A model provider on loopback that is as strict as the real one, and stricter where a switch says so.
 *
 * Deliberately without: streaming, embeddings, files, caches, and any judgement of what the texts say.
 *
 * E1. A request is judged before the scenario is asked: key, model, form, turn order, pairing, signatures.
 * E2. The ledger has the request before it is answered, and `executed` before the first byte of the answer.
 * E3. What the model says depends on the conversation alone; the ledger alone counts.
 *
 * Rows: CON-2, CON-4, EFF-3.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ERRORS, type ApiError, type Phrasing } from './answers.js';
import { serveControl, type EmulatorControl } from './control.js';
import { breakAnswer, executes, json, type Fault } from './faults.js';
import { judge, LENIENT, type Strictness } from './judge.js';
import { Ledger, type LedgerEntry, type LedgerView } from './ledger.js';
import { answerOf } from './reply.js';
import { readRequest, type ReadRequest } from './request.js';
import { replyOf, scenarioRequest, type PastReply, type Scenario, type ScriptedReply } from './scenario.js';
import { sha256, Signatures } from './signatures.js';

export interface EmulatedModel { readonly signaturesRequired: boolean; readonly contextTokens: number }

export interface ProviderEmulatorOptions {
  /** Account name → API key. */
  readonly accounts: Readonly<Record<string, string>>;
  readonly scenario: Scenario;
  /** Authority over `/control/`; without it there is no control over HTTP. */
  readonly controlToken?: string;
  /** Keeps signatures valid over restarts of the emulator; random if absent. */
  readonly signingKey?: string;
  readonly strict?: Partial<Strictness>;
  readonly models?: Readonly<Record<string, EmulatedModel>>;
  readonly port?: number;
  readonly callIds?: boolean;
  readonly phrasing?: Phrasing;
  /** Errors come inside a one-element array. */
  readonly wrapErrors?: boolean;
  readonly bypassAllowed?: boolean;
}

export const EMULATED_MODELS: Readonly<Record<string, EmulatedModel>> = {
  'gemini-3-pro-preview': { signaturesRequired: true, contextTokens: 1_048_576 },
  'gemini-3-flash-preview': { signaturesRequired: true, contextTokens: 1_048_576 },
  'gemini-2.5-pro': { signaturesRequired: false, contextTokens: 1_048_576 },
  'gemini-2.5-flash': { signaturesRequired: false, contextTokens: 1_048_576 },
};

const BODY_BYTES_MAX = 32 * 1024 * 1024;
const PATH = /^\/v1(?:beta)?\/models\/([^/:]+):generateContent$/;

type Judged = { readonly request: ReadRequest; readonly account: string; readonly model: string };

export class ProviderEmulator implements EmulatorControl {
  readonly #server: Server;
  readonly #signatures: Signatures;
  readonly #accounts: Map<string, { readonly key: string; removed: boolean }>;
  readonly #models: Readonly<Record<string, EmulatedModel>>;
  readonly #ledger = new Ledger();
  readonly #history: PastReply[] = [];
  readonly #faults: { readonly fault: Fault; readonly account?: string; left: number }[] = [];
  readonly #met = new Map<string, number>();
  readonly #held = new Map<number, () => void>();
  readonly #options: ProviderEmulatorOptions;
  #scenario: Scenario;
  #strict: Strictness;
  #phrasing: Phrasing;
  #wrapErrors: boolean;
  url = '';

  constructor(options: ProviderEmulatorOptions) {
    this.#options = options;
    this.#signatures = new Signatures(options.signingKey ?? randomBytes(32).toString('hex'));
    this.#accounts = new Map(Object.entries(options.accounts).map(([name, key]) => [name, { key, removed: false }]));
    this.#models = options.models ?? EMULATED_MODELS;
    this.#scenario = options.scenario;
    this.#strict = { ...LENIENT, ...options.strict };
    this.#phrasing = options.phrasing ?? 'developer';
    this.#wrapErrors = options.wrapErrors ?? false;
    this.#server = createServer((req, res) => {
      void this.#serve(req, res).catch((e: unknown) => {
        // a defect of the scenario or of this server: loud, and never mistaken for the provider's own word
        if (!res.headersSent) json(res, 500, { error: { code: 500, status: 'INTERNAL', message: `emulator: ${String(e)}` } });
        else res.destroy();
      });
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#options.port ?? 0, '127.0.0.1', resolve);
    });
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  /** Ends every connection, held ones too. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => { this.#server.close(() => resolve()); });
  }

  ledger(): LedgerView { return this.#ledger.view(); }
  requestBody(order: number): string | undefined { return this.#ledger.body(order); }
  issued(): readonly string[] { return [...this.#signatures.issued]; }
  setScenario(scenario: Scenario): void { this.#scenario = scenario; }
  setStrict(strict: Partial<Strictness>): void { this.#strict = { ...this.#strict, ...strict }; }
  setErrors(form: { readonly phrasing?: Phrasing; readonly wrap?: boolean }): void {
    this.#phrasing = form.phrasing ?? this.#phrasing;
    this.#wrapErrors = form.wrap ?? this.#wrapErrors;
  }
  addAccount(name: string, key: string): void { this.#accounts.set(name, { key, removed: false }); }
  /** Its key is known from then on as that of a suspended account. False if there is no such account. */
  removeAccount(name: string): boolean {
    const account = this.#accounts.get(name);
    if (account !== undefined) account.removed = true;
    return account !== undefined;
  }
  /** The next requests (of an account) that pass the judgement meet `fault`. */
  addFault(fault: Fault, account?: string): void { this.#faults.push({ fault, left: fault.times ?? 1, ...(account === undefined ? {} : { account }) }); }
  /** Orders of the requests whose answers are held. */
  held(): readonly number[] { return [...this.#held.keys()]; }
  /** Lets held answers go: one, or all. Returns how many. */
  release(order?: number): number {
    const orders = order === undefined ? [...this.#held.keys()] : [order];
    return orders.filter((each) => { const go = this.#held.get(each); this.#held.delete(each); go?.(); return go !== undefined; }).length;
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://loopback');
    const body = await bodyOf(req);
    if (url.pathname.startsWith('/control/')) return serveControl(this, this.#options.controlToken, req, res, url, body);
    const entry = this.#ledger.arrived(req.method ?? '', url.pathname, req.headers, body); // keeps E2
    res.once('finish', () => { entry.answered = true; });
    const judged = this.#judge(req, url, body, entry);
    if ('refused' in judged) return this.#refuse(res, entry, judged.refused);
    await this.#answer(judged, body, entry, res);
  }

  #judge(req: IncomingMessage, url: URL, body: Buffer, entry: LedgerEntry): Judged | { readonly refused: ApiError } {
    const key = req.headers['x-goog-api-key'] ?? url.searchParams.get('key') ?? undefined;
    if (typeof key !== 'string' || key === '') return { refused: ERRORS.keyAbsent() };
    const found = [...this.#accounts].find(([, account]) => account.key === key);
    if (found === undefined) return { refused: ERRORS.keyInvalid() };
    const account = entry.account = found[0];
    if (found[1].removed) return { refused: ERRORS.accountRemoved() };
    const model = PATH.exec(url.pathname)?.[1];
    if (model === undefined || req.method !== 'POST') return { refused: ERRORS.pathUnknown() };
    entry.model = model;
    const known = Object.hasOwn(this.#models, model) ? this.#models[model] : undefined;
    if (known === undefined) return { refused: ERRORS.modelUnknown(model) };
    if (body.length > BODY_BYTES_MAX) return { refused: ERRORS.tooLarge() };
    const request = readRequest(body.toString('utf8'));
    if ('refused' in request) return request;
    if (promptTokens(body) > known.contextTokens) return { refused: ERRORS.tooManyTokens(promptTokens(body), known.contextTokens) };
    const verdict = judge(request, {
      signatures: this.#signatures, account, model, signaturesRequired: known.signaturesRequired, strict: this.#strict,
      phrasing: this.#phrasing, bypassAllowed: this.#options.bypassAllowed ?? false,
    });
    entry.bypassed = verdict.bypassed;
    return verdict.refused === undefined ? { request, account, model } : { refused: verdict.refused };
  }

  async #answer({ request, account, model }: Judged, body: Buffer, entry: LedgerEntry, res: ServerResponse): Promise<void> {
    const asked = scenarioRequest(request, account, model);
    const reply = await replyOf(this.#scenario, asked, this.#history);
    if (reply === undefined) return this.#refuse(res, entry, ERRORS.scenario(`emulator: the scenario has no reply at position ${asked.outputs}`));
    const fault = this.#queuedFault(account) ?? this.#scriptedFault(reply, `${account}/${model}/${sha256(request.contentsSource)}`);
    if (fault !== undefined) entry.fault = fault.kind;
    entry.executed = fault === undefined || executes(fault);
    if (entry.executed) this.#history.push({ order: entry.order, account, model, outputs: asked.outputs, reply });
    const answer = answerOf(reply, { signatures: this.#signatures, account, model, request, promptTokens: promptTokens(body), callIds: this.#options.callIds ?? true });
    if (fault !== undefined && fault.kind !== 'hold') return breakAnswer(fault, res, answer);
    if (fault?.kind === 'hold') {
      await new Promise<void>((resolve) => { this.#held.set(entry.order, resolve); });
      if (res.destroyed) return; // the client is gone; the ledger already says what ran
    }
    res.writeHead(200, { 'content-type': 'application/json; charset=UTF-8', 'content-length': String(Buffer.byteLength(answer)) });
    res.end(answer);
  }

  #queuedFault(account: string): Fault | undefined {
    const at = this.#faults.findIndex((queued) => queued.account === undefined || queued.account === account);
    const queued = this.#faults[at];
    if (queued === undefined) return undefined;
    queued.left -= 1;
    if (queued.left <= 0) this.#faults.splice(at, 1);
    return queued.fault;
  }

  /** A step's fault meets the first `times` requests with this conversation; the next one gets the reply. */
  #scriptedFault(reply: ScriptedReply, conversation: string): Fault | undefined {
    if (reply.fault === undefined) return undefined;
    const met = this.#met.get(conversation) ?? 0;
    this.#met.set(conversation, met + 1);
    return met < (reply.fault.times ?? 1) ? reply.fault : undefined;
  }

  #refuse(res: ServerResponse, entry: LedgerEntry, error: ApiError): void {
    entry.refusal = { code: error.code, status: error.status, message: error.message };
    json(res, error.code, this.#wrapErrors ? [{ error }] : { error });
  }
}

/** Listens on loopback; the port is the system's choice unless given. */
export function startProviderEmulator(options: ProviderEmulatorOptions): Promise<ProviderEmulator> {
  return new ProviderEmulator(options).listen();
}

/** Four bytes a token: near enough to make overflow possible. */
const promptTokens = (body: Buffer): number => Math.ceil(body.length / 4);

async function bodyOf(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= BODY_BYTES_MAX + 1) chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
