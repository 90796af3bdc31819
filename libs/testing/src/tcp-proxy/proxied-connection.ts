// One proxied connection: two lanes of bytes, each with a queue that keeps order under delay and hold.

import { connect, type Socket } from 'node:net';

export type Direction = 'toTarget' | 'toClient';

export interface ProxyFaults {
  cut: boolean;
  dropReplies: boolean;
  halfOpen: boolean;
  delayMs: number;
  /** Bytes that may still pass in this direction before the connection that carries the last one is reset. */
  resetAfter: { direction: Direction; bytesLeft: number } | undefined;
}

interface Counts { bytesToTarget: number; bytesToClient: number; bytesDropped: number }
/** `undefined` as bytes stands for the end of the stream. */
interface Parcel { readonly bytes: Buffer | undefined; readonly dueMs: number }

class Lane {
  private readonly queue: Parcel[] = [];
  private timer: NodeJS.Timeout | undefined;
  private blocked = false;

  constructor(
    private readonly direction: Direction,
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly connection: ProxiedConnection,
    private readonly faults: ProxyFaults,
    private readonly counts: Counts,
  ) {
    from.on('data', (bytes: Buffer) => this.take(bytes));
    from.on('end', () => this.take(undefined));
    to.on('drain', () => {
      this.blocked = false;
      this.pump();
    });
  }

  pump(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    while (!this.faults.halfOpen && !this.blocked) {
      const parcel = this.queue[0];
      if (parcel === undefined) break;
      const waitMs = parcel.dueMs - performance.now();
      if (waitMs > 0) {
        this.timer = setTimeout(() => this.pump(), waitMs);
        break;
      }
      this.queue.shift();
      this.send(parcel.bytes);
    }
    // Reading stops while much is held, so that a fast sender feels the fault instead of filling our memory.
    if (this.faults.halfOpen || this.blocked || this.queue.length > 256) this.from.pause();
    else this.from.resume();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.queue.length = 0;
  }

  private take(bytes: Buffer | undefined): void {
    this.queue.push({ bytes, dueMs: performance.now() + this.faults.delayMs });
    this.pump();
  }

  private send(bytes: Buffer | undefined): void {
    if (bytes === undefined) {
      this.to.end();
      return;
    }
    if (this.faults.dropReplies && this.direction === 'toClient') {
      this.counts.bytesDropped += bytes.length;
      this.connection.lostBytes = true;
      return;
    }
    const limit = this.faults.resetAfter;
    if (limit?.direction === this.direction && bytes.length >= limit.bytesLeft) {
      this.faults.resetAfter = undefined;
      const last = bytes.subarray(0, limit.bytesLeft);
      this.count(last.length);
      // A reset overtakes bytes that still wait in our buffer: it comes once they are with the kernel.
      this.to.write(last, () => this.connection.reset());
      this.blocked = true;
      return;
    }
    if (limit?.direction === this.direction) limit.bytesLeft -= bytes.length;
    this.count(bytes.length);
    if (!this.to.write(bytes)) this.blocked = true;
  }

  private count(bytes: number): void {
    if (this.direction === 'toTarget') this.counts.bytesToTarget += bytes;
    else this.counts.bytesToClient += bytes;
  }
}

export class ProxiedConnection {
  /** True once a reply byte was swallowed: the stream to the client has a hole and must not go on. */
  lostBytes = false;
  private readonly target: Socket;
  private readonly lanes: readonly Lane[];
  private owedReset = false;
  private gone = false;

  constructor(
    private readonly client: Socket,
    target: { readonly targetHost: string; readonly targetPort: number },
    private readonly faults: ProxyFaults,
    counts: Counts,
    private readonly ended: () => void,
  ) {
    this.target = connect({ host: target.targetHost, port: target.targetPort, allowHalfOpen: true, noDelay: true });
    client.setNoDelay(true);
    this.lanes = [
      new Lane('toTarget', client, this.target, this, faults, counts),
      new Lane('toClient', this.target, client, this, faults, counts),
    ];
    for (const socket of [client, this.target]) {
      socket.on('error', () => this.broken()); // 'close' follows, but only a reset on one side must reset the other
      socket.on('close', () => this.closed());
    }
    for (const lane of this.lanes) lane.pump();
  }

  hold(): void {
    for (const lane of this.lanes) lane.pump();
  }

  release(): void {
    if (this.owedReset) {
      this.reset();
      return;
    }
    for (const lane of this.lanes) lane.pump();
    this.closed();
  }

  reset(): void {
    if (this.gone) return;
    this.gone = true;
    for (const lane of this.lanes) lane.stop();
    this.client.resetAndDestroy();
    this.target.resetAndDestroy();
    this.ended();
  }

  private broken(): void {
    // With the cable pulled neither side learns of the other's death.
    if (this.faults.halfOpen) this.owedReset = true;
    else this.reset();
  }

  private closed(): void {
    if (this.faults.halfOpen || this.gone || !this.client.closed || !this.target.closed) return;
    this.gone = true;
    this.ended();
  }
}
