/**
 * Keeps one pull request open on a durable consumer, for as many messages as there is room for, whatever happens to the
 * connection, the consumer or the stream. It binds to what provisioning made and creates nothing.
 *
 * The client's own `consume()` is not used: it buffers ahead of the handler (the ack wait runs in the buffer), and it waits
 * silently when its consumer is deleted or the connection was renewed.
 *
 * 1. Never more messages are asked for than `room()` says; each is handed over as it arrives.
 * 2. A pull that the server does not confirm (message, heartbeat, status) within two heartbeats is given up and made anew.
 * 3. A consumer that is missing is said once per outage and sought again with back-off until it exists.
 *
 * Rows: SVC-1, SVC-4.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { NatsError, createInbox, nanos, type Msg, type Subscription } from 'nats';
import type { Bus } from './connection.js';
import { messageOf } from './faults.js';
import { RUN_EVENTS_STREAM, inboxPrefix } from './names.js';

export type PullState =
  | { readonly state: 'binding' | 'pulling' | 'stopped' }
  | { readonly state: 'trouble'; readonly code: 'CONSUMER_MISSING' | 'STREAM_MISSING' | 'DISCONNECTED' | 'NO_HEARTBEAT' | 'BUS_TROUBLE'; readonly detail: string };

export interface PullOptions {
  readonly bus: Bus;
  readonly durable: string;
  /** How many messages may be taken now; 0 = none. */
  readonly room: () => number;
  readonly onMessage: (msg: Msg) => void;
  readonly onState: (state: PullState) => void;
  readonly expiresMs?: number;
  readonly heartbeatMs?: number;
}

type Ended = 'filled' | 'expired' | 'stopped';
const encoder = new TextEncoder();
const BACKOFF_MS_MAX = 5_000;

class PullTrouble extends Error {
  constructor(readonly code: Extract<PullState, { state: 'trouble' }>['code'], message: string) { super(message); }
}

export class PullLoop {
  readonly #inbox: string;
  readonly #stop = new AbortController();
  #sub: Subscription | undefined;
  #serial = 0;
  #left = 0;
  #settle: ((end: Ended | PullTrouble) => void) | undefined;
  #roomFreed: (() => void) | undefined;
  #wake: (() => void) | undefined;
  #heard: () => void = () => undefined;
  #aliveAtMs = 0;
  #lastTrouble = '';
  #running: Promise<void> | undefined;

  constructor(private readonly options: PullOptions) {
    this.#inbox = createInbox(inboxPrefix(options.bus.service));
  }

