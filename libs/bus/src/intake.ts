/**
 * What happens to a delivered trigger between the server and a handler: kept alive, put in its run's line, acknowledged by outcome.
 *
 * 1. Acknowledged only after a pass that started after the trigger arrived has succeeded.
 * 2. Trouble delays: a conflict shortly, a failure longer each time, a transient outage longest; nothing is dropped on trouble.
 * 3. At `deliveriesMax` a failing trigger becomes a dead letter **in the store**, and only when that is recorded it is terminated.
 *    Transient trouble is nobody's fault and has until the server's own bound.
 * 4. A handler is vouched for while it works, but not for ever: after `workingMsMax` another replica may have a look.
 *
 * Rows: RUN-4, SVC-1, SVC-4.
 */
import { failpoint } from '@n17q/platform';
import type { Delivery } from './delivery.js';
import { messageOf, troubleOf, type Trouble } from './faults.js';
import type { RunEventHead } from './message.js';
import type { ServiceName } from '@n17q/domain';
import type { RunQueue } from './run-queue.js';
import { ACK_WAIT_MS, SERVER_DELIVERIES_MAX } from './topology.js';

/** What a run-event handler is given. A hint to look at the run; no decision may depend on it. */
export interface RunEvent extends RunEventHead {
  /** How often this trigger was delivered before: 0 the first time. */
  readonly redelivery: number;
}

export interface DeadLetter {
  readonly tenant: string;
  readonly run: string;
  readonly revision: number;
  readonly service: ServiceName;
  /** Id of the event whose trigger could not be handled. */
  readonly trigger: string;
  readonly errorClass: string;
  /** Bounded; the service's own words, which may quote what it worked on. */
  readonly message: string;
  readonly deliveries: number;
}

export type IntakeNotice =
  | { readonly kind: 'delayed'; readonly run: string; readonly deliveries: number; readonly delayMs: number; readonly trouble: Trouble }
  | { readonly kind: 'dead-letter'; readonly letter: DeadLetter; readonly trouble: Trouble }
  | { readonly kind: 'dead-letter-unrecorded'; readonly letter: DeadLetter; readonly detail: string }
  | { readonly kind: 'malformed'; readonly subject: string };

export interface IntakeOptions {
  readonly service: ServiceName;
  readonly queue: RunQueue;
  readonly handle: (event: RunEvent) => Promise<void>;
  /** Records in the store; a repeat for the same run and revision must be harmless. */
  readonly deadLetter: (letter: DeadLetter) => Promise<void>;
  readonly onNotice: (notice: IntakeNotice) => void;
  readonly onSettled: () => void;
  /** Deliveries of a failing trigger before its dead letter. Default 6. */
  readonly deliveriesMax?: number | undefined;
  readonly workingMsMax?: number | undefined;
  /** The consumer's ack wait; a third of it passes between two words that work goes on. Default: the topology's. */
  readonly ackWaitMs?: number | undefined;
  /** Scales every delay; tests make it small. */
  readonly delayUnitMs?: number | undefined;
}

const jittered = (ms: number): number => ms * (0.75 + Math.random() / 2);

/** How long until the next delivery, by kind of trouble and number of deliveries so far. */
export function nakDelayMs(kind: Trouble['kind'], deliveries: number, unitMs = 500): number {
  if (kind === 'conflict') return jittered(unitMs / 5);
  const doubled = unitMs * 2 ** Math.min(deliveries - 1, 6);
  return jittered(kind === 'transient' ? Math.min(60 * unitMs, 2 * doubled) : Math.min(30 * unitMs, doubled));
}

export class Intake {
  readonly #inHand = new Map<Delivery, number>();
  readonly #letters = new Map<string, Promise<void>>();
  readonly #ticker: NodeJS.Timeout;
  #idle: (() => void) | undefined;

  constructor(private readonly options: IntakeOptions) {
    this.#ticker = setInterval(() => this.#vouch(), (options.ackWaitMs ?? ACK_WAIT_MS) / 3);
    this.#ticker.unref();
  }

  get inHand(): number { return this.#inHand.size; }

  /** Takes responsibility for one delivery; settles it some time later, unless the process ends first. */
  take(delivery: Delivery): void {
    failpoint('reactor.after-receive');
    if (delivery.head === undefined) {
      this.options.onNotice({ kind: 'malformed', subject: delivery.subject.slice(0, 200) });
      return delivery.term(); // it will never be readable, and it names no run to record it for
    }
    this.#inHand.set(delivery, performance.now());
    void this.#work(delivery, delivery.head);
  }

  /** Resolves true when nothing is in hand any more, false after `withinMs`; what is left is redelivered by the server. */
  async drain(withinMs: number): Promise<boolean> {
    if (this.#inHand.size > 0) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
        timer = setTimeout(resolve, withinMs);
      });
      clearTimeout(timer);
    }
    clearInterval(this.#ticker);
    return this.#inHand.size === 0;
  }

  async #work(delivery: Delivery, head: RunEventHead): Promise<void> {
    try {
      await this.options.queue.submit(head, () => this.options.handle({ ...head, redelivery: delivery.deliveries - 1 }));
      failpoint('reactor.after-append-before-ack');
      delivery.ack(); // invariant 1
    } catch (error) {
      await this.#trouble(delivery, head, troubleOf(error));
    } finally {
      this.#inHand.delete(delivery);
      this.options.onSettled();
      if (this.#inHand.size === 0) this.#idle?.();
    }
  }

  async #trouble(delivery: Delivery, head: RunEventHead, trouble: Trouble): Promise<void> {
    const bound = trouble.kind === 'failed' ? (this.options.deliveriesMax ?? 6) : SERVER_DELIVERIES_MAX;
    if (delivery.deliveries >= bound && await this.#recorded(delivery, head, trouble)) return delivery.term();
    const delayMs = nakDelayMs(trouble.kind, delivery.deliveries, this.options.delayUnitMs);
    this.options.onNotice({ kind: 'delayed', run: head.run, deliveries: delivery.deliveries, delayMs, trouble });
    delivery.nak(delayMs);
  }

  /** True once the store has the dead letter. Triggers of one run that fail together make one letter. */
  async #recorded(delivery: Delivery, head: RunEventHead, trouble: Trouble): Promise<boolean> {
    const letter: DeadLetter = {
      tenant: head.tenant, run: head.run, revision: head.revision, service: this.options.service, trigger: head.eventId,
      errorClass: trouble.code, message: trouble.message, deliveries: delivery.deliveries,
    };
    const key = `${head.tenant}\u0000${head.run}`;
    let recording = this.#letters.get(key);
    if (recording === undefined) {
      recording = (async () => this.options.deadLetter(letter))().finally(() => this.#letters.delete(key));
      this.#letters.set(key, recording);
    }
    try {
      await recording;
      this.options.onNotice({ kind: 'dead-letter', letter, trouble });
      return true;
    } catch (error) {
      this.options.onNotice({ kind: 'dead-letter-unrecorded', letter, detail: messageOf(error) });
      return false;
    }
  }

  #vouch(): void {
    const now = performance.now();
    for (const [delivery, since] of this.#inHand) {
      if (now - since < (this.options.workingMsMax ?? 600_000)) delivery.working();
    }
  }
}
