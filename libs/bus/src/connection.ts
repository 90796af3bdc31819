/**
 * One connection of one user to NATS, which never gives up by itself.
 * It does not retry what was published: bytes that were buffered during an outage are dropped by the client on reconnect,
 * so whoever published learns of the outage as a fault and decides.
 *
 * 1. A lost connection is sought again for ever, with jitter; only wrong credentials or a server too old end it for good.
 * 2. Whoever waits for an answer hears of a disconnect at once, as "may have acted".
 * 3. A connection that closed for good without being asked to is told through `closed`; a process must not go on without it.
 *
 * Rows: SVC-1, SVC-4.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { DebugEvents, Events, NatsError, connect, type ConnectionOptions, type NatsConnection, type Status } from 'nats';
import { BusFault, messageOf } from './faults.js';
import { inboxPrefix, type BusUser } from './names.js';

export type BusStatus =
  | { readonly state: 'connected'; readonly sinceMs: number }
  | { readonly state: 'disconnected'; readonly sinceMs: number };

export interface BusNotice {
  readonly kind: 'waiting-for-server' | 'disconnected' | 'reconnected' | 'permission-refused' | 'server-error' | 'server-too-old' | 'stale';
  readonly detail: string;
}

export interface ConnectOptions {
  readonly service: BusUser;
  /** One or several, comma-separated. */
  readonly url: string;
  /** The bus user; its name is the service's unless the deployment says otherwise. */
  readonly user?: string;
  readonly password: string;
  /** Ends the wait for a first connection. */
  readonly signal?: AbortSignal;
  readonly onNotice?: (notice: BusNotice) => void;
  /** Shorter for tests; the defaults suit production. */
  readonly reconnectWaitMs?: number;
  readonly pingEveryMs?: number;
}

export interface Bus {
  readonly service: BusUser;
  /** For this library's own files. Services use the functions that take a `Bus`. */
  readonly nc: NatsConnection;
  /** Resolves once the connection is gone for good: with the cause, or with undefined after `close()`. */
  readonly closed: Promise<Error | undefined>;
  status(): BusStatus;
  /** Called on every change of connectedness; returns how to stop. */
  onStatus(listener: (status: BusStatus) => void): () => void;
  /** Resolves when the server has seen everything published so far; throws a fault while disconnected. */
  flush(): Promise<void>;
  /** Drains and closes, within `withinMs` (default 5,000). A repeat waits for the same end. */
  close(withinMs?: number): Promise<void>;
}

/** What the client says about itself, as words. */
const dataOf = (event: Status): string => (typeof event.data === 'object' ? JSON.stringify(event.data) : String(event.data));

const OLDEST = { major: 2, minor: 10 };
const CONNECT_TIMEOUT_MS = 5_000;

function refuseOldServer(nc: NatsConnection): void {
  const version = nc.info?.version ?? 'unknown';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return;
  throw new BusFault('SERVER_TOO_OLD', `nats-server ${version} at ${nc.getServer()} is too old: 2.10 or newer is needed, since older ones drop settings silently.`, false);
}

function natsOptions(o: ConnectOptions): ConnectionOptions {
  return {
    servers: o.url.split(',').map((s) => s.trim()),
    user: o.user ?? o.service,
    pass: o.password,
    name: `n17q ${o.service}`,
    inboxPrefix: inboxPrefix(o.service),
    noEcho: true,
    noAsyncTraces: true,
    timeout: CONNECT_TIMEOUT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: o.reconnectWaitMs ?? 500,
    reconnectJitter: Math.ceil((o.reconnectWaitMs ?? 500) / 2),
    pingInterval: o.pingEveryMs ?? 10_000,
    maxPingOut: 2,
  };
}

const isCredentials = (error: unknown): boolean =>
  error instanceof NatsError && (error.isAuthError() || error.code === 'BAD_AUTHENTICATION');

/** Waits on the first connection like on any later one, but says at once when the credentials are wrong. */
async function firstConnection(o: ConnectOptions): Promise<NatsConnection> {
  const waitMs = o.reconnectWaitMs ?? 500;
  for (let told = false; ; ) {
    o.signal?.throwIfAborted();
    try {
      return await connect(natsOptions(o));
    } catch (error) {
      if (isCredentials(error)) {
        throw new BusFault('CREDENTIALS_REFUSED', `NATS at ${o.url} refused the credentials of ${o.user ?? o.service}.`, false, { cause: error });
      }
      if (!told) o.onNotice?.({ kind: 'waiting-for-server', detail: `NATS at ${o.url} does not answer yet (${messageOf(error)}); waiting.` });
      told = true;
      await delay(waitMs + Math.random() * waitMs, undefined, o.signal ? { signal: o.signal } : {});
    }
  }
}

