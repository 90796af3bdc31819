import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HistoryRecorder, judgeHistory, type AppendCall, type FinalRow, type HistoryOperation, type ReadCall, type SeenRow } from './index.js';

// A small correct store under a random schedule: between invocation, effect and answer of one client any number of
// steps of the others happen, answers get lost, requests get lost, and lost ones are tried again under the same id.

interface Pending { readonly effect: () => () => void; readonly retry?: () => void; stage: 'asked' | 'done'; answer?: () => void }

class Model {
  readonly rows: FinalRow[] = [];
  private clock = 0;
  private ids = 0;
  readonly recorders: HistoryRecorder[] = [];
  private readonly pending: (Pending | undefined)[] = [];
  private readonly answered = new Map<string, number[]>();
  private readonly stray: (() => void)[] = [];

  constructor(private readonly pick: (below: number) => number, clients: number) {
    for (let client = 0; client < clients; client += 1) this.recorders.push(new HistoryRecorder(`p${String(client)}`, () => (this.clock += 1)));
  }

  step(): void {
    const strayed = this.stray.length > 0 && this.pick(4) === 0 ? this.stray.splice(this.pick(this.stray.length), 1)[0] : undefined;
    if (strayed !== undefined) return strayed(); // a request that its caller gave up arrives late
    const client = this.pick(this.recorders.length);
    const pending = this.pending[client];
    if (pending === undefined) this.pending[client] = this.pick(3) === 0 ? this.read(client) : this.append(client);
    else if (this.pick(12) === 0) this.lose(client, pending);
    else if (pending.stage === 'asked') {
      pending.answer = pending.effect();
      pending.stage = 'done';
    } else {
      this.pending[client] = undefined;
      pending.answer?.();
    }
  }

  private lose(client: number, pending: Pending): void {
    this.pending[client] = undefined;
    if (pending.stage === 'asked' && this.pick(2) === 0) this.stray.push(() => { pending.effect(); });
    if (this.pick(2) === 0) pending.retry?.();
  }

  private list(run: string): FinalRow[] { return this.rows.filter((row) => row.run === run); }

  private append(client: number): Pending {
    const run = `run${String(this.pick(2))}`;
    const list = this.list(run);
    const expectedRevision = Math.max(0, list.length - (this.pick(4) === 0 ? 1 : 0));
    const events = Array.from({ length: 1 + this.pick(3) }, () => ({ eventId: `e${String(this.ids += 1)}`, digest: `d${String(this.ids)}` }));
    const appendId = `a${String(this.ids += 1)}`;
    const headEventId = list[expectedRevision - 1]?.eventId;
    const ask = (): Pending => {
      const call: AppendCall = this.recorders[client]!.append({ run, appendId, expectedRevision, events, ...(headEventId === undefined ? {} : { headEventId }) });
      const effect = (): (() => void) => {
        const before = this.answered.get(appendId);
        if (before !== undefined) return () => call.ok(before);
        const head = this.list(run).length;
        if (head !== expectedRevision) return () => call.conflict(head);
        const revisions = events.map((event, index) => {
          this.rows.push({ run, revision: head + 1 + index, position: BigInt(this.rows.length + 1), appendId, ...event });
          return head + 1 + index;
        });
        this.answered.set(appendId, revisions);
        return () => call.ok(revisions);
      };
      return { effect, stage: 'asked', retry: () => { this.pending[client] = ask(); } };
    };
    return ask();
  }

  private read(client: number): Pending {
    const run = `run${String(this.pick(2))}`;
    const afterRevision = this.pick(3) === 0 ? this.pick(4) : 0;
    const page = this.pick(3) === 0 ? 2 : undefined;
    const call: ReadCall = this.recorders[client]!.read(run, { afterRevision, toHead: page === undefined });
    return {
      stage: 'asked',
      effect: () => {
        const rows: SeenRow[] = this.list(run).slice(afterRevision, page === undefined ? undefined : afterRevision + page).map(({ revision, eventId, digest }) => ({ revision, eventId, digest }));
        return () => call.ok(rows);
      },
    };
  }
}

function play(choices: readonly number[], clients: number): { operations: HistoryOperation[]; rows: FinalRow[] } {
  let at = 0;
  const pick = (below: number): number => (choices[at++ % choices.length] ?? 0) % below;
  const model = new Model(pick, clients);
  for (let step = 0; step < 400; step += 1) model.step();
  return { operations: model.recorders.flatMap((recorder) => recorder.operations), rows: model.rows };
}

const schedules = fc.tuple(fc.array(fc.nat({ max: 1_000_000 }), { minLength: 997, maxLength: 997 }), fc.integer({ min: 1, max: 6 }));

describe('the history judge on histories of a correct store', () => {
  it('[RUN-1] finds nothing, whatever the schedule, the lost answers and the second tries', () => {
    let unknown = 0;
    let conflict = 0;
    fc.assert(fc.property(schedules, ([choices, clients]) => {
      const { operations, rows } = play(choices, clients);
      const { violations, judged } = judgeHistory(operations, rows);
      unknown += judged.unknown;
      conflict += judged.conflict;
      expect(violations).toEqual([]);
      expect(judged.rows).toBe(rows.length);
    }), { numRuns: 150 });
    expect(unknown).toBeGreaterThan(100); // else the property said little
    expect(conflict).toBeGreaterThan(100);
  });

  it('[saboteur RUN-1] reports any one acknowledged event that is taken away, and any that is swapped with its neighbour', () => {
    fc.assert(fc.property(schedules, fc.nat(), ([choices, clients], which) => {
      const { operations, rows } = play(choices, clients);
      fc.pre(rows.length > 2);
      const index = which % (rows.length - 1);
      expect(judgeHistory(operations, rows.filter((_, i) => i !== index)).violations).not.toEqual([]);
      const [one, two] = [rows[index]!, rows[index + 1]!];
      const swapped = rows.with(index, { ...one, eventId: two.eventId, digest: two.digest, appendId: two.appendId }).with(index + 1, { ...two, eventId: one.eventId, digest: one.digest, appendId: one.appendId });
      if (one.run === two.run) expect(judgeHistory(operations, swapped).violations).not.toEqual([]);
    }), { numRuns: 100 });
  });
});
