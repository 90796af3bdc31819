/**
 * Many simulations over the machine's cores: one thread for each core, one seed at a time in each. A seed's result depends on the seed alone, so it does
 * not matter which thread takes it, or when.
 *
 * W1. A thread that dies or hangs ends the fleet with the questions that were open, never with a shorter list of answers.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Question, Verdict } from './trial.js';

const THREADS_MAX = 8;
type Told = { readonly ready: true } | { readonly question: Question; readonly answer: Verdict } | { readonly question: Question; readonly trouble: string };

export class Fleet {
  private readonly workers: Worker[] = [];
  private readonly waiting: { readonly question: Question; readonly hear: (v: Verdict) => void; readonly fail: (e: Error) => void }[] = [];
  private readonly open = new Map<Worker, (typeof this.waiting)[number]>();
  private readonly free: Worker[] = [];
  private lost: Error | undefined;

  constructor(threads = Math.min(THREADS_MAX, availableParallelism())) {
    for (let n = 0; n < threads; n++) this.start();
  }
  private start(): void {
    const worker = new Worker(join(import.meta.dirname, 'fleet-worker.mjs'), { execArgv: [] });
    this.workers.push(worker);
    worker.on('message', (told: Told) => {
      if (!('ready' in told)) this.answered(worker, told);
      this.free.push(worker);
      this.hand();
    });
    worker.on('error', (e) => this.lose(e instanceof Error ? e : new Error(String(e))));
    worker.on('exit', (code) => this.lose(new Error(`a thread of the fleet ended with ${code}`)));
  }
  private answered(worker: Worker, told: Exclude<Told, { ready: true }>): void {
    const asked = this.open.get(worker);
    this.open.delete(worker);
    if ('trouble' in told) asked?.fail(new Error(`${JSON.stringify(told.question)}: ${told.trouble}`));
    else asked?.hear(told.answer);
  }
  private hand(): void {
    while (this.free.length > 0 && this.waiting.length > 0) {
      const [worker, next] = [this.free.shift() as Worker, this.waiting.shift() as (typeof this.waiting)[number]];
      this.open.set(worker, next);
      worker.postMessage(next.question);
    }
  }
  private lose(e: Error): void { // keeps W1
    const asked = [...this.open.values()].map((x) => JSON.stringify(x.question)).join(', ');
    this.lost ??= new Error(`${e.message}; open: ${asked}`, { cause: e });
    for (const x of [...this.open.values(), ...this.waiting.splice(0)]) x.fail(this.lost);
    this.open.clear();
  }

  /** Rejects when the thread that took it is lost, or what it runs throws. */
  ask(question: Question): Promise<Verdict> {
    if (this.lost !== undefined) return Promise.reject(this.lost);
    return new Promise((hear, fail) => { this.waiting.push({ question, hear, fail }); this.hand(); });
  }
  /** Stops the threads, whatever they are at. */
  async stop(): Promise<void> {
    for (const w of this.workers) { w.removeAllListeners('exit'); await w.terminate(); }
    this.lose(new Error('the fleet was stopped'));
  }
}
