/** Contents, checkpoints, snapshots: one transaction with the events that name them. */
import assert from 'node:assert/strict';
import { contentOf } from '@n17q/contracts';
import { StoreFault } from '../store-fault.js';
import { appended, refusedWith, storeCase, type StoreCase } from './case.js';
import { digest, draft, newRun, newTenant, note, sealing } from './draft.js';

const reader = { reader: 'context-compiler' } as const;

export const CONTENT_CASES: readonly StoreCase[] = [
  storeCase('SEAL-3', 'takes no citation of content as something other than what is stored, in class or size', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const c = contentOf('what was said', 'input');
    appended(await store.append(await draft(store, t, run, { contents: [c] })));
    const cite = async (as: string) => store.append(await draft(store, t, run, { cites: [c.ref.commitment], citedAs: { [c.ref.commitment]: as } }));
    assert.equal(refusedWith(await cite(`evidence ${String(c.ref.bytes)}`), 'CONTENT_MISSING')['commitment'], c.ref.commitment);
    assert.equal(refusedWith(await cite(`input ${String(c.ref.bytes + 1)}`), 'CONTENT_MISSING')['commitment'], c.ref.commitment);
    appended(await cite(`input ${String(c.ref.bytes)}`));
  }),
  storeCase('SEAL-2', 'commits a checkpoint with the event that seals it, or neither', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    appended(await store.append(await draft(store, t, run, { facts: [note('a'), note('b')] })));
    const stale = await draft(store, t, run, { at: { revision: 1, head: '' }, ...sealing(1, { [digest('s')]: '"s"' }) });
    assert.equal((await store.append(stale)).kind, 'conflict');
    assert.equal(await store.checkpointAt(t, run, 1), null);
    assert.deepEqual(await store.sectionBodies(t, run, 1), {});
    const p = await draft(store, t, run, sealing(2, { [digest('s')]: '{"s":"ü"}' }));
    appended(await store.append(p));
    const { sections: _, citesSections: __, ...kept } = p.checkpoint ?? assert.fail();
    assert.deepEqual(await store.checkpointAt(t, run, 2), { ...kept, sealedRevision: 3 });
    assert.deepEqual(await store.latestCheckpoint(t, run), { ...kept, sealedRevision: 3 });
    assert.equal((await store.readEvents(t, run, 2))[0]?.type, 'checkpoint.sealed');
    assert.deepEqual(await store.sectionBodies(t, run, 2), { [digest('s')]: '{"s":"ü"}' });
    appended(await store.append(p));
    assert.equal((await store.head(t, run)).revision, 3);
  }),
  storeCase('SEAL-7 SEAL-2', 'gives every checkpoint all its sections, those that changed and those that earlier ones brought, however many there are', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const same = { [digest('same')]: '{"same":"ä"}' };
    const bodyOf = (n: number): { readonly [d: string]: string } => ({ ...same, [digest(n)]: `{"n":${String(n)}}\n`, [digest({ half: n >> 1 })]: `half ${String(n >> 1)}` });
    for (let n = 0; n < 40; n++) {
      appended(await store.append(await draft(store, t, run)));
      const cut = 2 * n + 1;
      appended(await store.append(await draft(store, t, run, n === 30 ? sealing(cut, { [digest(n)]: bodyOf(n)[digest(n)] ?? '' }, [digest('same'), digest({ half: 14 })]) : sealing(cut, bodyOf(n)))));
    }
    for (const n of [0, 1, 15, 16, 17, 31, 39]) assert.deepEqual(await store.sectionBodies(t, run, 2 * n + 1), bodyOf(n));
    assert.deepEqual(await store.sectionBodies(t, run, 61), { ...same, [digest(30)]: '{"n":30}\n', [digest({ half: 14 })]: 'half 14' });
    assert.deepEqual(await store.sectionBodies(t, run, 2), {});
    refusedWith(await store.append(await draft(store, t, run, { ...sealing(80, {}, [digest(3), digest('of no checkpoint')]) })), 'CONTENT_MISSING');
  }),
  storeCase('SEAL-2', 'refuses a checkpoint without its event, an event without its checkpoint, and a second checkpoint of one cut', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    appended(await store.append(await draft(store, t, run)));
    const seal = sealing(1);
    refusedWith(await store.append(await draft(store, t, run, { checkpoint: seal.checkpoint as never })), 'CHECKPOINT_WRONG');
    refusedWith(await store.append(await draft(store, t, run, { facts: seal.facts as never })), 'CHECKPOINT_WRONG');
    refusedWith(await store.append(await draft(store, t, run, { ...seal, checkpoint: { ...seal.checkpoint, manifestDigest: digest('x') } as never })), 'CHECKPOINT_WRONG');
    appended(await store.append(await draft(store, t, run, seal)));
    refusedWith(await store.append(await draft(store, t, run, sealing(1))), 'CHECKPOINT_WRONG');
    assert.equal((await store.head(t, run)).revision, 2);
  }),
  storeCase('SEAL-3', 'cites only what is complete: not what is absent, uploading, erased, or another tenant\'s', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const c = contentOf('a large body', 'tool-result');
    const citing = (): Promise<Awaited<ReturnType<typeof draft>>> => draft(store, t, run, { cites: [c.ref.commitment] });
    assert.deepEqual(refusedWith(await store.append(await citing()), 'CONTENT_MISSING'), { commitment: c.ref.commitment });
    await store.registerArtifact({ tenant: newTenant(), stream: null, ref: c.ref, salt: null, state: 'complete' });
    const entry = { tenant: t, stream: run, ref: c.ref, salt: c.salt } as const;
    assert.equal(await store.registerArtifact({ ...entry, state: 'pending' }), 'pending');
    refusedWith(await store.append(await citing()), 'CONTENT_MISSING');
    assert.equal((await store.head(t, run)).revision, 0);
    assert.equal(await store.registerArtifact({ ...entry, state: 'complete' }), 'complete');
    assert.equal(await store.registerArtifact({ ...entry, state: 'pending' }), 'complete');
    appended(await store.append(await citing()));
    appended(await store.append(await draft(store, t, run, { eraseContents: true })));
    assert.equal(await store.registerArtifact({ ...entry, state: 'complete' }), 'erased');
    refusedWith(await store.append(await citing()), 'CONTENT_MISSING');
    const seal = sealing(2, {}, [digest('never uploaded')]);
    assert.deepEqual(refusedWith(await store.append(await draft(store, t, run, seal)), 'CONTENT_MISSING'), { section: digest('never uploaded') });
    assert.equal(await store.checkpointAt(t, run, 2), null);
  }),
  storeCase('SEAL-3 RUN-4', 'keeps contents with their events, and nothing of an append that was not taken in', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const c = contentOf(Buffer.from([0, 1, 255, 254, 0]), 'input');
    const lost = await draft(store, t, run, { at: { revision: 7, head: '' }, contents: [c] });
    assert.equal((await store.append(lost)).kind, 'conflict');
    assert.deepEqual(await store.contents(t, [c.ref.commitment], reader), []);
    appended(await store.append(await draft(store, t, run, { contents: [c], cites: [c.ref.commitment] })));
    const [kept, ...others] = await store.contents(t, [c.ref.commitment, 'c1.none'], reader);
    assert.equal(others.length, 0);
    assert.deepEqual([kept?.ref, kept?.state, [...(kept?.body ?? [])], [...(kept?.salt ?? [])]], [c.ref, 'complete', [0, 1, 255, 254, 0], [...c.salt]]);
    appended(await store.append(await draft(store, t, run, { cites: [c.ref.commitment] })));
    assert.deepEqual(await store.contents(newTenant(), [c.ref.commitment], reader), []);
  }),
  storeCase('RET-1', 'erases bytes and salts of a stream and no other, keeps the chain, and takes no erased content back', async (store) => {
    const [t, run, other] = [newTenant(), newRun(), newRun()];
    const [mine, theirs] = [contentOf('secret', 'input'), contentOf('kept', 'input')];
    appended(await store.append(await draft(store, t, run, { contents: [mine] })));
    appended(await store.append(await draft(store, t, other, { contents: [theirs] })));
    appended(await store.append(await draft(store, t, run, { eraseContents: true })));
    const found = await store.contents(t, [mine.ref.commitment, theirs.ref.commitment], reader);
    const of = (c: string): unknown[] => { const x = found.find((f) => f.ref.commitment === c); return [x?.state, x?.salt === null, x?.body === null]; };
    assert.deepEqual([of(mine.ref.commitment), of(theirs.ref.commitment)], [['erased', true, true], ['complete', false, false]]);
    const events = await store.readEvents(t, run, 0);
    assert.equal(events[1]?.previous, events[0]?.digest);
    refusedWith(await store.append(await draft(store, t, run, { contents: [mine] })), 'CONTENT_MISSING');
  }),
  storeCase('RES-8', 'gives continuation bytes to the provider gateway alone', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const c = contentOf('opaque', 'continuation');
    appended(await store.append(await draft(store, t, run, { contents: [c] })));
    for (const by of ['context-compiler', 'policy-gate', 'checkpoint-sealer', 'effect-reconciler', 'api'] as const) {
      await assert.rejects(store.contents(t, [c.ref.commitment], { reader: by }), (e) => e instanceof StoreFault && e.code === 'NOT_READABLE');
    }
    assert.equal((await store.contents(t, [c.ref.commitment], { reader: 'provider-gateway' })).length, 1);
  }),
  storeCase('RUN-1', 'starts a load at the snapshot that an append carried, and forgets the one before', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    appended(await store.append(await draft(store, t, run, { snapshot: '{"at":1}' })));
    appended(await store.append(await draft(store, t, run)));
    appended(await store.append(await draft(store, t, run, { snapshot: '{"at":"3"}' })));
    appended(await store.append(await draft(store, t, run)));
    const loaded = await store.loadRun(t, run);
    assert.deepEqual([loaded.snapshot, loaded.tail.map((e) => e.revision), loaded.more], [{ revision: 3, state: '{"at":"3"}' }, [4], false]);
    const all = await store.loadRun(t, run, 0);
    assert.deepEqual([all.snapshot, all.tail.length], [null, 4]);
  }),
];
