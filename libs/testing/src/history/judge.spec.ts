import { describe, expect, it } from '@jest/globals';
import { HistoryRecorder, judgeHistory, type FinalRow, type HistoryOperation } from './index.js';

/** A history that a correct store gave: two clients, two runs, batches, one conflict, two unknown appends (one stored, one not), reads. */
function good(): { operations: HistoryOperation[]; rows: FinalRow[] } {
  let clock = 0;
  const now = (): number => (clock += 10);
  const [ann, bob] = [new HistoryRecorder('ann', now), new HistoryRecorder('bob', now)];
  const event = (name: string): { eventId: string; digest: string } => ({ eventId: name, digest: `bytes of ${name}` });
  const rows: FinalRow[] = [];
  const store = (run: string, appendId: string, ...names: string[]): void => {
    for (const name of names) rows.push({ run, revision: rows.filter((row) => row.run === run).length + 1, position: BigInt(rows.length + 1), appendId, ...event(name) });
  };
  const seen = (run: string, upTo: number): { revision: number; eventId: string; digest: string }[] =>
    rows.filter((row) => row.run === run).slice(0, upTo).map(({ revision, eventId, digest }) => ({ revision, eventId, digest }));

  const a1 = ann.append({ run: 'r', appendId: 'a1', expectedRevision: 0, events: [event('e1'), event('e2')] });
  store('r', 'a1', 'e1', 'e2');
  a1.ok([1, 2]);
  const b1 = bob.append({ run: 'r', appendId: 'b1', expectedRevision: 0, events: [event('x1')] });
  b1.conflict(2);
  ann.read('r').ok(seen('r', 2));
  const b2 = bob.append({ run: 'r', appendId: 'b2', expectedRevision: 2, headEventId: 'e2', events: [event('e3')] });
  store('r', 'b2', 'e3');
  b2.ok([3]);
  ann.append({ run: 's', appendId: 'a2', expectedRevision: 0, events: [event('f1'), event('f2'), event('f3')] }).unknown();
  store('s', 'a2', 'f1', 'f2', 'f3');
  bob.append({ run: 's', appendId: 'b3', expectedRevision: 0, events: [event('x2')] }); // never answered, never stored
  ann.read('r').ok(seen('r', 3));
  const a3 = ann.append({ run: 'r', appendId: 'a3', expectedRevision: 3, headEventId: 'e3', events: [event('e4')] });
  store('r', 'a3', 'e4');
  a3.ok([4]);
  ann.read('r').ok(seen('r', 4));
  bob.read('r', { afterRevision: 2, toHead: false }).ok(seen('r', 3).slice(2));
  return { operations: [...ann.operations, ...bob.operations], rows };
}

type History = ReturnType<typeof good>;
const appendOf = (history: History, appendId: string) => {
  const found = history.operations.find((operation) => operation.kind === 'append' && operation.appendId === appendId);
  if (found?.kind !== 'append') throw new Error(`no append ${appendId}`);
  return found;
};
const readsOf = (history: History, process: string) => history.operations.filter((operation) => operation.kind === 'read').filter((read) => read.process === process);
const without = (history: History, ...events: string[]): void => { history.rows = history.rows.filter((row) => !events.includes(row.eventId)); };
/** Numbers positions and revisions afresh, so that only the planted fault remains. */
const renumber = (history: History): void => {
  const next = new Map<string, number>();
  history.rows = history.rows.map((row, index) => {
    const revision = (next.get(row.run) ?? 0) + 1;
    next.set(row.run, revision);
    return { ...row, revision, position: index + 1 };
  });
};
const change = (history: History, eventId: string, fields: Partial<FinalRow>): void => {
  history.rows = history.rows.map((row) => (row.eventId === eventId ? { ...row, ...fields } : row));
};

