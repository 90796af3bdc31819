/**
 * One connection to one MCP server, for one call or one list: made, used, and closed. Nothing of it is kept for the next.
 *
 * S1. We declare no capability. What a server asks for (sampling, elicitation, roots) is answered with an error, and a result that asks for input
 *     is not answered at all: that would be a second call.
 * S2. Both generations of the protocol are spoken. Which one is found out before the call, on the same connection; a server that dies of the question is
 *     started once more without it. Nothing of the call has left by then.
 * S3. The definition that was checked is the one that is called by: the SDK refreshes no list and repeats no call.
 *
 * Rows: EFF-2, EFF-3, CTX-6.
 */
import { Client, StreamableHTTPClientTransport, type CallToolResult, type Tool } from '@modelcontextprotocol/client';
import type { CredentialHeaders } from '../http/http-config.js';
import { afterCall, Inflow } from './inflow.js';
import type { McpServerConfig } from './mcp-config.js';
import { OneCall, Stopped } from './one-call.js';
import { onceFetch } from './once-fetch.js';
import { ServerProcess } from './server-process.js';

/** From a credential's name to its secret, for a server that takes it as a variable. Throws for an unknown name. */
export type CredentialSecret = (credential: string) => string;

export interface McpSurroundings {
  readonly credentials: CredentialHeaders;
  readonly secrets?: CredentialSecret;
  /** Whether this process starts servers. They run with its rights and whoever may change the registry chooses them, so it is the operator who says yes. */
  readonly mayStartServers?: boolean;
  /** The least time that connecting gets, however short the call may take; a server that must be started first takes a while on a busy machine. */
  readonly connectTimeoutMsMin?: number;
}

export interface SessionOptions {
  readonly server: McpServerConfig;
  readonly around: McpSurroundings;
  readonly outputBytesMax: number;
  /** For connecting and listing. */
  readonly connectTimeoutMs: number;
  /** From the write of the call on. */
  readonly timeoutMs: number;
  readonly beforeFirstByte: () => boolean;
  readonly signal?: AbortSignal;
}

const NAME = { name: 'n17q', version: '0.1.0' };
/** How long a silent server is asked for the newer protocol before the older handshake is tried. */
const PROBE_MS_MAX = 5_000;
const PAGES_MAX = 16;
/** From the end of a call's answer until the answer is taken for missing. */
const LAST_WORDS_MS_MAX = 250;
const GOODBYE_MS_MAX = 500;
/** The session's own clock stops first. */
const NEVER_MS = 2_147_483_000;
const ASK = { timeout: NEVER_MS } as const;

export class McpSession {
  readonly call: OneCall;
  readonly #inflow: Inflow;
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout;
  #process: ServerProcess | undefined;
  #http: StreamableHTTPClientTransport | undefined;
  #client: Client | undefined;

