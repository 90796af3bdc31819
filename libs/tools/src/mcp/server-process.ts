/**
 * The stdio transport: an MCP server as a child process, with nothing of this process's environment, and surely over when `close` resolves.
 *
 * The SDK's own transport hands down HOME, USER and the like, kills only the first process, and probes in a second one; hence this one. It has
 * `pid` and `stderr`, by which the SDK knows a pipe and falls back to the older handshake when the probe stays without an answer.
 *
 * P1. The `tools/call` is written in the same turn of the event loop in which the last check said yes.
 * P2. What it writes is bounded (`Inflow`), lines that are no message are dropped, its standard error is drained and only its end is kept.
 * P3. What we write is bounded: a server that does not read ends its session.
 * P4. `close` ends the process group: politely first, then without exception.
 *
 * Rows: EFF-2, EFF-3, SEC-4.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { deserializeMessage, serializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client';
import { SYSTEM_PATH } from '../command/isolation.js';
import { HeadAndTail } from '../bounded-text.js';
import { ANSWERS_MAX, type Inflow } from './inflow.js';
import { isAnswer, isToolCall, Stopped, type OneCall } from './one-call.js';

export interface ServerProcessOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly call: OneCall;
  readonly inflow: Inflow;
  /** Ends the session with a cause. */
  readonly fail: (cause: string) => void;
}

const STDERR_BYTES_MAX = 4 * 1024;
/** Beyond the call itself: a server that lets this pile up does not read. */
const UNREAD_BYTES_MAX = 8 * 1024 * 1024;
/** After its input ended, and again after SIGTERM. */
const LEAVE_MS_MAX = 400;
const KILL_MS_MAX = 5_000;
const NEWLINE = 0x0a;

export class ServerProcess implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  #gone: Promise<void> = Promise.resolve();
  #line: Buffer[] = [];
  #answers = 0;
  #over = false;
  readonly #said = new HeadAndTail(STDERR_BYTES_MAX);

  constructor(readonly options: ServerProcessOptions) {}

  get pid(): number | null { return this.#child?.pid ?? null; }
  get stderr(): null { return null; }
  /** The beginning and the end of what it wrote to its standard error. */
  get complaint(): string { return this.#said.text().trim(); }

  start(): Promise<void> {
    if (this.#over) return Promise.reject(new Stopped('CLOSED'));
    const [program, ...rest] = this.options.command;
    return new Promise((resolve, reject) => {
      const child = spawn(program as string, rest, {
        cwd: this.options.cwd, detached: true, stdio: ['pipe', 'pipe', 'pipe'],
        env: { PATH: `${dirname(process.execPath)}:${SYSTEM_PATH}`, LANG: 'C.UTF-8', ...this.options.env },
      });
      this.#child = child;
      this.#gone = new Promise((gone) => {
        child.once('exit', gone);
        child.once('error', (e) => { reject(e); gone(); });
      });
      child.once('spawn', resolve);
      child.once('close', () => this.#ended());
      child.once('exit', () => setTimeout(() => this.#ended(), LEAVE_MS_MAX).unref()); // a stray holds the pipe: do not wait for it
      child.stdin.on('error', (e) => this.onerror?.(e)); // it left; 'close' tells what follows
      child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
      child.stderr.on('data', (chunk: Buffer) => this.#said.add(chunk));
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const input = this.#child?.stdin;
    if (input === undefined || !input.writable || this.#over) throw new Stopped('SERVER_EXITED');
    if (isAnswer(message) && ++this.#answers > ANSWERS_MAX) return; // keeps P3
    if (input.writableLength > UNREAD_BYTES_MAX) {
      this.options.fail('SERVER_DOES_NOT_READ');
      throw new Stopped('SERVER_DOES_NOT_READ');
    }
    const line = serializeMessage(message);
    if (isToolCall(message)) this.options.call.admit(); // keeps P1: nothing awaits between this and the write
    input.write(line);
  }

  async close(): Promise<void> {
    const child = this.#child;
    this.#over = true;
    if (child?.pid === undefined) return;
    child.stdin.end();
    child.stdout.destroy();
    child.stderr.destroy();
    for (const signal of [undefined, 'SIGTERM'] as const) {
      if (signal !== undefined) signalGroup(child.pid, signal);
      if (await within(this.#gone, LEAVE_MS_MAX)) break;
    }
    signalGroup(child.pid, 'SIGKILL'); // keeps P4, also for what it left behind in its group
    await within(this.#gone, KILL_MS_MAX);
    this.#ended();
  }

  #ended(): void {
    this.#over = true;
    const { onclose } = this;
    delete this.onclose;
    onclose?.();
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    for (let at = rest.indexOf(NEWLINE); at >= 0; at = rest.indexOf(NEWLINE)) {
      if (this.#over || !this.options.inflow.bytes(at + 1) || !this.options.inflow.messageEnded()) return this.#deaf();
      const line = Buffer.concat([...this.#line, rest.subarray(0, at)]).toString('utf8');
      this.#line = [];
      rest = rest.subarray(at + 1);
      this.#take(line);
    }
    if (rest.length === 0) return;
    if (this.#over || !this.options.inflow.bytes(rest.length)) return this.#deaf();
    this.#line.push(rest);
  }

  #deaf(): void {
    this.#over = true;
    this.#line = [];
    this.#child?.stdout.destroy();
  }

  #take(line: string): void {
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch (e) {
      if (this.options.call.written && line.startsWith('{')) this.options.fail('RESPONSE_MALFORMED'); // what should have been the answer will not come again
      this.onerror?.(e instanceof Error ? e : new Error(String(e))); // keeps P2: no message, so it answers nothing
      return;
    }
    this.onmessage?.(message);
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'ESRCH') throw e; // ESRCH: all gone already
  }
}

/** Whether `what` came within `ms`. */
async function within(what: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => { timer = setTimeout(() => resolve(false), ms); });
  try {
    return await Promise.race([what.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
