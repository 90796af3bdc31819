/**
 * Kill by enumeration: at every named place a service dies once (SIGKILL) while effects of all six contracts are under way, is started again, and the
 * run ends as if it had not. The judges read the store's tables and the outside's ledgers only. N17Q_FAULT_ROUNDS: how often all of it, default once.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ContractKind, EventEnvelope, ServiceName } from '@n17q/domain';
import { FAILPOINTS, type Failpoint } from '@n17q/platform';
import { arm, diedAt } from './kit/arm.js';
import { CellTable, judgedCell, KINDS } from './kit/cells.js';
import { ofType, openScene, settledAfter, type Scene, type Started } from './kit/scene.js';
import type { Scripts } from './kit/scripts.js';
import { CALLS, ticket } from './kit/tools.js';
import { carrierVerdict, doctorVerdict, verdict } from './kit/verdict.js';

const SCRIPTS: Scripts = {
  six: [{ thought: 'first look', calls: [{ tool: 'read_file', args: { path: 'README.md' } }] }, { calls: Object.values(CALLS) }, { text: 'done' }],
  ...Object.fromEntries(KINDS.map((k) => [`one-${k}`, [{ calls: [CALLS[k]] }, { text: 'done' }]])),
  'one-keyed-asked': [{ calls: [ticket('keyed-asked')] }, { text: 'done' }],
};
const ENDS_MS = 40_000;
const ROUNDS = Array.from({ length: Number(process.env['N17Q_FAULT_ROUNDS'] ?? 1) }, (_, i) => i + 1);
/** Provisioning is no service: see provision.spec.ts. */
const PLACES = FAILPOINTS.filter((f) => f !== 'provision.after-stream-before-consumer');

