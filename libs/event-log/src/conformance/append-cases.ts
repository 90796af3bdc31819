/** Appends: consecutive, conditional, repeatable, whole. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { StoreFault } from '../store-fault.js';
import { appended, refusedWith, storeCase, type StoreCase } from './case.js';
import { draft, newRun, newTenant, note, prepare } from './draft.js';

export const APPEND_CASES: readonly StoreCase[] = [
  storeCase('RUN-1', 'gives consecutive revisions and positions, and returns the same events', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const first = await draft(store, t, run, { facts: [note('a'), note('b')], wake: 'policy-gate' });
    const one = appended(await store.append(first));
    assert.deepEqual([one.fresh, one.first, one.last, one.head], [true, 1, 2, first.rows[1]?.digest]);
    const two = appended(await store.append(await draft(store, t, run, { facts: [note('ü \u2028 "x" \\ \u0007')] })));
    assert.deepEqual([two.first, two.last], [3, 3]);
    const events = await store.readEvents(t, run, 0);
    assert.deepEqual(events.map((e) => e.revision), [1, 2, 3]);
    for (const [i, e] of events.slice(0, 2).entries()) {
      const { position, ...rest } = e;
      assert.deepEqual(rest, first.rows[i]);
      assert.match(position, /^0:\d+$/);
    }
    assert.deepEqual(events[2]?.data, { steps: ['ü \u2028 "x" \\ \u0007'] });
    assert.equal(events[2]?.previous, events[1]?.digest);
    assert.equal(one.position, events[1]?.position);
    assert.deepEqual(await store.head(t, run), { revision: 3, head: two.head });
  }),
  storeCase('RUN-1', 'lets one of two writers that saw the same revision through, and tells the other the revision', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    appended(await store.append(await draft(store, t, run)));
    const both = await Promise.all(['x', 'y'].map((s) => draft(store, t, run, { facts: [note(s), note(s)] })));
    const outcomes = await Promise.all(both.map((p) => store.append(p)));
    assert.deepEqual(outcomes.map((o) => o.kind).sort(), ['appended', 'conflict']);
    assert.deepEqual(outcomes.find((o) => o.kind === 'conflict'), { kind: 'conflict', revision: 3 });
    const winner = both[outcomes.findIndex((o) => o.kind === 'appended')];
    assert.deepEqual((await store.readEvents(t, run, 1)).map((e) => e.eventId), winner?.rows.map((r) => r.eventId));
  }),
  storeCase('RUN-1', 'refuses an expected revision that was never reached, and one of a stream that exists as if it were new', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    assert.deepEqual(await store.append(await draft(store, t, run, { at: { revision: 4, head: 'x' } })), { kind: 'conflict', revision: 0 });
    appended(await store.append(await draft(store, t, run)));
    assert.deepEqual(await store.append(await draft(store, t, run, { at: { revision: 0, head: '' } })), { kind: 'conflict', revision: 1 });
    assert.equal((await store.readEvents(t, run, 0)).length, 1);
  }),
  storeCase('RUN-1', 'takes nothing in that does not follow the head by its digest', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    appended(await store.append(await draft(store, t, run)));
    const wrong = await draft(store, t, run, { at: { revision: 1, head: 'f'.repeat(64) } });
    await assert.rejects(store.append(wrong), (e) => e instanceof StoreFault && e.code === 'CHAIN_BROKEN' && !e.mayHaveActed);
    const gap = await draft(store, t, run, { facts: [note('a'), note('b')] });
    refusedWith(await store.append({ ...gap, rows: [gap.rows[0], { ...gap.rows[1], previous: 'e'.repeat(64) }] as never }), 'MALFORMED');
    assert.equal((await store.head(t, run)).revision, 1);
  }),
  storeCase('RUN-4', 'answers a repeat with the first answer, whatever came since', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const p = await draft(store, t, run, { facts: [note('a'), note('b')], validUntil: (await store.now()) + 60_000, requires: [{ stream: 'tenant/policy', revision: 0 }] });
    const first = appended(await store.append(p));
    const { fresh: _, ...answer } = first;
    assert.deepEqual(await store.append(p), { ...answer, fresh: false });
    for (let i = 0; i < 3; i++) appended(await store.append(await draft(store, t, run)));
    appended(await store.append(await draft(store, t, 'tenant/policy')));
    assert.deepEqual(await store.append({ ...p, validUntil: 1 }), { ...answer, fresh: false });
    assert.equal((await store.head(t, run)).revision, 5);
  }),
  storeCase('RUN-4', 'takes one of several simultaneous copies of an append in, and gives all of them its answer', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const p = await draft(store, t, run, { facts: [note('a'), note('b')] });
    const outcomes = (await Promise.all([1, 2, 3, 4].map(() => store.append(p)))).map(appended);
    assert.equal(outcomes.filter((o) => o.fresh).length, 1);
    assert.equal(new Set(outcomes.map((o) => o.position)).size, 1);
    assert.equal((await store.head(t, run)).revision, 2);
  }),
  storeCase('RUN-4', 'refuses an append id that was used for other bytes, at any expected revision', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const appendId = randomUUID();
    appended(await store.append(await draft(store, t, run, { appendId })));
    const other = await draft(store, t, run, { appendId, facts: [note('other')], at: { revision: 0, head: '' } });
    assert.deepEqual(refusedWith(await store.append(other), 'ID_REUSED'), { revision: 1 });
    for (let i = 0; i < 5; i++) appended(await store.append(await draft(store, t, run)));
    assert.deepEqual(refusedWith(await store.append(await draft(store, t, run, { appendId, facts: [note('again')] })), 'ID_REUSED'), { revision: 1 });
    refusedWith(await store.append(await draft(store, t, run, { appendId, at: { revision: 3, head: '' } })), 'ID_REUSED');
    assert.equal((await store.head(t, run)).revision, 6);
  }),
  storeCase('RUN-1', 'does not mix tenants that use the same stream and append id', async (store) => {
    const [a, b, run, appendId] = [newTenant(), newTenant(), newRun(), randomUUID()];
    assert.deepEqual([appended(await store.append(await draft(store, a, run, { appendId }))).fresh, appended(await store.append(await draft(store, b, run, { appendId, facts: [note('other')] }))).fresh], [true, true]);
    assert.deepEqual((await store.listRuns(b, '', 10)).map((r) => [r.stream, r.revision]), [[run, 1]]);
  }),
  storeCase('EFF-7', 'takes nothing in after the time until which it is valid', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const now = await store.now();
    const facts = refusedWith(await store.append(await draft(store, t, run, { validUntil: now })), 'PERMIT_EXPIRED');
    assert.equal(facts['validUntil'], now);
    appended(await store.append(await draft(store, t, run, { validUntil: now + 60_000 })));
    assert.equal((await store.head(t, run)).revision, 1);
  }),
  storeCase('RUN-1', 'is busy for an append whose time is not the store\'s', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const now = await store.now();
    for (const recordedAt of [now - 2600, now + 2600]) assert.equal((await store.append(await draft(store, t, run, { recordedAt }))).kind, 'busy');
    assert.equal((await store.head(t, run)).revision, 0);
  }),
  storeCase('EFF-7', 'takes an append in only while the streams that it rests on stand where it saw them', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const resting = (revision: number): Promise<ReturnType<typeof prepare>> => draft(store, t, run, { requires: [{ stream: 'tenant/policy', revision }, { stream: 'tenant/roles', revision: 0 }] });
    appended(await store.append(await resting(0)));
    appended(await store.append(await draft(store, t, 'tenant/policy')));
    assert.deepEqual(refusedWith(await store.append(await resting(0)), 'REQUIREMENT_FAILED'), { stream: 'tenant/policy', required: 0, revision: 1 });
    appended(await store.append(await resting(1)));
    // in whatever batches these travel: whoever came after the change sees it
    const [change, stale, now] = await Promise.all([draft(store, t, 'tenant/policy'), resting(1), resting(2)]);
    const [first, second] = await Promise.all([store.append(change), store.append(stale)]);
    assert.equal(first.kind, 'appended');
    refusedWith(second, 'REQUIREMENT_FAILED');
    appended(await store.append(now));
  }),
  storeCase('RUN-1', 'pages a stream and the lane, and says when there is more', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const big = 'x'.repeat(40_000);
    for (let i = 0; i < 5; i++) appended(await store.append(await draft(store, t, run, { facts: Array.from({ length: 4 }, () => note(big)) })));
    const page = await store.readEvents(t, run, 0);
    assert.ok(page.length > 1 && page.length < 20, `a page of ${String(page.length)}`);
    const loaded = await store.loadRun(t, run);
    assert.deepEqual([loaded.more, loaded.head.revision, loaded.tail.length], [true, 20, page.length]);
    const rest = await store.loadRun(t, run, 15);
    assert.deepEqual([rest.more, rest.tail.map((e) => e.revision)], [false, [16, 17, 18, 19, 20]]);
    assert.deepEqual((await store.readEvents(t, run, 3, 2)).map((e) => e.revision), [4, 5]);
    const at = Number(page[0]?.position.split(':')[1]);
    assert.deepEqual((await store.readByPosition(0, at - 1, 1)).map((e) => [e.position, e.event.eventId, e.wake]), [[at, page[0]?.eventId, 'none']]);
  }),
  storeCase('RUN-1', 'refuses what could not be kept exactly', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    const p = await draft(store, t, run);
    refusedWith(await store.append({ ...p, rows: [] }), 'MALFORMED');
    refusedWith(await store.append({ ...p, rows: [{ ...p.rows[0], correlation: 'a\u0000b' }] as never }), 'MALFORMED');
    refusedWith(await store.append({ ...p, rows: [{ ...p.rows[0], data: { steps: ['\ud800'] } }] as never }), 'MALFORMED');
    refusedWith(await store.append({ ...p, rows: [{ ...p.rows[0], revision: 2 }] as never }), 'MALFORMED');
    assert.equal((await store.head(t, run)).revision, 0);
  }),
];
