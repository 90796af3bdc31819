/**
 * Answering requests, discoverable through the NATS services protocol ($SRV.PING, INFO, STATS).
 * It does not decide anything and keeps no state but its queue.
 *
 * 1. At most `concurrencyMax` handlers run; at most `queueMax` requests wait; beyond that the asker hears OVERLOADED at once.
 * 2. A request that waited longer than its asker does is dropped unseen, so that work nobody waits for is never begun.
 * 3. Every request gets exactly one reply: an answer, a refusal, or a fault that says whether anything may have happened.
 *
 * Rows: SVC-1, SVC-4.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceErrorCodeHeader, ServiceErrorHeader, headers, type MsgHdrs, type Service, type ServiceMsg } from 'nats';
import type { Bus } from './connection.js';
import { BusFault, Refused, messageOf } from './faults.js';
import type { ServiceName } from '@n17q/domain';
import { callerOf } from './names.js';
import { BUDGET_HEADER, OUTCOME_HEADER, type RemoteFault } from './request.js';
import { BODY_BYTES_MAX } from './topology.js';
import { SpanKind, extractTrace, inSpan, traceHeadersOf, type TraceHeaders } from './trace.js';

export interface RequestContext {
  readonly subject: string;
  /** Who asks, as its credentials proved it; only on store subjects. */
  readonly caller: ServiceName | undefined;
  readonly trace: TraceHeaders;
  /** Size of the request's body. */
  readonly bytes: number;
}

/** Returns the answer, or `refuse(…)`. A thrown error with a boolean `mayHaveActed` keeps it; any other counts as "may have acted". */
export type RequestHandler = (body: unknown, ctx: RequestContext) => unknown;

export interface Endpoint { readonly name: string; readonly subject: string; readonly handler: RequestHandler }

export interface ServeOptions {
  /** Service name as NATS tools show it; it must be the bus user's own. */
  readonly name: ServiceName;
  readonly version: string;
  readonly endpoints: readonly Endpoint[];
  /** Replicas of one queue share the requests. Default: the service's name. */
  readonly queue?: string;
  readonly concurrencyMax?: number;
  readonly queueMax?: number;
}

export interface Serving {
  /** Resolves when the service stopped: with the cause if it was not asked to. */
  readonly stopped: Promise<Error | undefined>;
  readonly load: () => { readonly active: number; readonly waiting: number; readonly overloaded: number };
  /** Takes no more requests, and waits for those in work, within `withinMs` (default 10,000). */
  close(withinMs?: number): Promise<void>;
}

interface Job { readonly endpoint: Endpoint; readonly msg: ServiceMsg; readonly arrivedMs: number }

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function remoteFault(error: unknown): RemoteFault {
  const e = (error ?? {}) as { code?: unknown; mayHaveActed?: unknown };
  return {
    code: typeof e.code === 'string' ? e.code.slice(0, 80) : 'HANDLER_FAILED',
    message: messageOf(error).slice(0, 500),
    mayHaveActed: typeof e.mayHaveActed === 'boolean' ? e.mayHaveActed : true,
  };
}

class Server implements Serving {
  readonly stopped: Promise<Error | undefined>;
  readonly #waiting: Job[] = [];
  #active = 0;
  #overloaded = 0;
  #closing = false;
  #drained: (() => void) | undefined;

