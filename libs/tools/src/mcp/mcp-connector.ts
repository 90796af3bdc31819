/**
 * Effects at an MCP server.
 *
 * M1. One `tools/call` at most is written per dispatch (`OneCall`), on a connection of its own.
 * M2. The tool must be listed now, once, with the input schema that the mapping pins; else it is another tool, and nothing is sent (TOOL-4).
 * M3. What the server says about the tool can only make its contract stricter. Where it does, the mapping no longer describes the tool, and nothing is
 *     sent: the contract was pinned with the intent, and a person decides about another one.
 * M4. Only a complete result is observed; one that reports an error happened and reports an error. Only an error code that the configuration declares final
 *     is refused. Everything else after the write is unknown.
 * M5. A contract that this mapping cannot keep sends nothing: a server is no fresh sandbox, *keyed* needs a place for the key, and *idempotent* the value
 *     that the server compares.
 * M6. A look says not-found only for a count of 0 that the server gave itself.
 *
 * Rows: EFF-2, EFF-3, EFF-5, TOOL-4, TOOL-5, CTX-6.
 */
import { isDeepStrictEqual } from 'node:util';
import { ProtocolError, SdkError, SdkHttpError, type CallToolResult, type Tool } from '@modelcontextprotocol/client';
import { digestOf } from '@n17q/contracts';
import { strictest, type Digest, type EffectContract, type Json, type ToolMapping } from '@n17q/domain';
import { boundedText } from '../bounded-text.js';
import type { Connector, ConnectorOutcome, DispatchRequest, LookOutcome, QueryRequest } from '../connector.js';
import { mcpContractProblem } from './mcp-check.js';
import { McpToolConfig } from './mcp-config.js';
import { Stopped } from './one-call.js';
import { jsonOf, resultReceipt, resultText } from './result-text.js';
import { McpSession, type McpSurroundings } from './session.js';

export type McpMapping = Pick<ToolMapping, 'connector' | 'target' | 'contract' | 'schemaDigest'>;
/** Before the call is written nothing has happened yet, so a short call does not make a short connection. */
const CONNECT_MS_MIN = 10_000;
type Asked = Pick<DispatchRequest, 'timeoutMs' | 'outputBytesMax' | 'signal'>;

export class McpConnector implements Connector {
  readonly kind = 'mcp';
  readonly #config: McpToolConfig;
  readonly #target: Json;
  readonly #contract: EffectContract;
  readonly #schemaDigest: Digest;
  readonly query?: (request: QueryRequest) => Promise<LookOutcome>;