  /** When the server last confirmed that it serves this consumer, in epoch milliseconds; 0 = never yet. */
  get aliveAtMs(): number { return this.#aliveAtMs; }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Tells the loop that `room()` may have grown. */
  freed(): void {
    this.#roomFreed?.();
  }

  /** Takes no more messages from now on; what was handed over stays with its taker. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#roomFreed?.();
    this.#settle?.('stopped');
    try {
      this.#sub?.unsubscribe();
    } catch {
      // A closed connection has no subscriptions left to end.
    }
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const offStatus = this.options.bus.onStatus((status) => {
      if (status.state === 'disconnected') this.#settle?.(new PullTrouble('DISCONNECTED', 'the connection was lost'));
      else this.#wake?.();
    });
    for (let failures = 0; !signal.aborted; ) {
      try {
        this.options.onState({ state: 'binding' });
        await this.#bind();
        this.#lastTrouble = '';
        this.options.onState({ state: 'pulling' });
        for (;;) {
          const end = await this.#pullOnce();
          if (end === 'stopped' || signal.aborted) break;
          failures = 0;
        }
      } catch (error) {
        if (signal.aborted) break;
        this.#tell(error instanceof PullTrouble ? error : new PullTrouble('BUS_TROUBLE', messageOf(error)));
        const waitMs = Math.min(BACKOFF_MS_MAX, 100 * 2 ** Math.min(failures++, 6));
        await this.#pause(waitMs / 2 + Math.random() * (waitMs / 2));
      }
    }
    offStatus();
    this.options.onState({ state: 'stopped' });
  }

  /** Ends early when the loop stops or the connection is back. */
  async #pause(ms: number): Promise<void> {
    const early = new AbortController();
    this.#wake = () => early.abort();
    await delay(ms, undefined, { signal: AbortSignal.any([early.signal, this.#stop.signal]) }).catch(() => undefined);
    this.#wake = undefined;
  }

  #tell(trouble: PullTrouble): void {
    if (trouble.code === this.#lastTrouble) return; // invariant 3
    this.#lastTrouble = trouble.code;
    this.options.onState({ state: 'trouble', code: trouble.code, detail: trouble.message });
  }

  async #bind(): Promise<void> {
    const { bus, durable } = this.options;
    if (bus.status().state === 'disconnected') throw new PullTrouble('DISCONNECTED', 'not connected to NATS');
    if (this.#sub === undefined || this.#sub.isClosed()) {
      this.#sub = bus.nc.subscribe(`${this.#inbox}.*`, { callback: (error, msg) => this.#receive(error, msg) });
    }
    const reply = await bus.nc.request(`$JS.API.CONSUMER.INFO.${RUN_EVENTS_STREAM}.${durable}`, undefined, { timeout: 3_000 }).catch((error: unknown) => {
      throw error instanceof NatsError && error.code === '503' ? new PullTrouble('BUS_TROUBLE', 'JetStream does not answer') : error;
    });
    const info = reply.json<{ error?: { err_code?: number; description?: string } }>();
    if (info.error === undefined) return;
    const code = info.error.err_code === 10014 ? 'CONSUMER_MISSING' : info.error.err_code === 10059 ? 'STREAM_MISSING' : 'BUS_TROUBLE';
    throw new PullTrouble(code, `${RUN_EVENTS_STREAM}/${durable}: ${info.error.description ?? 'refused'}; provisioning makes it`);
  }

  async #pullOnce(): Promise<Ended> {
    const { bus, durable, room, expiresMs = 10_000, heartbeatMs = 2_000 } = this.options;
    while (room() < 1 && !this.#stop.signal.aborted) {
      await new Promise<void>((resolve) => { this.#roomFreed = resolve; });
    }
    if (this.#stop.signal.aborted) return 'stopped';
    const batch = room();
    this.#left = batch;
    this.#serial++;
    const ended = new Promise<Ended | PullTrouble>((resolve) => { this.#settle = resolve; });
    this.#aliveAtMs = Math.max(this.#aliveAtMs, Date.now());
    let heardAtMs = performance.now();
    this.#heard = () => { heardAtMs = performance.now(); };
    const watchdog = setInterval(() => {
      if (performance.now() - heardAtMs > heartbeatMs * 2.5) this.#settle?.(new PullTrouble('NO_HEARTBEAT', 'the server stopped confirming the pull'));
    }, heartbeatMs / 2);
    try {
      if (bus.status().state === 'disconnected') throw new PullTrouble('DISCONNECTED', 'not connected to NATS');
      const pull = { batch, expires: nanos(expiresMs), idle_heartbeat: nanos(heartbeatMs) };
      bus.nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${RUN_EVENTS_STREAM}.${durable}`, encoder.encode(JSON.stringify(pull)), { reply: `${this.#inbox}.${this.#serial}` });
      const end = await ended;
      if (end instanceof PullTrouble) throw end;
      return end;
    } finally {
      clearInterval(watchdog);
      this.#settle = undefined;
    }
  }

  #receive(error: NatsError | null, msg: Msg): void {
    if (error !== null) return this.#settle?.(new PullTrouble('BUS_TROUBLE', messageOf(error)));
    const isStatus = msg.subject.startsWith(`${this.#inbox}.`);
    if (!isStatus) {
      this.#alive();
      this.options.onMessage(msg);
      if (--this.#left <= 0) this.#settle?.('filled');
      return;
    }
    if (msg.subject !== `${this.#inbox}.${this.#serial}`) return; // a word about a pull that was given up
    this.#onStatus(msg.headers?.code ?? 0, (msg.headers?.description ?? '').toLowerCase());
  }

  #alive(): void {
    this.#aliveAtMs = Date.now();
    this.#heard();
  }

  #onStatus(code: number, description: string): void {
    if (code === 503) return this.#settle?.(new PullTrouble('BUS_TROUBLE', 'nobody answers for the consumer'));
    if (code === 409 && description.includes('consumer deleted')) return this.#settle?.(new PullTrouble('CONSUMER_MISSING', 'the consumer was deleted'));
    if (code === 400) return this.#settle?.(new PullTrouble('BUS_TROUBLE', `the server refused the pull: ${description}`));
    this.#alive();
    if (code === 100) return undefined;
    // 404, 408 and what remains of 409 (leadership change, shutdown, limits): this pull is over, the next one finds out.
    if (code === 409) return this.#settle?.(new PullTrouble('BUS_TROUBLE', description));
    return this.#settle?.('expired');
  }
}