describe('a service that dies at a named place', () => {
  let scene: Scene;
  const table = new CellTable('Accepted by the world, by place of the death and contract (requests that arrived, where more):');
  /** Which append of a run that nobody disturbs starts the six attempts. */
  let claims = 0;
  beforeAll(async () => { scene = await openScene({ scripts: SCRIPTS }); }, 180_000);
  afterAll(async () => {
    process.stdout.write(`${table.text()}\n`);
    await scene?.close();
  }, 60_000);

  async function killed(services: readonly (readonly [ServiceName, number])[], name: Failpoint, script: string): Promise<{ started: Started; log: readonly EventEnvelope[] }> {
    await Promise.all(services.map(([service, nth]) => arm(scene.stack, service, `${name}:kill@${nth}`)));
    const started = await scene.start(script);
    await Promise.all(services.map(async ([service]) => { // started again as soon as it is dead: behind a dead one the others have nothing to do
      try { await diedAt(scene.stack, service, name, 60_000); } finally { await scene.stack.service(service).restart(); } // also when it did not die: the next place finds nobody armed
    }));
    const log = await scene.ended(started.run, ENDS_MS);
    expect(await verdict(scene, started, log)).toEqual([]);
    return { started, log };
  }
  /** Each kind's count by the ledger, judged and entered in the table. */
  function cells(place: string, s: Started, log: readonly EventEnvelope[], kinds: readonly ContractKind[] = KINDS): { readonly [K in ContractKind]?: number } {
    const found = kinds.map((k) => [k, judgedCell(scene, s, log, k)] as const);
    for (const [k, c] of found) table.add(place, k, c);
    expect(found.flatMap(([, c]) => c.wrong)).toEqual([]);
    return Object.fromEntries(found.map(([k, c]) => [k, c.accepted]));
  }
  const ONCE = { idempotent: 1, keyed: 1, queryable: 1, neither: 1 };

  it('[RUN-4] [SEAL-6] goes from goal to end when nobody is killed, and the judges find nothing', async () => {
    const s = await scene.start('six');
    const log = await scene.ended(s.run);
    expect(await verdict(scene, s, log)).toEqual([]);
    expect(cells('nobody', s, log)).toEqual({ ...ONCE, 'read-only': 1, contained: 1 });
    expect(ofType(log, 'effect.outcome-unknown').length + ofType(log, 'generation.outcome-unknown').length).toBe(0);
    expect(scene.wire(s.tag)).toHaveLength(3);
    const [first, ...more] = ofType(log, 'effect.attempt-started').slice(1);
    expect(new Set(more.map((e) => e.appendId))).toEqual(new Set([first?.appendId])); // six claims in one append: a death behind it is a death behind each of them
    claims = [...new Set(log.map((e) => e.appendId))].indexOf(first?.appendId as string) + 1;
  }, 60_000);

  describe.each(ROUNDS)('(round %i)', () => {
    it.each<[Failpoint, 'claims' | number]>([
      ['store.before-begin', 'claims'], ['store.after-commit-before-reply', 'claims'], ['store.after-reply', 'claims'], ['relay.after-read', 9], ['relay.after-publish-before-cursor', 9], ['relay.after-cursor', 2], // the cursor is written at intervals: a fast run passes there a few times only
    ])('[RUN-1] [RUN-4] [SEAL-2] [EFF-2] loses and invents nothing when the event store dies at %s', async (name, nth) => {
      const { started, log } = await killed([['event-store', nth === 'claims' ? claims : nth]], name, 'six');
      const found = cells(name, started, log);
      expect([found.keyed, found.idempotent]).toEqual([1, 1]); // where a claim was lost with its answer, these are attempted again, and the others are not
      if (name === 'store.before-begin') expect(found).toMatchObject(ONCE); // nothing was stored, so the same append was offered again and was fresh
    }, 150_000);

    it.each<Failpoint>(['sealer.before-append', 'sealer.after-append'])('[SEAL-2] [SEAL-4] [SEAL-6] leaves no half of a checkpoint when the sealer dies at %s', async (name) => {
      const { started, log } = await killed([['checkpoint-sealer', 8]], name, 'six');
      expect(cells(name, started, log)).toMatchObject(ONCE);
    }, 150_000);

    it.each<[Failpoint, readonly (readonly [ServiceName, number])[]]>([
      ['reactor.after-receive', [['checkpoint-sealer', 2], ['policy-gate', 2]]], ['reactor.after-load', [['context-compiler', 2], ['provider-gateway', 2]]],
      ['reactor.after-decide', [['effect-reconciler', 4], ['policy-gate', 2]]], ['reactor.after-append-before-ack', [['provider-gateway', 2], ['effect-reconciler', 4]]],
    ])('[RUN-4] [EFF-2] [EFF-10] goes on when reacting services die at %s in one run', async (name, services) => {
      const { started, log } = await killed(services, name, 'six');
      cells(name, started, log);
    }, 120_000);

    it('[EFF-2] [EFF-3] never sends an attempt that it finds after its death between claim and dispatch', async () => {
      const name = 'effect.after-claim-before-dispatch';
      const { started, log } = await killed([['effect-reconciler', 2]], name, 'six');
      expect(cells(name, started, log)).toEqual({ 'read-only': 1, contained: 1, idempotent: 1, keyed: 1, queryable: 0, neither: 0 }); // nobody may know that nothing was sent: tried again where the contract makes that harmless, else asked about
      expect(ofType(log, 'effect.outcome-unknown').map((e) => e.data.cause)).toEqual(Array.from({ length: 6 }, () => 'CLAIM_EXPIRED'));
      expect(ofType(log, 'effect.needs-person').map((e) => e.data.reason)).toEqual([expect.stringContaining('neither')]);
    }, 150_000);

    it.each([...KINDS, 'keyed-asked' as const])('[EFF-3] [EFF-4] [SEAL-4] does it once at a %s target when the reconciler dies between dispatch and observation', async (kind) => {
      const name = 'effect.after-dispatch-before-observation';
      const { started, log } = await killed([['effect-reconciler', 1]], name, `one-${kind}`);
      const unknown = ofType(log, 'effect.outcome-unknown');
      expect(unknown).toHaveLength(1);
      const arrivals = kind === 'contained' ? [] : scene.tickets(kind, started.tag).map((e) => e.what);
      const reconciled = ofType(log, 'effect.reconciled').map((e) => [e.data.as, e.data.by]);
      const attempts = ofType(log, 'effect.attempt-started').length;
      if (kind !== 'keyed-asked') cells(name, started, log, [kind]);
      switch (kind) {
        case 'read-only': expect([arrivals, attempts]).toEqual([['read', 'read'], 2]); break;
        case 'contained': expect([attempts, ofType(log, 'workspace.changed').length]).toEqual([2, 1]); break;
        case 'keyed': expect([arrivals, new Set(scene.tickets(kind, started.tag).map((e) => e.key)).size]).toEqual([['accepted', 'repeated'], 1]); break;
        case 'queryable': case 'keyed-asked': expect([arrivals, attempts, reconciled]).toEqual([['accepted'], 1, [['happened', 'query']]]); break;
        case 'idempotent': // the repetition met what the first attempt had left, and that settles nothing about it
          expect([arrivals, attempts, reconciled]).toEqual([['accepted', 'refused'], 2, []]);
          expect(ofType(log, 'effect.refused').map((e) => e.data.cause)).toEqual(['STATUS_412']);
          expect(ofType(log, 'effect.needs-person')).toHaveLength(1);
          break;
        case 'neither': {
          expect([arrivals, attempts, ofType(log, 'effect.needs-person').length]).toEqual([['accepted'], 1, 1]);
          expect(ofType(log, 'run.ended')[0]?.data).toMatchObject({ withUnknowns: true });
          const finding = await scene.finding(started.run, unknown[0]?.data.effect as string, 'happened', 'the ticket is in the tracker');
          const settled = await scene.stack.waitFor(started.run, (l) => settledAfter(l, 'effect.reconciled', 'checkpoint.sealed', 'budget.settled'), 'the finding to settle it', 20_000);
          expect(ofType(settled, 'finding.accepted').map((e) => e.data.finding)).toEqual([finding]);
          expect(ofType(settled, 'effect.reconciled').map((e) => [e.data.as, e.data.by])).toEqual([['happened', 'finding']]);
          expect(await verdict(scene, started, settled)).toEqual([]);
        }
      }
    }, 150_000);

    it.each(KINDS)('[EFF-2] [RUN-4] keeps what it recorded of a %s effect when the reconciler dies right after the observation', async (kind) => {
      const name = 'effect.after-observation';
      const { started, log } = await killed([['effect-reconciler', 1]], name, `one-${kind}`);
      expect(cells(name, started, log, [kind])).toEqual({ [kind]: 1 });
      expect(ofType(log, 'effect.attempt-started')).toHaveLength(1);
    }, 150_000);

    it.each<[Failpoint, number]>([
      ['generation.after-claim-before-dispatch', 2], ['generation.after-dispatch-before-acceptance', 2], ['generation.after-acceptance', 2], ['generation.before-request-after-results', 3],
    ])('[CON-4] [EFF-10] [RES-9] goes on with the model when the gateway dies at %s', async (name, nth) => {
      const { started, log } = await killed([['provider-gateway', nth]], name, 'six');
      expect(cells(name, started, log)).toEqual({ ...ONCE, 'read-only': 1, contained: 1 });
      const unknown = ofType(log, 'generation.outcome-unknown').length;
      const before = name === 'generation.after-claim-before-dispatch';
      expect(unknown).toBe(before || name === 'generation.after-dispatch-before-acceptance' ? 1 : 0);
      expect(scene.wire(started.tag)).toHaveLength(ofType(log, 'generation.started').length - (before ? 1 : 0));
      expect(ofType(log, 'generation.accepted').map((e) => e.data.calls.length)).toEqual([1, 6, 0]);
      for (const e of ofType(log, 'effect.attempt-started')) expect(e.data.attemptNumber).toBe(1); // no tool was sent twice
      if (unknown > 0) expect(ofType(log, 'generation.started').map((e) => e.data.form)).toContain('exact-replay');
    }, 150_000);
  });

  it('[RUN-4] [EFF-3] has judged every contract at every failpoint that a service passes', () => expect(table.missing(PLACES)).toEqual([]));

  it('[CON-1] [CON-3] shows the provider\'s opaque bytes nowhere after all of this', async () => {
    const { carriers, faults } = await carrierVerdict(scene);
    expect(carriers).toBeGreaterThan(5);
    expect(faults).toEqual([]);
  }, 60_000);

  it('[SVC-5] [SEAL-2] [SEAL-5] leaves a store in which the doctor finds nothing wrong', async () => {
    const { events, wrong } = await doctorVerdict(scene);
    expect(events).toBeGreaterThan(500);
    expect(wrong).toEqual([]);
  }, 60_000);
});