  /** Throws ZodError on a bad configuration. */
  constructor(tool: McpMapping, readonly around: McpSurroundings) {
    this.#config = McpToolConfig.parse(tool.connector.config);
    [this.#target, this.#contract, this.#schemaDigest] = [tool.target, tool.contract, tool.schemaDigest];
    const { query } = this.#config;
    if (query) this.query = (request) => this.#look(request, query);
  }

  async dispatch(request: DispatchRequest): Promise<ConnectorOutcome> {
    if (!isDeepStrictEqual(request.target, this.#target)) return { kind: 'not-sent', cause: 'OTHER_TARGET' };
    if (mcpContractProblem(this.#config, this.#contract) !== undefined) return { kind: 'not-sent', cause: 'CONTRACT_NOT_POSSIBLE' }; // keeps M5
    const args = this.#arguments(request);
    if (args === undefined) return { kind: 'not-sent', cause: 'ARGUMENTS_NOT_FOR_THIS_TOOL' };
    const session = this.#session(request, request.beforeFirstByte);
    try {
      await session.connect();
      const tool = this.#checked(await session.tools());
      if (typeof tool === 'string') return { kind: 'not-sent', cause: tool };
      return this.#observed(await session.callTool(tool, args, this.#meta(request)), session, request.outputBytesMax);
    } catch (e) {
      const cause = causeOf(e);
      if (!session.call.written) return { kind: 'not-sent', cause };
      if (e instanceof ProtocolError && this.#config.finalErrors.includes(e.code)) return { kind: 'refused', cause, text: boundedText(e.message, request.outputBytesMax) }; // keeps M4
      return { kind: 'unknown', cause };
    } finally {
      await session.close();
    }
  }

  #observed(result: CallToolResult, session: McpSession, outputBytesMax: number): ConnectorOutcome {
    const { text, whole } = resultText(result, outputBytesMax);
    return { kind: 'observed', ok: result.isError !== true, text, ...(whole ? {} : { partial: true as const }), receipt: resultReceipt(result, answerer(this.#config.tool, session)) };
  }

  async #look(request: QueryRequest, query: { readonly tool: string; readonly keyArgument: string }): Promise<LookOutcome> {
    if (!isDeepStrictEqual(request.target, this.#target)) return { kind: 'cannot-tell', cause: 'OTHER_TARGET' };
    const session = this.#session(request, () => true);
    try {
      await session.connect();
      const tool = listedOnce(await session.tools(), query.tool);
      if (typeof tool === 'string') return { kind: 'cannot-tell', cause: tool };
      if (strictest({ kind: 'read-only' }, tool.annotations ?? {}).kind !== 'read-only') return { kind: 'cannot-tell', cause: 'ANNOTATIONS_STRICTER' }; // a look changes nothing
      const result = await session.callTool(tool, { [query.keyArgument]: request.idempotencyKey }, undefined);
      const count = result.isError === true ? undefined : countOf(result);
      if (count === undefined) return { kind: 'cannot-tell', cause: result.isError === true ? 'TOOL_ERROR' : 'RESPONSE_MALFORMED' };
      if (count === 0) return { kind: 'not-found' }; // keeps M6
      return { kind: 'happened', count, receipt: resultReceipt(result, answerer(query.tool, session)), text: resultText(result, request.outputBytesMax).text };
    } catch (e) {
      return { kind: 'cannot-tell', cause: causeOf(e) };
    } finally {
      await session.close();
    }
  }

  /** The tool that the mapping means, or why there is none. */
  #checked(tools: readonly Tool[]): Tool | string {
    const tool = listedOnce(tools, this.#config.tool);
    if (typeof tool === 'string') return tool;
    if (digestOf(tool.inputSchema as Json) !== this.#schemaDigest) return 'SCHEMA_CHANGED'; // keeps M2
    if (!isDeepStrictEqual(strictest(this.#contract, tool.annotations ?? {}), this.#contract)) return 'ANNOTATIONS_STRICTER'; // keeps M3
    return tool;
  }

  #arguments(request: DispatchRequest): Record<string, Json> | undefined {
    const { args } = request;
    if (args === null || typeof args !== 'object' || Array.isArray(args)) return undefined;
    const { precondition } = this.#contract;
    if (precondition !== undefined && !['string', 'number'].includes(typeof (args as Record<string, Json>)[precondition])) return undefined; // keeps M5
    const { key } = this.#config;
    if (key === undefined || !('argument' in key)) return args as Record<string, Json>;
    // what was permitted is not overwritten
    return key.argument in args ? undefined : { ...(args as Record<string, Json>), [key.argument]: request.idempotencyKey };
  }

  #meta(request: DispatchRequest): Record<string, Json> | undefined {
    const { key } = this.#config;
    return key !== undefined && 'meta' in key ? { [key.meta]: request.idempotencyKey } : undefined;
  }

  #session(asked: Asked, beforeFirstByte: () => boolean): McpSession {
    return new McpSession({ server: this.#config, around: this.around, beforeFirstByte, timeoutMs: asked.timeoutMs, connectTimeoutMs: Math.max(asked.timeoutMs, this.around.connectTimeoutMsMin ?? CONNECT_MS_MIN), outputBytesMax: asked.outputBytesMax, ...(asked.signal ? { signal: asked.signal } : {}) });
  }
}

const answerer = (tool: string, s: McpSession) => ({ tool, server: `${s.serverName?.name ?? ''} ${s.serverName?.version ?? ''}`.slice(0, 200), protocol: s.protocol ?? '' });

function listedOnce(tools: readonly Tool[], name: string): Tool | string {
  const found = tools.filter((t) => t.name === name);
  if (found.length > 1) return 'TOOL_LISTED_TWICE';
  return found[0] ?? 'TOOL_NOT_LISTED';
}

/** From a server that was made to be asked: `count` in its structured content, or in a text that is the same JSON. */
function countOf(result: CallToolResult): number | undefined {
  const first = result.content[0];
  const said = result.structuredContent ?? (first?.type === 'text' ? jsonOf(first.text) : undefined);
  const count: unknown = said !== null && typeof said === 'object' ? (said as { readonly count?: unknown }).count : undefined;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

/** A word of ours for what went wrong; a server's own words stay out of it. */
export function causeOf(e: unknown): string {
  if (e instanceof Stopped) return e.what;
  if (e instanceof SdkError && e.cause instanceof Stopped) return e.cause.what; // it broke while the protocol was agreed on
  if (e instanceof ProtocolError) return `RPC_ERROR_${e.code}`;
  if (e instanceof SdkHttpError) return `STATUS_${e.status ?? 'UNKNOWN'}`;
  if (e instanceof SdkError) return e.code === 'INVALID_RESULT' ? 'RESPONSE_MALFORMED' : e.code === 'CONNECTION_CLOSED' ? 'SERVER_EXITED' : e.code;
  const code = (e as NodeJS.ErrnoException | null)?.code;
  if (typeof code === 'string') return code;
  if (e instanceof Error && (e.name === 'SyntaxError' || e.name === 'ZodError')) return 'RESPONSE_MALFORMED';
  return 'PROTOCOL_TROUBLE';
}