  constructor(readonly options: SessionOptions) {
    this.call = new OneCall(options.beforeFirstByte, () => this.#written());
    this.#inflow = new Inflow((cause) => this.#fail(cause));
    this.#timer = setTimeout(() => this.#fail('CONNECT_TIMEOUT'), options.connectTimeoutMs);
    if (options.signal?.aborted) this.#fail('ABORTED');
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Connects and agrees on a protocol. Throws `Stopped` or what the SDK throws. */
  async connect(): Promise<void> {
    const { server } = this.options;
    if (server.transport === 'http') return this.#until(this.#connectTo(server));
    if (this.options.around.mayStartServers !== true) throw new Stopped('STARTING_SERVERS_NOT_ALLOWED');
    const env = { ...server.env, ...Object.fromEntries(Object.entries(server.credentials).map(([variable, name]) => [variable, this.#secret(name)])) };
    await this.#until(this.#start(server, env));
  }

  /** All tools that the server lists, at most `PAGES_MAX` pages. */
  async tools(): Promise<readonly Tool[]> {
    const client = this.#connected();
    if (client.getServerCapabilities()?.tools === undefined) return [];
    const all: Tool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < PAGES_MAX; page++) {
      const got = await this.#until(client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, ASK));
      all.push(...got.tools);
      cursor = got.nextCursor;
      if (cursor === undefined) return all;
    }
    throw new Stopped('TOO_MANY_TOOLS');
  }

  /** The one call. `tool`: as it was listed and checked. */
  async callTool(tool: Tool, args: Record<string, unknown>, meta: Record<string, unknown> | undefined): Promise<CallToolResult> {
    const result = await this.#until(this.#connected().callTool(
      { name: tool.name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
      { ...ASK, toolDefinition: { name: tool.name, inputSchema: tool.inputSchema } }, // keeps S3; without the output schema, which is the server's own affair
    ));
    if (!this.call.written) throw new Stopped('ANSWER_WITHOUT_CALL');
    return result;
  }

  get serverName(): { readonly name: string; readonly version: string } | undefined { return this.#client?.getServerVersion(); }
  get protocol(): string | undefined { return this.#client?.getNegotiatedProtocolVersion(); }
  /** What a server of our own wrote to its standard error. */
  get complaint(): string { return this.#process?.complaint ?? ''; }

  /** Leaves no process and no connection behind. A repeat does nothing. */
  async close(): Promise<void> {
    if (!this.#stop.signal.aborted && this.#http?.sessionId !== undefined) await this.#goodbye(this.#http);
    this.#fail('CLOSED');
    clearTimeout(this.#timer);
    this.options.signal?.removeEventListener('abort', this.#onAbort);
    await this.#client?.close();
    await this.#http?.close(); // also where the client did not have it yet
    await this.#process?.close();
  }

  readonly #onAbort = (): void => this.#fail('ABORTED');

  #fail(cause: string): void { this.#stop.abort(new Stopped(cause)); }

  #written(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail('TIMEOUT'), this.options.timeoutMs);
    this.#inflow.under(afterCall(this.options.outputBytesMax));
  }

  #connected(): Client {
    if (this.#client === undefined) throw new TypeError('not connected');
    return this.#client;
  }

  #newClient(mode: 'auto' | 'legacy', probeMs: number): Client {
    // keeps S1
    const client = new Client(NAME, { capabilities: {}, inputRequired: { autoFulfill: false }, versionNegotiation: { mode, probe: { timeoutMs: probeMs, maxRetries: 0 } } });
    this.#client = client;
    return client;
  }

  async #connectTo(server: Extract<McpServerConfig, { transport: 'http' }>): Promise<void> {
    const headers = server.credential === undefined ? {} : this.#headers(server.credential);
    this.#http = new StreamableHTTPClientTransport(new URL(server.url), {
      fetch: onceFetch({ call: this.call, inflow: this.#inflow, headers, callEnded: (cause) => void setTimeout(() => this.#fail(cause), LAST_WORDS_MS_MAX).unref() }),
      reconnectionOptions: { maxRetries: 0, initialReconnectionDelay: 1, maxReconnectionDelay: 1, reconnectionDelayGrowFactor: 1 },
    });
    await this.#newClient('auto', NEVER_MS).connect(this.#http, ASK);
  }

  async #start(server: Extract<McpServerConfig, { transport: 'stdio' }>, env: Record<string, string>): Promise<void> {
    for (const mode of ['auto', 'legacy'] as const) {
      const running = new ServerProcess({ command: server.command, cwd: server.cwd, env, call: this.call, inflow: this.#inflow, fail: (cause) => this.#fail(cause) });
      this.#process = running;
      try {
        return await this.#newClient(mode, Math.min(PROBE_MS_MAX, Math.ceil(this.options.connectTimeoutMs / 3))).connect(running, ASK);
      } catch (e) {
        await running.close();
        if (mode === 'legacy' || running.pid === null || this.#stop.signal.aborted) throw e; // keeps S2
      }
    }
  }

  #headers(name: string): Readonly<Record<string, string>> {
    try { return this.options.around.credentials(name); } catch { throw new Stopped('CREDENTIAL_UNAVAILABLE'); } // the message could name a secret
  }
  #secret(name: string): string {
    const { secrets } = this.options.around;
    if (secrets === undefined) throw new Stopped('CREDENTIAL_UNAVAILABLE');
    try { return secrets(name); } catch { throw new Stopped('CREDENTIAL_UNAVAILABLE'); }
  }

  /** Says to an older server that its session is over; nobody waits long for that. */
  async #goodbye(transport: StreamableHTTPClientTransport): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail('CLOSED'), GOODBYE_MS_MAX);
    await this.#until(transport.terminateSession()).catch(() => undefined); // it forgets the session by itself, later
  }

  /** `work`, unless the session ends before. */
  #until<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#stop;
    return new Promise<T>((resolve, reject) => {
      const onStop = (): void => reject(signal.reason as Error);
      if (signal.aborted) onStop();
      signal.addEventListener('abort', onStop, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onStop));
    });
  }
}
