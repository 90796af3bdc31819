/**
 * Outcomes on their way into the log. Those of one run go one append after the other: what becomes ready while one is under way travels together in the next,
 * so that results which arrive together cost few appends. It waits for nothing that is not ready, and judges nothing.
 *
 * O1. Each outcome is decided on the state that those before it in the same append leave.
 * O2. A refusal of several is none of each: each is then offered alone, so that nobody's outcome is lost for another's.
 * O3. An outcome is offered until the store has taken it in or refused it, or `OUTCOME_KEPT_MS` have passed.
 *
 * Rows: EFF-2, EFF-3, EFF-4.
 */
import type { ContentUpload } from '@n17q/contracts';
import { draftOn, type AttemptId, type Fact, type RunId, type RunState, type TenantId } from '@n17q/domain';
import { decideAgain, persistently, type Decision } from '@n17q/event-log';
import type { ReconcilerPorts } from './ports.js';

/** How long an outcome that only this process knows is offered to a store that does not answer. */
export const OUTCOME_KEPT_MS = 30 * 60_000;
/** The store takes 64 events in one append; an outcome makes up to seven. */
export const JOINED_MAX = 8;
/** Bytes of contents in one append of several; they travel as base64. */
export const JOINED_BYTES_MAX = 320 * 1024;

export interface ReadyOutcome {
  readonly attempt: AttemptId;
  /** What is to be said of it on this state; nothing: it is known already. */
  readonly facts: (s: RunState) => readonly Fact[];
  readonly contents: readonly ContentUpload[];
}
interface Waiting { readonly outcome: ReadyOutcome; readonly taken: () => void; readonly failed: (e: unknown) => void }
type Ports = Pick<ReconcilerPorts, 'log' | 'onTrouble'>;

const bytesOf = (w: Waiting): number => w.outcome.contents.reduce((n, c) => n + c.body.length, 0);
/** How many of the first fit into one append; at least one. */
function fitting(queue: readonly Waiting[]): number {
  let [count, bytes] = [0, 0];
  for (const w of queue.slice(0, JOINED_MAX)) {
    bytes += bytesOf(w);
    if (count > 0 && bytes > JOINED_BYTES_MAX) break;
    count++;
  }
  return count;
}

/** keeps O1 */
function decided(p: Ports, s: RunState, joined: readonly Waiting[]): Decision {
  const d = draftOn(s, p.log.service, p.log.now());
  const contents: ContentUpload[] = [];
  for (const { outcome } of joined) {
    const facts = outcome.facts(d.state);
    for (const f of facts) d.add(f.type, f.data);
    if (facts.length > 0) contents.push(...outcome.contents);
  }
  return { facts: d.facts, contents };
}

const tellAll = (joined: readonly Waiting[], tell: (w: Waiting) => void): void => { for (const w of joined) tell(w); };
const passes = (e: unknown): boolean => ['transient', 'conflict'].includes((e as { readonly kind?: string }).kind ?? '');

export class OutcomeLog {
  /** By run, while an append of it is under way: what is ready for the next. */
  readonly #ready = new Map<string, Waiting[]>();
  constructor(private readonly p: Ports) {}

  /** Resolves when the log has it, or knew it already; throws when the store refused it, or did not answer for so long (O3). */
  record(tenant: TenantId, run: RunId, outcome: ReadyOutcome): Promise<void> {
    return new Promise((taken, failed) => {
      const key = `${tenant} ${run}`;
      const waiting = { outcome, taken, failed };
      const ready = this.#ready.get(key);
      if (ready !== undefined) { ready.push(waiting); return; }
      const queue = [waiting];
      this.#ready.set(key, queue);
      void this.#drain(tenant, run, queue).finally(() => this.#ready.delete(key));
    });
  }

  async #drain(tenant: TenantId, run: RunId, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) await this.#append(tenant, run, queue.splice(0, fitting(queue)));
  }

  async #append(tenant: TenantId, run: RunId, joined: readonly Waiting[]): Promise<void> {
    const { log } = this.p;
    const whose = joined.map((w) => w.outcome.attempt).join(', ');
    try {
      const done = await persistently(() => decideAgain(log, () => log.state(tenant, run), (s) => s, (s) => decided(this.p, s, joined)), OUTCOME_KEPT_MS, (e) => this.p.onTrouble(`outcome of ${whose}`, e), log.pause);
      if (done.kind !== 'refused') return tellAll(joined, (w) => w.taken());
      if (joined.length === 1) throw new Error(`the store refused the outcome of ${whose}: ${done.outcome.code}: ${done.outcome.message}`);
    } catch (e) {
      if (joined.length === 1 || passes(e)) return tellAll(joined, (w) => w.failed(e));
    }
    for (const w of joined) await this.#append(tenant, run, [w]); // keeps O2
  }
}