const SABOTEURS: readonly [name: string, check: string, words: RegExp, plant: (history: History) => void][] = [
  ['a lost append', 'OK_APPEND', /append a3 on run r was answered ok and is lost/, (h) => without(h, 'e4')],
  ['an append stored twice', 'OK_APPEND', /append a3 on run r is stored more than once \(e4\)/, (h) => {
    h.rows.push({ run: 'r', revision: 5, position: 8, appendId: 'a3', eventId: 'e4', digest: 'bytes of e4' });
  }],
  ['one event id at two places', 'REVISIONS', /event e4 is stored 2 times: r@4, s@4/, (h) => {
    h.rows.push({ run: 's', revision: 4, position: 8, appendId: 'a3', eventId: 'e4', digest: 'bytes of e4' });
  }],
  ['half of an acknowledged batch', 'OK_APPEND', /append a1 on run r is stored in part: 1 of 2 events are missing \(e2\)/, (h) => { without(h, 'e2'); renumber(h); }],
  ['half of an unanswered batch', 'UNKNOWN_APPEND', /append a2 on run s is stored in part: 1 of 3 events are missing \(f3\)/, (h) => { without(h, 'f3'); renumber(h); }],
  ['an unanswered batch stored out of order', 'UNKNOWN_APPEND', /append a2 on run s is not stored in one piece and in order/, (h) => {
    h.rows = h.rows.map((row) => (row.eventId === 'f1' ? { ...row, eventId: 'f2', digest: 'bytes of f2' } : row.eventId === 'f2' ? { ...row, eventId: 'f1', digest: 'bytes of f1' } : row));
  }],
  ['a gap in the revisions', 'REVISIONS', /run r jumps from revision 3 to 5/, (h) => change(h, 'e4', { revision: 5 })],
  ['a repeated revision', 'REVISIONS', /run r has revision 3 more than once/, (h) => change(h, 'e4', { revision: 3 })],
  ['a gap in the positions', 'POSITIONS', /lane 0 jumps from position 6 to 8/, (h) => change(h, 'e4', { position: '8' })],
  ['a lost first position', 'POSITIONS', /lane 0 jumps from position 0 to 2/, (h) => { h.rows = h.rows.map((row) => ({ ...row, position: BigInt(row.position) + 1n })); }],
  ['a repeated position', 'POSITIONS', /lane 0 has position 6 more than once/, (h) => change(h, 'e4', { position: 6 })],
  ['positions against the revisions', 'POSITIONS', /run r: position falls from 7 to 3 between revisions 3 and 4/, (h) => { change(h, 'e3', { position: 7 }); change(h, 'e4', { position: 3 }); }],
  ['a run that changes lanes', 'POSITIONS', /run r changes from lane 0 to 1 at revision 4/, (h) => change(h, 'e4', { lane: 1, position: 1 })],
  ['altered bytes', 'OK_APPEND', /append b2 on run r is stored with other bytes \(e3\)/, (h) => change(h, 'e3', { digest: 'other' })],
  ['other revisions than the caller was told', 'OK_APPEND', /append a3 was told revisions \[9\] and is stored at \[4\]/, (h) => { appendOf(h, 'a3').revisions = [9]; }],
  ['an append stored on another run', 'OK_APPEND', /append a3 on run r is stored on run s/, (h) => change(h, 'e4', { run: 's' })],
  ['a refused append that was stored', 'CONFLICT_APPEND', /append b1 was answered conflict and is stored at \[5\]/, (h) => {
    h.rows.push({ run: 'r', revision: 5, position: 8, appendId: 'b1', eventId: 'x1', digest: 'bytes of x1' });
  }],
  ['an append answered both ok and conflict', 'CONFLICT_APPEND', /append a3 was answered ok and conflict/, (h) => {
    h.operations.push({ ...appendOf(h, 'a3'), outcome: 'conflict', actualRevision: 7, invokedUs: 900, endedUs: 910 });
  }],
  ['two contents under one append id', 'OK_APPEND', /append a3 was answered ok for different contents/, (h) => {
    h.operations.push({ ...appendOf(h, 'a3'), events: [{ eventId: 'e4', digest: 'another' }], invokedUs: 900, endedUs: 910 });
  }],
  ['an inversion of real time within a run', 'REAL_TIME', /run r: append a1 was answered before b2 was asked, but stands at 2, behind it at 1/, (h) => {
    const [e1, e2, e3, ...rest] = h.rows;
    h.rows = [e3!, e1!, e2!, ...rest];
    renumber(h);
  }],
  ['an inversion of real time between runs', 'REAL_TIME', /lane 0: append a1 was answered before b9 was asked, but stands at 2, behind it at 1/, (h) => {
    h.operations.push({ ...appendOf(h, 'a3'), run: 't', appendId: 'b9', expectedRevision: 0, headEventId: undefined, events: [{ eventId: 'g1', digest: 'g' }], revisions: [1], invokedUs: 900, endedUs: 910 });
    h.rows = h.rows.map((row) => ({ ...row, position: BigInt(row.position) + 1n }));
    h.rows.unshift({ run: 't', revision: 1, position: 1, appendId: 'b9', eventId: 'g1', digest: 'g' });
  }],
  ['a read that goes back', 'READS', /process ann saw run r up to revision 3 and later only up to 2/, (h) => { const last = readsOf(h, 'ann').at(-1)!; last.rows = last.rows.slice(0, 2); }],
  ['a read of something that is not there in the end', 'READS', /process bob read event ghost at revision 3 of run r, where revision 3 holds event e3 in the end/, (h) => {
    readsOf(h, 'bob')[0]!.rows = [{ revision: 3, eventId: 'ghost', digest: 'boo' }];
  }],
  ['a read of other bytes', 'READS', /process bob read event e3 at revision 3 of run r, where revision 3 holds event e3 with other bytes in the end/, (h) => {
    readsOf(h, 'bob')[0]!.rows = [{ revision: 3, eventId: 'e3', digest: 'torn' }];
  }],
  ['a read with a hole', 'READS', /process ann read event e3 at revision 3 of run r, where revision 2 holds event e2/, (h) => { const last = readsOf(h, 'ann').at(-1)!; last.rows = last.rows.filter((row) => row.revision !== 2); }],
  ['a read that misses an acknowledged append', 'READS', /process carl read run r up to revision 0 after append a3 had been answered ok at revision 4/, (h) => {
    h.operations.push({ ...readsOf(h, 'ann').at(-1)!, process: 'carl', rows: [] });
  }],
  ['a lost update', 'PREDECESSOR', /append a3 expected revision 2 and was stored at 4/, (h) => { Object.assign(appendOf(h, 'a3'), { expectedRevision: 2 }); }],
  ['a stored unanswered append that ignored what its caller expected', 'PREDECESSOR', /append a2 expected revision 7 and was stored at 1/, (h) => { Object.assign(appendOf(h, 'a2'), { expectedRevision: 7 }); }],
  ['another head than the caller saw', 'PREDECESSOR', /append a3 was decided on head someone-else and follows e3/, (h) => { Object.assign(appendOf(h, 'a3'), { headEventId: 'someone-else' }); }],
  ['a row that nobody appended', 'PHANTOM', /run r revision 5 holds event z of append zz, which nobody made/, (h) => {
    h.rows.push({ run: 'r', revision: 5, position: 8, appendId: 'zz', eventId: 'z', digest: 'z' });
  }],
];

