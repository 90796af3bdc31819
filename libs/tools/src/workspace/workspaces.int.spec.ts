import { afterAll, describe, expect, it } from '@jest/globals';
import { MemoryArtifactStore } from '@n17q/artifacts';
import type { WorkspaceRef } from '@n17q/domain';
import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectorOutcome, DispatchRequest } from '../connector.js';
import { git } from './git.js';
import { Manifest, manifestBytes } from './manifest.js';
import { WorkspaceConnector } from './workspace-connector.js';
import { Workspaces } from './workspaces.js';

const folders: string[] = [];
afterAll(async () => { for (const f of folders) await rm(f, { recursive: true, force: true }); });
const T = 'tenant-a';
const BINARY = Buffer.from([0, 255, 1, 254, 10, 13, 0]);

class CountingStore extends MemoryArtifactStore {
  puts = 0;
  override put(...args: Parameters<MemoryArtifactStore['put']>): ReturnType<MemoryArtifactStore['put']> { this.puts++; return super.put(...args); }
}

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'n17q-workspace-'));
  folders.push(made);
  return made;
}

interface Made { readonly dir: string; readonly repo: string; readonly store: CountingStore; readonly workspaces: Workspaces; readonly at: WorkspaceRef; readonly base: string }

/** A repository with text, an executable, a binary file, links, an ignored folder and an uncommitted change. */
async function made(): Promise<Made> {
  const dir = await folder();
  const repo = join(dir, 'repo');
  await mkdir(join(repo, 'src'), { recursive: true });
  await writeFile(join(repo, 'README.md'), '# sample\n');
  await writeFile(join(repo, 'src/main.js'), 'export const n = 1;\r\n');
  await writeFile(join(repo, 'run.sh'), '#!/bin/sh\necho hi\n');
  await chmod(join(repo, 'run.sh'), 0o755);
  await writeFile(join(repo, 'logo.bin'), BINARY);
  await writeFile(join(repo, '.gitignore'), 'build/\n*.log\n');
  await symlink('README.md', join(repo, 'link.md'));
  await symlink('/etc', join(repo, 'outside'));
  await git(['init', '--quiet', '--template='], { cwd: repo });
  await git(['add', '--all'], { cwd: repo });
  await git(['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', 'commit', '--quiet', '-m', 'first'], { cwd: repo });
  await mkdir(join(repo, '.git/hooks'), { recursive: true });
  for (const hook of ['post-checkout', 'post-commit', 'reference-transaction']) await writeFile(join(repo, '.git/hooks', hook), `#!/bin/sh\ntouch ${dir}/hook-ran\n`, { mode: 0o755 });
  await writeFile(join(repo, 'README.md'), '# uncommitted\n');
  const store = new CountingStore();
  const workspaces = new Workspaces(store, join(dir, 'scratch'));
  const { base, workspace } = await workspaces.fromRepo(T, repo, join(dir, 'clone'));
  return { dir, repo, store, workspaces, at: workspace, base };
}

/** Everything in a folder, as a listing that an ordinary program would make. */
const listing = (dir: string): string => execFileSync('sh', ['-c', 'find . -path ./.git -prune -o \\( -type f -o -type l \\) -printf "%p %y %m %l\\n" | sort; find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum'], { cwd: dir }).toString();

