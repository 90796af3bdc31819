/**
 * What every artifact store must do, as cases without a test runner: each takes a fresh store and throws if a promise is broken.
 * A saboteur that breaks one promise must fail the case of that promise.
 */
import assert from 'node:assert/strict';
import { commitment, newSalt } from '@n17q/contracts';
import { isCommitment } from './commitment.js';
import { ArtifactAltered, ArtifactErased, ArtifactMissing } from './errors.js';
import { ArtifactTooLarge, type ArtifactStat, type ArtifactStore } from './store.js';

export interface StoreUnderTest {
  readonly store: ArtifactStore;
  /** Changes stored bytes behind the store's back. */
  tamper(tenant: string, commitment: string): Promise<void>;
}
export interface ConformanceCase { readonly title: string; readonly run: (under: StoreUnderTest) => Promise<void> }

const about = { class: 'evidence', media: 'text/plain' } as const;
const why = { reason: 'ordered', by: 'ada', at: '2026-01-01T00:00:00Z' };
const all = async (store: ArtifactStore, tenant: string): Promise<ArtifactStat[]> => {
  const found: ArtifactStat[] = [];
  for await (const s of store.list(tenant)) found.push(s);
  return found;
};

export const ARTIFACT_STORE_CONFORMANCE: readonly ConformanceCase[] = [
  {
    title: '[SEAL-7] gives back exactly the bytes that a reference names, empty, binary and streamed ones too',
    run: async ({ store }) => {
      const binary = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 7) % 256));
      async function* slices(): AsyncGenerator<Uint8Array> { for (let i = 0; i < binary.length; i += 999) yield binary.subarray(i, i + 999); }
      for (const content of [Buffer.alloc(0), Buffer.from('text\nwith lines\n'), binary]) {
        const ref = await store.put('a', content, about);
        assert.ok(isCommitment(ref.commitment));
        assert.equal(ref.bytes, content.length);
        assert.deepEqual(await store.get('a', ref.commitment), content);
        assert.deepEqual(await store.verify('a', ref.commitment), ref);
        assert.deepEqual(await store.stat('a', ref.commitment), { ref });
      }
      const streamed = await store.put('a', slices(), about);
      assert.equal(streamed.bytes, binary.length);
      assert.deepEqual(await store.get('a', streamed.commitment), binary);
    },
  },
  {
    title: '[RET-1] gives equal bytes unequal addresses, so that an address confirms no guess',
    run: async ({ store }) => {
      const one = await store.put('a', Buffer.from('yes'), about);
      const two = await store.put('a', Buffer.from('yes'), about);
      assert.notEqual(one.commitment, two.commitment);
    },
  },
  {
    title: '[RET-1] takes content that was committed before, once, and never in place of a tombstone',
    run: async ({ store }) => {
      const salt = newSalt();
      const bytes = Buffer.from('committed before');
      const ref = await store.put('a', bytes, { ...about, salt });
      assert.equal(ref.commitment, commitment(salt, bytes));
      assert.deepEqual(await store.put('a', bytes, { ...about, salt }), ref);
      assert.deepEqual(await store.get('a', ref.commitment), bytes);
      assert.equal((await all(store, 'a')).length, 1);
      await store.erase('a', ref.commitment, why);
      await store.put('a', bytes, { ...about, salt });
      await assert.rejects(store.get('a', ref.commitment), ArtifactErased);
    },
  },
  {
    title: '[RET-4] never hands out altered bytes, and names the artifact',
    run: async ({ store, tamper }) => {
      const ref = await store.put('a', Buffer.from('the agreed amount is 100'), about);
      await tamper('a', ref.commitment);
      const named = (e: unknown): boolean => e instanceof ArtifactAltered && e.commitment === ref.commitment;
      await assert.rejects(store.get('a', ref.commitment), named);
      await assert.rejects(store.verify('a', ref.commitment), named);
    },
  },
  {
    title: '[SEAL-3] shows nothing of an upload before its end, and nothing of one that broke',
    run: async ({ store }) => {
      let seen: ArtifactStat[] | undefined;
      async function* watched(): AsyncGenerator<Uint8Array> {
        yield Buffer.alloc(100_000, 1);
        seen = await all(store, 'a');
        yield Buffer.alloc(10, 2);
      }
      await store.put('a', watched(), about);
      assert.deepEqual(seen, []);
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield Buffer.alloc(100_000, 1);
        throw new Error('the line went dead');
      }
      await assert.rejects(store.put('a', broken(), about), /the line went dead/);
      assert.equal((await all(store, 'a')).length, 1);
    },
  },
  {
    title: '[SEAL-7] refuses more bytes than allowed and keeps none of them',
    run: async ({ store }) => {
      await assert.rejects(store.put('a', Buffer.alloc(11), { ...about, bytesMax: 10 }), ArtifactTooLarge);
      assert.deepEqual(await all(store, 'a'), []);
    },
  },
  {
    title: '[RET-1] leaves a tombstone under the address of what was erased',
    run: async ({ store }) => {
      const ref = await store.put('a', Buffer.from('private'), about);
      assert.deepEqual(await store.erase('a', ref.commitment, why), why);
      assert.deepEqual(await store.erase('a', ref.commitment, { ...why, by: 'bob' }), why, 'a repeat returns the first');
      const erased = (e: unknown): boolean => e instanceof ArtifactErased && e.commitment === ref.commitment && e.tombstone.by === 'ada';
      await assert.rejects(store.get('a', ref.commitment), erased);
      await assert.rejects(store.verify('a', ref.commitment), erased);
      assert.deepEqual(await store.stat('a', ref.commitment), { ref, tombstone: why });
      assert.deepEqual(await all(store, 'a'), [{ ref, tombstone: why }]);
    },
  },
  {
    title: "[SEC-1] answers another tenant's address as if it did not exist",
    run: async ({ store }) => {
      const ref = await store.put('a', Buffer.from('mine'), about);
      for (const other of ['b', 'A', 'a/', '../a', 'a\u0000']) {
        await assert.rejects(store.get(other, ref.commitment), (e: unknown) => e instanceof ArtifactMissing && !(e instanceof ArtifactErased));
        assert.equal(await store.stat(other, ref.commitment), undefined);
        await assert.rejects(store.erase(other, ref.commitment, why), ArtifactMissing);
        assert.deepEqual(await all(store, other), []);
      }
      assert.equal((await store.get('a', ref.commitment)).toString(), 'mine');
    },
  },
  {
    title: '[SEAL-8] names what is missing, and takes no path for an address',
    run: async ({ store }) => {
      for (const address of [`c1.${'0'.repeat(64)}`, '../../etc/passwd', 'c1.', '', `c1.${'A'.repeat(64)}`]) {
        await assert.rejects(store.get('a', address), (e: unknown) => e instanceof ArtifactMissing && e.commitment === address);
        assert.equal(await store.stat('a', address), undefined);
      }
    },
  },
];
