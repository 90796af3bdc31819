import { describe, expect, it } from '@jest/globals';
import { ArtifactErased, MemoryArtifactStore } from '@n17q/artifacts';
import { emptyRun, type ContentRef, type EventEnvelope, type RunState } from '@n17q/domain';
import { manifestBytes, Manifest } from '@n17q/tools';
import { erasing } from './erase-artifacts.js';

const T = 'tenant-a';
const BY = { kind: 'person' as const, id: 'ada' };
const event = (revision: number, type: string, data: object): EventEnvelope => ({ revision, type, data, recordedAt: 1_800_000_000_000 }) as unknown as EventEnvelope;

/** A run with a large result and two trees that share a file; the first tree is another run's where `foreign`. */
async function made(o: { readonly foreign?: boolean; readonly dies?: number } = {}) {
  const artifacts = new MemoryArtifactStore();
  const put = (text: string | Buffer, cls: ContentRef['class'], media: string): Promise<ContentRef> => artifacts.put(T, Buffer.from(text), { class: cls, media });
  const tree = async (files: { readonly [path: string]: ContentRef }): Promise<ContentRef> => put(manifestBytes(Manifest.parse({
    format: 'n17q.workspace/1', base: 'a'.repeat(40), origin: null, files: Object.entries(files).map(([path, c]) => ({ path, mode: '100644', size: c.bytes, sha256: 'b'.repeat(64), content: c.commitment })),
  })), 'manifest', 'application/vnd.n17q.workspace+json');
  const [shared, own, large] = [await put('shared', 'workspace', 'application/octet-stream'), await put('own', 'workspace', 'application/octet-stream'), await put('x'.repeat(1000), 'tool-result', 'text/plain')];
  const [first, second] = [await tree({ 'a.txt': shared }), await tree({ 'a.txt': shared, 'b.txt': own })];
  const kept = await put('a secret of a model', 'continuation', 'application/octet-stream');
  const small: ContentRef = { commitment: `c1.${'0'.repeat(64)}`, bytes: 3, class: 'input', media: 'text/plain' };
  const log = [event(1, 'run.created', { goal: small, workspace: { base: 'a', tree: first } }), event(2, 'effect.observed', { text: large }), event(3, 'workspace.changed', { workspace: { base: 'a', tree: second } }), event(4, 'continuation.retained', { ref: kept }), event(5, 'content.erased', { reason: 'asked by law', by: BY, unresolved: [] })];
  let left = o.dies ?? Number.POSITIVE_INFINITY;
  const erase = erasing({
    readEvents: (_t, _s, after, limit) => Promise.resolve(log.slice(after, after + limit)),
    contents: (_t, asked) => asked.includes(kept.commitment) ? Promise.reject(new Error('forbidden')) : Promise.resolve([small, large, first, second].filter((r) => asked.includes(r.commitment)).map((ref) => ({ ref, state: ref === first && o.foreign === true ? 'complete' as const : 'erased' as const, salt: null, body: null }))),
  }, { get: (t, c) => artifacts.get(t, c), erase: (t, c, why) => { if (left-- <= 0) throw new Error('died'); return artifacts.erase(t, c, why); } });
  const state = (x: Partial<RunState> = {}): RunState => ({ ...emptyRun(T, 'r'), status: 'ended', contentErased: true, ...x });
  const there = async (): Promise<readonly string[]> => {
    const all = { shared, own, large, first, second, kept };
    const found = await Promise.all(Object.entries(all).map(async ([name, r]) => artifacts.get(T, r.commitment).then(() => [name], (e: unknown) => { if (e instanceof ArtifactErased) return []; throw e; })));
    return found.flat();
  };
  return { erase, state, there, artifacts, large, again: () => { left = Number.POSITIVE_INFINITY; } };
}

describe('what a run had outside the store', () => {
  it('[RET-1] [EFF-8] goes with its contents: large results, trees, their files and continuations, with who asked and why', async () => {
    const m = await made();
    await m.erase(m.state());
    expect(await m.there()).toEqual([]);
    expect((await m.artifacts.stat(T, m.large.commitment))?.tombstone).toEqual({ reason: 'asked by law', by: 'ada', at: '2027-01-15T08:00:00.000Z' });
    await m.erase(m.state()); // a repeat finds tombstones
  });
  it('[RET-1] stays while nothing was erased', async () => {
    const m = await made();
    await m.erase(m.state({ contentErased: false }));
    expect(await m.there()).toHaveLength(6);
  });
  it('[RET-1] keeps the files of a tree that is another run\'s', async () => {
    const m = await made({ foreign: true });
    await m.erase(m.state());
    expect(await m.there()).toEqual(['shared', 'first']);
  });
  it.each([0, 1, 2, 3, 4, 5])('[RET-1] is gone in the end when whoever erases it dies after %i of them', async (dies) => {
    const m = await made({ dies });
    await expect(m.erase(m.state())).rejects.toThrow('died');
    m.again();
    await m.erase(m.state());
    expect(await m.there()).toEqual([]);
  });
});