describe('workspaces', () => {
  it('[WSP-1] takes the committed state at an immutable base, and never touches the given repository', async () => {
    const { dir, repo, at, base, workspaces } = await made();
    expect(base).toBe((await git(['rev-parse', 'HEAD'], { cwd: repo })).toString().trim());
    const manifest = await workspaces.manifest(T, at);
    expect(manifest).toMatchObject({ base, origin: null });
    expect(manifest.files.map((f) => `${f.mode} ${f.path}`)).toEqual(['100644 .gitignore', '100644 README.md', '120000 link.md', '100644 logo.bin', '120000 outside', '100755 run.sh', '100644 src/main.js']);
    expect(await readFile(join(repo, 'README.md'), 'utf8')).toBe('# uncommitted\n');
    expect(await readFile(join(dir, 'clone/README.md'), 'utf8')).toBe('# sample\n');
    expect(await readdir(dir)).not.toContain('hook-ran');
  });

  it('[WSP-2] rebuilds exactly that state in a fresh folder: modes, binary files and links survive, and the tree digest is the same', async () => {
    const { dir, at, workspaces } = await made();
    const restored = join(dir, 'restored');
    await workspaces.materialise(T, at, restored);
    expect(listing(restored)).toBe(listing(join(dir, 'clone')));
    expect(await readFile(join(restored, 'logo.bin'))).toEqual(BINARY);
    expect((await lstat(join(restored, 'run.sh'))).mode & 0o777).toBe(0o755);
    expect(await readlink(join(restored, 'outside'))).toBe('/etc');
    await rm(join(dir, 'scratch'), { recursive: true }); // scratch may vanish
    const again = await workspaces.snapshot(T, restored, at);
    expect(again.workspace).toEqual(at);
    expect(again.paths).toEqual([]);
  });

  it('[WSP-2] rebuilds nothing into a folder that is in use, and says which artifact is missing or altered', async () => {
    const { dir, at, workspaces, store } = await made();
    await expect(workspaces.materialise(T, at, join(dir, 'clone'))).rejects.toMatchObject({ code: 'FOLDER_NOT_FRESH' });
    const lost = (await workspaces.manifest(T, at)).files[1]?.content as string;
    store.tamper(T, lost, (b) => { b[0] = 0; return b; });
    await expect(workspaces.materialise(T, at, join(dir, 'one'))).rejects.toMatchObject({ code: 'ARTIFACT_ALTERED', commitment: lost });
    await store.erase(T, lost, { reason: 'ordered', by: 'ada', at: '2026-01-01T00:00:00Z' });
    await expect(workspaces.materialise(T, at, join(dir, 'two'))).rejects.toMatchObject({ code: 'ARTIFACT_ERASED', commitment: lost });
    await expect(workspaces.materialise('tenant-b', at, join(dir, 'three'))).rejects.toMatchObject({ code: 'ARTIFACT_MISSING', commitment: at.tree.commitment });
  });

  it('[saboteur WSP-2] does not call a folder restored when a store that checks nothing gave other bytes', async () => {
    const { dir, at, workspaces, store } = await made();
    const get = store.get.bind(store);
    const file = (await workspaces.manifest(T, at)).files.find((f) => f.path === 'src/main.js')?.content;
    store.get = async (tenant, commitment) => (commitment === file ? Buffer.from('export const n = 9;\r\n') : get(tenant, commitment));
    await expect(workspaces.materialise(T, at, join(dir, 'restored'))).rejects.toMatchObject({ code: 'RESTORE_DIFFERS', message: expect.stringContaining('src/main.js changed') });
  });

  it('[WSP-1] snapshots what was added, changed and removed, follows .gitignore', async () => {
    const { dir, at, workspaces } = await made();
    const clone = join(dir, 'clone');
    await writeFile(join(clone, 'src/main.js'), 'export const n = 2;\n');
    await writeFile(join(clone, 'new file ü.txt'), 'new\n');
    await rm(join(clone, 'logo.bin'));
    await mkdir(join(clone, 'build'));
    await writeFile(join(clone, 'build/out.js'), 'built');
    const change = await workspaces.snapshot(T, clone, at);
    expect(change.paths).toEqual([{ path: 'logo.bin', change: 'removed' }, { path: 'new file ü.txt', change: 'added' }, { path: 'src/main.js', change: 'changed' }]);
    expect(change.previous).toBe(at.tree.commitment);
    expect(change.workspace.tree.commitment).not.toBe(at.tree.commitment);
  });

  it('[SEAL-7] stores unchanged content once', async () => {
    const { dir, at, workspaces, store } = await made();
    await writeFile(join(dir, 'clone/one.txt'), 'one');
    const before = store.puts;
    const change = await workspaces.snapshot(T, join(dir, 'clone'), at);
    expect(store.puts - before).toBe(2); // one file, one manifest
    await writeFile(join(dir, 'clone/copy.txt'), 'one');
    await workspaces.snapshot(T, join(dir, 'clone'), change.workspace);
    expect(store.puts - before).toBe(3); // the manifest alone
  });

  it('[SEAL-3] names no state whose content could not be stored', async () => {
    const { dir, at, workspaces, store } = await made();
    await writeFile(join(dir, 'clone/one.txt'), 'one');
    const before = await workspaces.manifest(T, at);
    const stored: string[] = [];
    store.put = async (_tenant, _content, about) => { stored.push(about.class); if (about.class === 'workspace') throw new Error('disk full'); throw new Error('the manifest came first'); };
    await expect(workspaces.snapshot(T, join(dir, 'clone'), at)).rejects.toThrow('disk full');
    expect(stored).toEqual(['workspace']);
    expect(await workspaces.manifest(T, at)).toEqual(before);
  });

  it('[WSP-3] a change made outside is a conflict that is kept as a state of its own, and nothing is overwritten', async () => {
    const { dir, at, workspaces } = await made();
    const checkout = join(dir, 'checkout');
    await workspaces.materialise(T, at, checkout);
    const next = await workspaces.withFile(T, at, 'src/main.js', Buffer.from('ours\n'));
    await writeFile(join(checkout, 'src/main.js'), 'theirs\n');
    const conflict = await workspaces.advance(T, checkout, at, next.workspace);
    expect(conflict).toMatchObject({ expected: at.tree.commitment, paths: [{ path: 'src/main.js', change: 'changed' }] });
    expect(await readFile(join(checkout, 'src/main.js'), 'utf8')).toBe('theirs\n');
    await workspaces.materialise(T, conflict?.found as WorkspaceRef, join(dir, 'theirs'));
    expect(await readFile(join(dir, 'theirs/src/main.js'), 'utf8')).toBe('theirs\n');
  });

  it('[WSP-2] advances a checkout from one state to the next, a file in place of a folder and the reverse too, and a repeat changes nothing', async () => {
    const { dir, at, workspaces } = await made();
    const checkout = join(dir, 'checkout');
    await workspaces.materialise(T, at, checkout);
    const one = await workspaces.withFile(T, at, 'src/main.js', null);
    const two = await workspaces.withFile(T, one.workspace, 'src', Buffer.from('a file now'));
    const three = await workspaces.withFile(T, two.workspace, 'deep/er/x.txt', Buffer.from('x'));
    expect(await workspaces.advance(T, checkout, at, three.workspace)).toBeUndefined();
    expect(await workspaces.advance(T, checkout, at, three.workspace)).toBeUndefined();
    expect(await readFile(join(checkout, 'src'), 'utf8')).toBe('a file now');
    expect(await workspaces.advance(T, checkout, three.workspace, at)).toBeUndefined();
    expect(listing(checkout)).toBe(listing(join(dir, 'clone')));
  });

  it('[WSP-2] a folder that a command filled with a link in place of a folder is read without following it', async () => {
    const { dir, at, workspaces } = await made();
    const clone = join(dir, 'clone');
    await mkdir(join(dir, 'secret'));
    await writeFile(join(dir, 'secret/main.js'), 'outside');
    await rm(join(clone, 'src'), { recursive: true });
    await symlink(join(dir, 'secret'), join(clone, 'src'));
    const { workspace } = await workspaces.snapshot(T, clone, at);
    expect((await workspaces.manifest(T, workspace)).files.find((f) => f.path.startsWith('src'))).toMatchObject({ path: 'src', mode: '120000' });
  });
});

