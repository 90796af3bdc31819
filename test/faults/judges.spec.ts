/** The judges of the fault suites see what they are there for: each is given a real run's log with one thing wrong. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventEnvelope } from '@n17q/domain';
import { boundaryFaults, carrierFaults, carriersIn, chainFaults, deadLetters, effectFaults, generationFaults, sealFaults, segmentFaults, sendsBetween, type CheckpointRow } from './kit/judges.js';
import { cellOf, CellTable, KINDS } from './kit/cells.js';
import { isOver, ofType, openScene, type Scene } from './kit/scene.js';
import { checkpointRows } from './kit/verdict.js';

type Loose = { -readonly [K in keyof EventEnvelope]: unknown } & { data: Record<string, unknown> };

describe('the judges of a run', () => {
  let scene: Scene;
  let log: readonly EventEnvelope[];
  let rows: readonly CheckpointRow[];
  let bodies: readonly string[];
  beforeAll(async () => {
    scene = await openScene({ stack: { separate: false }, scripts: { one: [{ calls: [{ tool: 'list_files', args: {} }] }, { calls: [{ tool: 'ticket_neither', args: { project: '$TAG', title: '$TAG', body: 'b' } }] }, { text: 'done' }] } });
    const s = await scene.start('one');
    log = await scene.ended(s.run);
    rows = await checkpointRows(scene, s.run);
    bodies = scene.wire(s.tag).map((w) => w.body);
  }, 180_000);
  afterAll(() => scene?.close(), 60_000);

  const copy = (): Loose[] => JSON.parse(JSON.stringify(log)) as Loose[];
  const asLog = (l: readonly Loose[]): readonly EventEnvelope[] => l as unknown as readonly EventEnvelope[];
  const at = (l: Loose[], type: string): number => l.findIndex((e) => e.type === type);
  /** A second event right after the one of that type. */
  const withMore = (type: string, more: Partial<Loose>, after = type): readonly EventEnvelope[] => { const l = copy(); l.splice(at(l, after) + 1, 0, { ...(l[at(l, type)] as Loose), ...more }); return asLog(l); };
  const without = (type: string): readonly EventEnvelope[] => { const l = copy(); l.splice(at(l, type), 1); return asLog(l); };

  it('find nothing in it as it was', () => {
    expect([...chainFaults(log), ...sealFaults(log, rows), ...boundaryFaults(log), ...effectFaults(log), ...generationFaults(log, 3), ...segmentFaults(log), ...deadLetters(log)]).toEqual([]);
    expect(isOver(log)).toBe(true);
    expect(carriersIn(bodies).length).toBeGreaterThan(0);
  });
  it('[saboteur RUN-1] see a word changed, an event left out, two exchanged, and one repeated', () => {
    const changed = copy();
    (changed[2] as Loose).data = { ...(changed[2] as Loose).data, because: 'another reason' };
    const swapped = copy();
    [swapped[4], swapped[5]] = [swapped[5] as Loose, swapped[4] as Loose];
    for (const l of [asLog(changed), without('context.compiled'), asLog(swapped), asLog([...copy(), copy().at(-1) as Loose])]) expect(chainFaults(l)).not.toEqual([]);
  });
  it('[saboteur SEAL-2, SEAL-4] see a checkpoint without its event, an event without its checkpoint, and one of another boundary', () => {
    expect(sealFaults(log, rows.slice(1))).not.toEqual([]);
    expect(sealFaults(without('checkpoint.sealed'), rows)).not.toEqual([]);
    expect(sealFaults(log, rows.map((r, i) => (i === 1 ? { ...r, cut: r.cut - 1 } : r)))).not.toEqual([]);
    expect(sealFaults(log, rows.map((r, i) => (i === 1 ? { ...r, manifest: r.manifest.replace(/.$/u, ' }') } : r)))).not.toEqual([]);
  });
  it('[saboteur SEAL-6] see a start behind an unsealed boundary, and an end that is not sealed', () => {
    expect(boundaryFaults(without('checkpoint.sealed'))).not.toEqual([]);
    expect(boundaryFaults(asLog(copy().slice(0, -1)))).not.toEqual([]);
  });
  it('[saboteur EFF-4, EFF-2, EFF-10] see a second send of what may have happened, an attempt without number, a permit spent twice, an outcome of no attempt', () => {
    const intent = ofType(log, 'effect.intended').find((e) => e.data.contract.kind === 'neither')?.data.effect;
    const start = log.findIndex((e) => e.type === 'effect.attempt-started' && e.data.effect === intent);
    const l = copy();
    l.splice(start + 1, 0, { ...(l[start] as Loose), type: 'effect.outcome-unknown', data: { ...(l[start] as Loose).data, cause: 'TIMEOUT' } }, { ...(l[start] as Loose), data: { ...(l[start] as Loose).data, attemptNumber: 2, attempt: 'another', permit: 'another' } });
    expect(effectFaults(asLog(l))).toContainEqual(expect.stringContaining('may have been sent before attempt 2'));
    expect(effectFaults(withMore('effect.attempt-started', {}))).not.toEqual([]);
    expect(effectFaults(without('effect.attempt-started'))).not.toEqual([]);
  });
  it('[saboteur EFF-2, RES-9] see a request that the log does not know, one that it made up, two calls at once, and a call that does not say what it was', () => {
    expect(generationFaults(log, 4)).not.toEqual([]);
    expect(generationFaults(log, 2)).not.toEqual([]);
    expect(sendsBetween(log, 'effect')).toEqual({ least: 2, most: 2 });
    expect(generationFaults(withMore('generation.started', {}), 3)).not.toEqual([]);
    const l = copy();
    (l[at(l, 'generation.started')] as Loose).data['form'] = 'somehow';
    expect(generationFaults(asLog(l), 3)).not.toEqual([]);
  });
  it('[saboteur EFF-4, EFF-2, EFF-3] see in a cell what happened twice, what nobody sent, what is said and did not happen, and what did though it is said that it did not', () => {
    const arrivals = scene.tickets('neither', ofType(log, 'run.created')[0]?.data.title as string);
    const effect = ofType(log, 'effect.intended').find((e) => e.data.contract.kind === 'neither')?.data.effect;
    const isStart = (e: EventEnvelope): boolean => e.type === 'effect.attempt-started' && e.data.effect === effect;
    expect(cellOf(log, 'neither', arrivals)).toEqual({ accepted: 1, arrived: 1, wrong: [] });
    const twice = [...arrivals, ...arrivals];
    const toldOfBoth = log.flatMap((e) => (isStart(e) ? [e, e] : [e]));
    for (const [l, seen] of [[log, twice], [toldOfBoth, twice], [log, []], [log.filter((e) => !isStart(e)), arrivals]] as const) expect(cellOf(l, 'neither', seen).wrong).not.toEqual([]);
    const denied = withMore('effect.observed', { type: 'effect.reconciled', data: { effect, as: 'did-not-happen', by: 'query' } });
    expect(cellOf(denied, 'neither', arrivals).wrong).not.toEqual([]);
    const table = new CellTable('t');
    table.add('a place', 'neither', { accepted: 2, arrived: 3, wrong: [] });
    table.add('a place', 'neither', { accepted: 1, arrived: 1, wrong: [] });
    expect(table.text()).toContain('2 (3)'); // the worst of several rounds
    expect(table.missing(['a place'])).toHaveLength(KINDS.length - 1);
  });
  it('[saboteur CON-1, CON-3] see the opaque bytes in the open, as they are and encoded', () => {
    const [piece] = carriersIn(bodies) as [string];
    for (const text of [`log line with ${piece} inside`, Buffer.from(`{"p":"${piece}"}`).toString('utf8'), Buffer.from(piece, 'base64').toString('latin1')]) expect(carrierFaults([piece], new Map([['a log', text]]))).toEqual(['opaque bytes of the provider stand in a log']);
    expect(carrierFaults([piece], new Map([['a log', 'nothing of it']]))).toEqual([]);
  });
  it('[saboteur RES-8] see an event of another segment', () => {
    const l = copy();
    (l[at(l, 'effect.observed')] as Loose).segment = 7;
    expect(segmentFaults(asLog(l))).not.toEqual([]);
    expect(deadLetters(withMore('run.created', { type: 'dead-letter.recorded' as never }))).toHaveLength(1);
  });
});
