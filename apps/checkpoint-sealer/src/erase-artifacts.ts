/**
 * What a run whose contents were erased had outside the store: large contents, and the files of its workspaces. The store's own index says what was erased; this
 * takes the bytes.
 *
 * X1. It comes before the seal of the erasure, so the need for that seal brings whoever died meanwhile back. A repeat finds tombstones and does nothing.
 * X2. Files go before the tree that names them: who comes back still knows which they were.
 * X3. A file that a tree names which was not erased stays.
 *
 * Deliberately without: bytes that no event names (of an attempt that died before it could say what it had stored).
 *
 * Rows: RET-1, EFF-8.
 */
import { ArtifactAltered, ArtifactMissing, type ArtifactStore, type Tombstone } from '@n17q/artifacts';
import { contentEnds, contentRefsIn, runStream, type ContentRef, type EventEnvelope, type RunState } from '@n17q/domain';
import type { StoreAccess } from '@n17q/event-log';
import { filesNamedBy } from '@n17q/tools';

export type EraseArtifacts = (s: RunState) => Promise<void>;

const AT_ONCE = 8;
const PAGE_EVENTS = 200;

export const erasing = (store: Pick<StoreAccess, 'readEvents' | 'contents'>, artifacts: Pick<ArtifactStore, 'get' | 'erase'>): EraseArtifacts => async (s) => {
  if (!s.contentErased && !contentEnds(s)) return;
  const { refs, why } = await cited(store, s);
  const erased = refs.filter((r) => r.class === 'continuation'); // the store tells nobody but the gateway of these, and no run has another's
  const asked = refs.filter((r) => r.class !== 'continuation');
  const kept = new Set<string>();
  for (let at = 0; at < asked.length; at += AT_ONCE) {
    const part = asked.slice(at, at + AT_ONCE);
    const states = new Map((await store.contents(s.tenant, part.map((r) => r.commitment))).map((c) => [c.ref.commitment, c.state]));
    for (const r of part) {
      if (states.get(r.commitment) === 'erased') erased.push(r);
      else for (const f of await filesIn(artifacts, s.tenant, r)) kept.add(f); // keeps X3
    }
  }
  const gone = async (commitment: string): Promise<void> => {
    try { await artifacts.erase(s.tenant, commitment, why); } catch (e) { if (!(e instanceof ArtifactMissing)) throw e; } // a small one, which lay beside its event
  };
  for (const r of erased) {
    const files = (await filesIn(artifacts, s.tenant, r)).filter((f) => !kept.has(f));
    for (let at = 0; at < files.length; at += AT_ONCE) await Promise.all(files.slice(at, at + AT_ONCE).map(gone)); // keeps X2
    await gone(r.commitment);
  }
};

/** Everything that the run's events name, once, and what its tombstones say. */
async function cited(store: Pick<StoreAccess, 'readEvents'>, s: RunState): Promise<{ readonly refs: readonly ContentRef[]; readonly why: Tombstone }> {
  const refs = new Map<string, ContentRef>();
  let why: Tombstone = { reason: 'the run keeps metadata only', by: 'checkpoint-sealer', at: new Date(s.lastAt).toISOString() };
  for (let after = 0; ;) {
    const page: readonly EventEnvelope[] = await store.readEvents(s.tenant, runStream(s.run), after, PAGE_EVENTS);
    for (const e of page) {
      for (const r of contentRefsIn(e.data)) refs.set(r.commitment, r);
      if (e.type === 'content.erased') why = { reason: e.data.reason, by: e.data.by.id, at: new Date(e.recordedAt).toISOString() };
    }
    const last = page.at(-1);
    if (last === undefined) return { refs: [...refs.values()], why };
    after = last.revision;
  }
}

async function filesIn(artifacts: Pick<ArtifactStore, 'get'>, tenant: string, ref: ContentRef): Promise<readonly string[]> {
  try {
    return await filesNamedBy(artifacts, tenant, ref);
  } catch (e) {
    if (e instanceof ArtifactMissing || e instanceof ArtifactAltered) return []; // erased: its files went before it; missing or altered: nobody can tell what they were, and the doctor says so
    throw e;
  }
}