describe('a manifest', () => {
  const file = (path: string) => ({ path, mode: '100644' as const, size: 0, sha256: '0'.repeat(64), content: `c1.${'0'.repeat(64)}` });
  const manifest = (paths: string[]): Manifest => ({ format: 'n17q.workspace/1', base: '0'.repeat(40), origin: null, files: paths.map(file) });

  it.each([
    [['../x']], [['/etc/passwd']], [['a/../b']], [['a//b']], [['./a']], [['.git/hooks/post-checkout']], [['a/.GIT/config']], [['']], [['a\0b']], [['a', 'a/b']], [['b', 'a']], [['a', 'a']],
  ])('[WSP-2] with the paths %j is refused, and nothing of it is created', async (paths) => {
    const bad = manifest(paths);
    expect(Manifest.safeParse(bad).success).toBe(false);
    const store = new MemoryArtifactStore();
    const tree = await store.put(T, manifestBytes(bad), { class: 'manifest', media: 'application/json' });
    const dir = join(await folder(), 'restored');
    await expect(new Workspaces(store, join(dir, '..', 'scratch')).materialise(T, { base: '0'.repeat(40), tree }, dir)).rejects.toMatchObject({ code: 'BAD_MANIFEST' });
    await expect(lstat(dir)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('the workspace connector', () => {
  const call = (m: Made, operation: 'list' | 'read' | 'write' | 'remove', args: DispatchRequest['args'], change: Partial<DispatchRequest> = {}): Promise<ConnectorOutcome> =>
    new WorkspaceConnector({ operation, readOnly: operation === 'list' || operation === 'read' }, m.workspaces).dispatch({
      effect: 'e', attempt: 'a', idempotencyKey: 'k', args, target: 'workspace', timeoutMs: 1_000, outputBytesMax: 10_000, beforeFirstByte: () => true, workspace: { tenant: T, at: m.at }, ...change,
    });

  it('[WSP-1] lists, reads and writes files of the state that the run is in', async () => {
    const m = await made();
    expect(await call(m, 'list', { prefix: 'src/' })).toEqual({ kind: 'observed', ok: true, text: '21\tsrc/main.js' });
    expect(await call(m, 'read', { path: 'src/main.js' })).toEqual({ kind: 'observed', ok: true, text: 'export const n = 1;\r\n' });
    expect(await call(m, 'read', { path: 'logo.bin' })).toMatchObject({ ok: true, text: 'logo.bin is a binary file of 7 bytes.' });
    expect(await call(m, 'read', { path: 'none.txt' })).toMatchObject({ kind: 'observed', ok: false });
    const wrote = await call(m, 'write', { path: 'src/main.js', content: 'export const n = 3;\n' });
    if (wrote.kind !== 'observed' || !wrote.files) throw new Error(JSON.stringify(wrote));
    expect(wrote.files).toMatchObject({ previous: m.at.tree.commitment, summary: 'src/main.js changed' });
    expect(await call({ ...m, at: wrote.files.workspace }, 'read', { path: 'src/main.js' })).toMatchObject({ text: 'export const n = 3;\n' });
    expect(await call(m, 'read', { path: 'src/main.js' })).toMatchObject({ text: 'export const n = 1;\r\n' });
    const script = await call(m, 'write', { path: 'run.sh', content: '#!/bin/sh\n' });
    expect((await m.workspaces.manifest(T, (script as { files: { workspace: WorkspaceRef } }).files.workspace)).files.find((f) => f.path === 'run.sh')?.mode).toBe('100755');
  });

  it.each(['../x', '/etc/passwd', 'src/../../x', '.git/config', '', 'a\0', 7, null])('[CTX-6] refuses the path %j', async (path) => {
    const m = await made();
    const before = m.store.puts;
    for (const operation of ['read', 'write', 'remove'] as const) expect(await call(m, operation, { path, content: 'x' })).toMatchObject({ kind: 'refused', cause: 'PATH_REFUSED' });
    expect(m.store.puts).toBe(before);
  });

  it('[CTX-6] follows no link: it shows where one points, and writes neither through nor over it', async () => {
    const m = await made();
    expect(await call(m, 'read', { path: 'outside' })).toMatchObject({ ok: true, text: 'outside is a link to /etc' });
    expect(await call(m, 'read', { path: 'outside/passwd' })).toMatchObject({ ok: false });
    expect(await call(m, 'write', { path: 'outside/passwd', content: 'x' })).toMatchObject({ kind: 'refused', cause: 'PATH_BEHIND_FILE_OR_LINK' });
    expect(await call(m, 'write', { path: 'link.md', content: 'x' })).toMatchObject({ kind: 'refused', cause: 'PATH_IS_LINK' });
    expect(await call(m, 'write', { path: 'src', content: 'x' })).toMatchObject({ kind: 'refused', cause: 'PATH_IS_FOLDER' });
  });

  it('[WSP-3] refuses to write when somebody changed the checkout, and keeps what was found', async () => {
    const m = await made();
    const checkout = join(m.dir, 'checkout');
    await m.workspaces.materialise(T, m.at, checkout);
    await writeFile(join(checkout, 'README.md'), 'edited by hand\n');
    const outcome = await call(m, 'write', { path: 'src/main.js', content: 'x' }, { workspace: { tenant: T, at: m.at, checkout } });
    expect(outcome).toMatchObject({ kind: 'refused', cause: 'WORKSPACE_CONFLICT', conflict: { expected: m.at.tree.commitment, paths: [{ path: 'README.md', change: 'changed' }] } });
    expect(await readFile(join(checkout, 'README.md'), 'utf8')).toBe('edited by hand\n');
    expect(await readFile(join(checkout, 'src/main.js'), 'utf8')).toBe('export const n = 1;\r\n');
    await writeFile(join(checkout, 'README.md'), '# sample\n');
    expect(await call(m, 'write', { path: 'src/main.js', content: 'x' }, { workspace: { tenant: T, at: m.at, checkout } })).toMatchObject({ kind: 'observed', ok: true });
    expect(await readFile(join(checkout, 'src/main.js'), 'utf8')).toBe('x');
  });

  it('[SEAL-8] sends nothing, and names the artifact, when the state cannot be rebuilt', async () => {
    const m = await made();
    await m.store.erase(T, m.at.tree.commitment, { reason: 'ordered', by: 'ada', at: '2026-01-01T00:00:00Z' });
    expect(await call(m, 'list', {})).toEqual({ kind: 'not-sent', cause: `ARTIFACT_ERASED: ${m.at.tree.commitment}` });
    expect(await call(m, 'list', {}, { workspace: undefined as never })).toEqual({ kind: 'not-sent', cause: 'NO_WORKSPACE' });
  });

  it('[EFF-2] writes nothing when the last check says no', async () => {
    const m = await made();
    const before = m.store.puts;
    expect((await call(m, 'write', { path: 'x', content: 'x' }, { beforeFirstByte: () => false })).kind).toBe('not-sent');
    expect(m.store.puts).toBe(before);
  });

  it('[CTX-6] bounds what it says', async () => {
    const m = await made();
    const wrote = await call(m, 'write', { path: 'big.txt', content: 'ü'.repeat(50_000) });
    const big = await call({ ...m, at: (wrote as { files: { workspace: WorkspaceRef } }).files.workspace }, 'read', { path: 'big.txt' }, { outputBytesMax: 500 });
    expect(Buffer.byteLength((big as { text: string }).text)).toBeLessThanOrEqual(500);
  });
});
