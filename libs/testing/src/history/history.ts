// What clients saw of the event store, as they saw it: the evidence that the judge works on.
//
// Shares no code with the store on purpose: a mistake that both made would cancel out.
// Times are microseconds of the machine's monotonic clock, so that histories of several processes on one machine compare.

/** One event as a client sent or received it. `digest` is any fingerprint of its bytes, computed by the client. */
export interface SeenEvent { readonly eventId: string; readonly digest: string }
export interface SeenRow extends SeenEvent { readonly revision: number }

interface Operation {
  /** Who asked: reads by one process must never go back. */
  readonly process: string;
  readonly run: string;
  readonly invokedUs: number;
  /** Absent while no answer has come. */
  endedUs?: number;
}

export interface AppendOperation extends Operation {
  readonly kind: 'append';
  /** A second try with the same id is the same append. */
  readonly appendId: string;
  /** The revision that the caller took for the head; 0 for an empty run; null when it named none. */
  readonly expectedRevision: number | null;
  /** The id of the event that the caller saw at the head, when it saw one. */
  readonly headEventId: string | undefined;
  readonly events: readonly SeenEvent[];
  /** "unknown" until something else is certain. */
  outcome: 'ok' | 'conflict' | 'unknown';
  /** With "ok": the revisions that the caller was told, one for each event. */
  revisions?: readonly number[];
  /** With "conflict": the head that the caller was told, if it was told. */
  actualRevision?: number;
}

export interface ReadOperation extends Operation {
  readonly kind: 'read';
  /** The read asked for what comes after this revision. */
  readonly afterRevision: number;
  /** False when it asked for a bounded page: then nothing follows from what it lacks. */
  readonly toHead: boolean;
  outcome: 'ok' | 'failed';
  rows: readonly SeenRow[];
}

export type HistoryOperation = AppendOperation | ReadOperation;

export interface AppendCall {
  ok(revisions: readonly number[]): void;
  conflict(actualRevision?: number): void;
  /** Says explicitly what not answering says as well. */
  unknown(): void;
}
export interface ReadCall { ok(rows: readonly SeenRow[]): void; failed(): void }

export interface AppendIntent {
  readonly run: string;
  readonly appendId: string;
  readonly expectedRevision: number | null;
  readonly headEventId?: string;
  readonly events: readonly SeenEvent[];
}

/** Records the operations of one process. `operations` is plain data: it survives JSON, and several of them concatenate. */
export class HistoryRecorder {
  readonly operations: HistoryOperation[] = [];

  constructor(readonly process: string, private readonly nowUs: () => number = monotonicUs) {}

  /** To be called right before the request leaves; the answer goes to the returned call, right after it came. */
  append(intent: AppendIntent): AppendCall {
    const operation: AppendOperation = {
      kind: 'append', process: this.process, run: intent.run, appendId: intent.appendId, expectedRevision: intent.expectedRevision,
      headEventId: intent.headEventId, events: intent.events, outcome: 'unknown', invokedUs: this.nowUs(),
    };
    this.operations.push(operation);
    return {
      ok: (revisions) => this.end(operation, { outcome: 'ok', revisions }),
      conflict: (actualRevision) => this.end(operation, { outcome: 'conflict', ...(actualRevision === undefined ? {} : { actualRevision }) }),
      unknown: () => this.end(operation, { outcome: 'unknown' }),
    };
  }

  read(run: string, range: { readonly afterRevision?: number; readonly toHead?: boolean } = {}): ReadCall {
    const operation: ReadOperation = {
      kind: 'read', process: this.process, run, afterRevision: range.afterRevision ?? 0, toHead: range.toHead ?? true,
      outcome: 'failed', rows: [], invokedUs: this.nowUs(),
    };
    this.operations.push(operation);
    return {
      ok: (rows) => this.end(operation, { outcome: 'ok', rows }),
      failed: () => this.end(operation, { outcome: 'failed' }),
    };
  }

  private end<T extends HistoryOperation>(operation: T, answer: Partial<T>): void {
    if (operation.endedUs !== undefined) throw new Error('this operation was already answered');
    Object.assign(operation, answer, { endedUs: this.nowUs() });
  }
}

function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
