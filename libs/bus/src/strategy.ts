/**
 * Nest's transport for run events and requests.
 * `@OnRunEvent()` handlers (an `@EventPattern(RUN_EVENT)`) are fed from this service's durable consumers; `@MessagePattern(subject)` handlers answer
 * requests. It creates nothing on the server, keeps no state of runs, and does not own the bus connection or the run queue.
 *
 * 1. A handler's Observable is awaited to its end before anything is acknowledged.
 * 2. Handler errors are the strategy's own (Nest is told so) and decide the fate of the message; see intake.ts.
 * 3. close() takes nothing new, lets what is in work end within its deadline, and leaves the rest unacknowledged.
 *
 * Rows: SVC-1, SVC-4, RUN-4.
 */
import { Catch, type ArgumentsHost, type RpcExceptionFilter } from '@nestjs/common';
import { BaseRpcContext, EventPattern, Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { isObservable, lastValueFrom, throwError, type Observable } from 'rxjs';
import type { Bus } from './connection.js';
import { delivered } from './delivery.js';
import { Intake, type DeadLetter, type IntakeNotice, type RunEvent } from './intake.js';
import type { ServiceName } from '@n17q/domain';
import { RUN_EVENT } from './names.js';
import { PullLoop, type PullState } from './pull.js';
import { RunQueue } from './run-queue.js';
import { serve, type Endpoint, type RequestContext, type Serving } from './serve.js';
import { durablesOf, type ConsumingService } from './topology.js';
import { SpanKind, inSpan } from './trace.js';
import { ROOT_CONTEXT, propagation } from '@opentelemetry/api';

export type StrategyNotice = IntakeNotice | { readonly kind: 'pull'; readonly durable: string; readonly state: PullState } | { readonly kind: 'serving-stopped'; readonly detail: string };

export interface StrategyOptions {
  readonly bus: Bus;
  readonly version: string;
  /** Shared with the service's sweep, so that both never work on one run at once. */
  readonly queue?: RunQueue;
  readonly deadLetter: (letter: DeadLetter) => Promise<void>;
  readonly onNotice?: (notice: StrategyNotice) => void;
  /** Runs in work at once, when no queue is given. Default 8. */
  readonly concurrencyMax?: number;
  /** Triggers in hand at once, waiting or in work. Default 64. */
  readonly inHandMax?: number;
  readonly deliveriesMax?: number;
  readonly delayUnitMs?: number;
  /** How long a handler is vouched for before another replica may have a look. Default 10 minutes. */
  readonly workingMsMax?: number;
  readonly ackWaitMs?: number;
  readonly requestsMax?: number;
  /** How long close() waits for work. Default 10,000. */
  readonly closeMsMax?: number;
}

export interface StrategyHealth {
  /** Of the consumer that is worst off. */
  readonly state: PullState | { readonly state: 'not-started' };
  /** When the server last confirmed the pull that is longest unconfirmed, in epoch milliseconds; 0 = never. */
  readonly aliveAtMs: number;
  readonly inHand: number;
  readonly runs: number;
}

/** Second argument of every handler: what the bus knows beside the payload. */
export class BusContext extends BaseRpcContext<[RequestContext | RunEvent]> {}

/** Marks the method that reacts to this service's run events. Nest's own decorator with its typing made fit for a second argument. */
export const OnRunEvent = (): MethodDecorator => EventPattern<string>(RUN_EVENT);

/** Lets a handler's own error reach the strategy; without it Nest masks every plain error as "Internal server error". */
@Catch()
export class BusExceptionFilter implements RpcExceptionFilter {
  catch(exception: unknown, _host: ArgumentsHost): Observable<never> {
    return throwError(() => exception);
  }
}

const ended = async (result: unknown): Promise<unknown> => {
  const value: unknown = await result;
  return isObservable(value) ? lastValueFrom(value, { defaultValue: undefined }) : value;
};

interface Feed { readonly intake: Intake; readonly pull: PullLoop; state: StrategyHealth['state'] }

export class RunEventsStrategy extends Server implements CustomTransportStrategy {
  override readonly propagatesEventHandlerErrors = true;
  readonly queue: RunQueue;
  readonly #feeds: Feed[] = [];
  #serving: Serving | undefined;

  constructor(private readonly options: StrategyOptions) {
    super();
    this.queue = options.queue ?? new RunQueue({ concurrencyMax: options.concurrencyMax ?? 8 });
    this.initializeSerializer({});
    this.initializeDeserializer({});
  }

  /** Calls Nest back once requests are served and the pull loop runs; a missing consumer is waited for, not an error. */
  async listen(callback: (error?: unknown) => void): Promise<void> {
    try {
      await this.#start();
    } catch (error) {
      return callback(error);
    }
    callback();
  }

  async close(): Promise<void> {
    const withinMs = this.options.closeMsMax ?? 10_000;
    await Promise.all(this.#feeds.map((feed) => feed.pull.stop()));
    await Promise.all([...this.#feeds.map((feed) => feed.intake.drain(withinMs)), this.#serving?.close(withinMs)]);
    // Acks are still in the client's buffer; on a dead connection they are lost, and the triggers come again.
    if (this.options.bus.status().state === 'connected') await this.options.bus.flush().catch(() => undefined);
  }

  health(): StrategyHealth {
    const states = this.#feeds.map((feed) => feed.state);
    return {
      state: states.find((s) => s.state === 'trouble') ?? states.find((s) => s.state !== 'pulling') ?? states[0] ?? { state: 'not-started' },
      aliveAtMs: this.#feeds.length === 0 ? 0 : Math.min(...this.#feeds.map((feed) => feed.pull.aliveAtMs)),
      inHand: this.#feeds.reduce((sum, feed) => sum + feed.intake.inHand, 0),
      runs: this.queue.runs,
    };
  }

  override on(): never {
    throw new Error('RunEventsStrategy emits no events; use onNotice and health().');
  }

  override unwrap<T>(): T {
    return this.options.bus as T;
  }

  async #start(): Promise<void> {
    const endpoints: Endpoint[] = [];
    for (const [pattern, handler] of this.messageHandlers) {
      if (handler.isEventHandler && pattern !== RUN_EVENT) throw new Error(`@EventPattern("${pattern}") is never fed: run events arrive under "${RUN_EVENT}".`);
      if (!handler.isEventHandler) endpoints.push(this.#endpoint(pattern, handler));
    }
    await this.#serve(endpoints); // also without a verb of its own: service discovery finds whoever is there
    const onEvent = this.messageHandlers.get(RUN_EVENT);
    if (!onEvent?.isEventHandler) return;
    for (const durable of durablesOf(this.options.bus.service as ConsumingService)) this.#feeds.push(this.#feed(durable, onEvent));
    for (const feed of this.#feeds) feed.pull.start();
  }

  #endpoint(subject: string, handler: MessageHandler): Endpoint {
    const name = subject.replaceAll(/[^A-Za-z0-9_-]+/g, '-').replaceAll(/^-+|-+$/g, '');
    return { name, subject, handler: (body, ctx) => ended(handler(body, new BusContext([ctx]))) };
  }

  async #serve(endpoints: readonly Endpoint[]): Promise<void> {
    const { bus, version, requestsMax } = this.options;
    this.#serving = await serve(bus, { name: bus.service as ServiceName, version, endpoints, ...(requestsMax !== undefined && { concurrencyMax: requestsMax }) });
    void this.#serving.stopped.then((cause) => {
      if (cause !== undefined) this.#notice({ kind: 'serving-stopped', detail: cause.message });
    });
  }

  /** One consumer's way to the handler. Room is split evenly among the feeds; the queue is theirs together. */
  #feed(durable: string, handler: MessageHandler): Feed {
    const { bus, deadLetter, inHandMax = 64 } = this.options;
    const share = Math.max(1, Math.floor(inHandMax / durablesOf(bus.service as ConsumingService).length));
    const intake = new Intake({
      service: bus.service as ServiceName, queue: this.queue, deadLetter,
      handle: (event) => this.#handle(handler, event),
      onNotice: (notice) => this.#notice(notice),
      onSettled: () => feed.pull.freed(),
      deliveriesMax: this.options.deliveriesMax, delayUnitMs: this.options.delayUnitMs,
      workingMsMax: this.options.workingMsMax, ackWaitMs: this.options.ackWaitMs,
    });
    const pull = new PullLoop({
      bus, durable,
      room: () => share - intake.inHand,
      onMessage: (msg) => intake.take(delivered(msg)),
      onState: (state) => {
        feed.state = state;
        this.#notice({ kind: 'pull', durable, state });
      },
    });
    const feed: Feed = { intake, pull, state: { state: 'not-started' } };
    return feed;
  }

  async #handle(handler: MessageHandler, event: RunEvent): Promise<void> {
    const parent = propagation.extract(ROOT_CONTEXT, event.trace);
    await inSpan(`process ${event.type}`, SpanKind.CONSUMER, parent, { 'messaging.system': 'nats', 'n17q.revision': event.revision }, async () => {
      await ended(handler(event, new BusContext([event])));
    });
  }

  #notice(notice: StrategyNotice): void {
    this.options.onNotice?.(notice);
  }
}