class Connection implements Bus {
  readonly service: BusUser;
  readonly closed: Promise<Error | undefined>;
  readonly #listeners = new Set<(status: BusStatus) => void>();
  #status: BusStatus = { state: 'connected', sinceMs: Date.now() };
  #cause: Error | undefined;
  #closing: Promise<void> | undefined;

  constructor(readonly nc: NatsConnection, private readonly options: ConnectOptions) {
    this.service = options.service;
    this.closed = nc.closed().then((error) => {
      this.#change('disconnected');
      if (this.#closing !== undefined && this.#cause === undefined) return undefined;
      return this.#cause ?? (error instanceof Error ? error : new BusFault('NOT_CONNECTED', 'The NATS connection closed for good.', false));
    });
    void this.#watch();
  }

  status(): BusStatus { return this.#status; }

  onStatus(listener: (status: BusStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async flush(): Promise<void> {
    if (this.#status.state === 'disconnected') throw new BusFault('NOT_CONNECTED', 'Not connected to NATS.', false);
    try {
      await this.nc.flush();
    } catch (error) {
      throw new BusFault('DISCONNECTED', 'The connection was lost while flushing.', true, { cause: error });
    }
  }

  close(withinMs = 5_000): Promise<void> {
    this.#closing ??= (async () => {
      const late = new AbortController();
      // A drain that meets a disconnect never ends by itself, hence the bound and the plain close after it.
      await Promise.race([this.nc.drain().catch(() => undefined), delay(withinMs, undefined, { signal: late.signal }).catch(() => undefined)]);
      late.abort();
      if (!this.nc.isClosed()) await this.nc.close();
    })();
    return this.#closing;
  }

  #change(state: BusStatus['state']): void {
    if (this.#status.state === state) return;
    this.#status = { state, sinceMs: Date.now() };
    for (const listener of this.#listeners) listener(this.#status);
  }

  async #watch(): Promise<void> {
    for await (const event of this.nc.status()) this.#on(event);
  }

  #on(event: Status): void {
    const notice = (kind: BusNotice['kind'], detail: string): void => this.options.onNotice?.({ kind, detail });
    switch (event.type) {
      case Events.Disconnect:
        this.#change('disconnected');
        return notice('disconnected', `lost ${dataOf(event)}`);
      case Events.Reconnect:
        try {
          refuseOldServer(this.nc);
        } catch (error) {
          this.#cause = error as Error;
          notice('server-too-old', messageOf(error));
          return void this.nc.close();
        }
        this.#change('connected');
        return notice('reconnected', `connected to ${dataOf(event)}`);
      case Events.Error:
        return event.permissionContext
          ? notice('permission-refused', `${event.permissionContext.operation} ${event.permissionContext.subject}`)
          : notice('server-error', dataOf(event));
      case DebugEvents.StaleConnection:
        return notice('stale', 'the server stopped answering pings');
      default:
        return undefined;
    }
  }
}

/**
 * Connects as one bus user. Waits for a server that is not there yet (see `signal`); throws a BusFault
 * `CREDENTIALS_REFUSED` or `SERVER_TOO_OLD` when waiting cannot help.
 */
export async function connectBus(options: ConnectOptions): Promise<Bus> {
  if (!options.password) throw new BusFault('CREDENTIALS_REFUSED', `No bus password was given for ${options.service}.`, false);
  const nc = await firstConnection(options);
  try {
    refuseOldServer(nc);
  } catch (error) {
    await nc.close();
    throw error;
  }
  return new Connection(nc, options);
}

/** Ends the process when the connection closed for good without being asked to, so that a supervisor starts a healthy one. */
export function exitWhenClosed(bus: Bus, exit: (cause: Error) => void = (cause) => {
  process.stderr.write(`${bus.service}: the bus connection is gone for good: ${cause.message}\n`);
  process.exit(70);
}): void {
  void bus.closed.then((cause) => {
    if (cause !== undefined) exit(cause);
  });
}