describe('the history judge', () => {
  it('[RUN-1] finds nothing in a history that a correct store gave, and says how much it judged', () => {
    const { operations, rows } = good();
    expect(judgeHistory(operations, rows)).toEqual({ violations: [], judged: { ok: 3, conflict: 1, unknown: 2, reads: 4, rows: 7 } });
  });

  it.each(SABOTEURS)('[saboteur RUN-1] reports %s', (_name, check, words, plant) => {
    const history = good();
    plant(history);
    const { violations } = judgeHistory(history.operations, history.rows);
    expect(violations.filter((violation) => violation.check === check).map((violation) => violation.words)).toEqual(expect.arrayContaining([expect.stringMatching(words)]));
  });

  it('[RUN-1] takes a second try under the same id for the same append', () => {
    const history = good();
    history.operations.push({ ...appendOf(history, 'a2'), outcome: 'ok', revisions: [1, 2, 3], invokedUs: 900, endedUs: 910 });
    expect(judgeHistory(history.operations, history.rows).violations).toEqual([]);
  });

  it('[RUN-1] does not hold a conflict against a caller that was ahead of the head and tried again', () => {
    const history = good();
    history.operations.push({ ...appendOf(history, 'a3'), outcome: 'conflict', actualRevision: 2, invokedUs: 1, endedUs: 2 });
    expect(judgeHistory(history.operations, history.rows).violations).toEqual([]);
  });

  it('[RUN-1] leaves rows of others alone when it is told that others write', () => {
    const history = good();
    history.rows.push({ run: 'other', revision: 1, position: 8, appendId: 'zz', eventId: 'z', digest: 'z' });
    expect(judgeHistory(history.operations, history.rows, { othersWrite: true }).violations).toEqual([]);
  });

  it('[RUN-1] survives the way through JSON, so that processes can hand their histories in', () => {
    const { operations, rows } = good();
    const handed = JSON.parse(JSON.stringify(operations)) as HistoryOperation[];
    expect(judgeHistory(handed, rows)).toEqual(judgeHistory(operations, rows));
  });

  it('refuses a second answer to one operation', () => {
    const call = new HistoryRecorder('p').read('r');
    call.failed();
    expect(() => call.ok([])).toThrow('already answered');
  });
});