  constructor(private readonly service: Service, private readonly options: ServeOptions) {
    this.stopped = service.stopped.then((error) => error ?? undefined);
    const group = options.queue ?? options.name;
    for (const endpoint of options.endpoints) {
      service.addEndpoint(endpoint.name, { subject: endpoint.subject, queue: group, handler: (_error, msg) => this.#arrive({ endpoint, msg, arrivedMs: performance.now() }) });
    }
  }

  readonly load = (): { active: number; waiting: number; overloaded: number } =>
    ({ active: this.#active, waiting: this.#waiting.length, overloaded: this.#overloaded });

  async close(withinMs = 10_000): Promise<void> {
    this.#closing = true;
    if (!this.service.isStopped) await this.service.stop();
    if (this.#active + this.#waiting.length === 0) return;
    const late = new AbortController();
    const drained = new Promise<void>((resolve) => { this.#drained = resolve; });
    await Promise.race([drained, delay(withinMs, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    for (const job of this.#waiting.splice(0)) this.#fault(job.msg, new BusFault('DRAINING', 'the service is stopping', false));
  }

  #arrive(job: Job): void {
    if (this.#active < (this.options.concurrencyMax ?? 256)) return void this.#work(job);
    if (this.#waiting.length < (this.options.queueMax ?? 1024) && !this.#closing) return void this.#waiting.push(job);
    this.#overloaded++;
    this.#fault(job.msg, new BusFault('OVERLOADED', `${this.options.name} has too many requests waiting`, false));
  }

  async #work(job: Job): Promise<void> {
    this.#active++;
    try {
      this.#reply(job.msg, await this.#handle(job));
    } catch (error) {
      this.#fault(job.msg, error);
    } finally {
      this.#active--;
      const next = this.#waiting.shift();
      if (next !== undefined) void this.#work(next);
      else if (this.#active === 0) this.#drained?.();
    }
  }

  async #handle({ endpoint, msg, arrivedMs }: Job): Promise<unknown> {
    const budgetMs = Number(msg.headers?.get(BUDGET_HEADER) || Number.POSITIVE_INFINITY);
    if (performance.now() - arrivedMs > budgetMs) throw new BusFault('EXPIRED', 'the asker stopped waiting before the work began', false);
    let body: unknown;
    try {
      body = msg.data.length === 0 ? undefined : JSON.parse(decoder.decode(msg.data));
    } catch (error) {
      throw new BusFault('BAD_REQUEST', `the request is not JSON: ${messageOf(error)}`, false);
    }
    const ctx: RequestContext = { subject: msg.subject, caller: callerOf(msg.subject), trace: msg.headers ? traceHeadersOf(msg.headers) : {}, bytes: msg.data.length };
    return inSpan(`serve ${endpoint.subject}`, SpanKind.SERVER, extractTrace(msg.headers), { 'messaging.system': 'nats', 'messaging.destination.name': endpoint.subject },
      async () => endpoint.handler(body, ctx));
  }

  #reply(msg: ServiceMsg, result: unknown): void {
    const refused = result instanceof Refused;
    const bytes = encoder.encode(JSON.stringify((refused ? result.refusal : result) ?? null));
    if (bytes.length > BODY_BYTES_MAX) throw new BusFault('REPLY_TOO_LARGE', `the reply has ${bytes.length} bytes, at most ${BODY_BYTES_MAX}`, true);
    this.#send(msg, bytes, outcomeHeaders(refused ? 'refused' : 'answered'));
  }

  #fault(msg: ServiceMsg, error: unknown): void {
    const remote = remoteFault(error);
    const hdrs = outcomeHeaders('fault');
    hdrs.set(ServiceErrorCodeHeader, remote.code === 'BAD_REQUEST' ? '400' : '500');
    hdrs.set(ServiceErrorHeader, remote.code);
    this.#send(msg, encoder.encode(JSON.stringify(remote)), hdrs);
  }

  #send(msg: ServiceMsg, bytes: Uint8Array, hdrs: MsgHdrs): void {
    try {
      msg.respond(bytes, { headers: hdrs });
    } catch {
      // The connection is gone: the asker hears of its own disconnect or runs into its timeout, both "may have acted".
    }
  }
}

function outcomeHeaders(outcome: 'answered' | 'refused' | 'fault'): MsgHdrs {
  const hdrs = headers();
  hdrs.set(OUTCOME_HEADER, outcome);
  return hdrs;
}

/** Starts answering. Throws a BusFault `PERMISSION_REFUSED` when the user may not listen on one of the subjects. */
export async function serve(bus: Bus, options: ServeOptions): Promise<Serving> {
  const service = await bus.nc.services.add({ name: options.name, version: options.version, queue: options.queue ?? options.name });
  const server = new Server(service, options);
  await bus.flush(); // the server says no to a subscription before it answers the flush
  if (service.isStopped) {
    const cause = await service.stopped;
    throw new BusFault('PERMISSION_REFUSED', `${options.name} may not serve: ${cause?.message ?? 'the service stopped'}`, false);
  }
  return server;
}
