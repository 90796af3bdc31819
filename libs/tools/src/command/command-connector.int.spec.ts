import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryArtifactStore } from '@n17q/artifacts';
import type { WorkspaceRef } from '@n17q/domain';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectorOutcome, DispatchRequest } from '../connector.js';
import { connectorFor } from '../connectors.js';
import { git } from '../workspace/git.js';
import { Workspaces } from '../workspace/workspaces.js';
import { CommandConnector } from './command-connector.js';
import { contractUnder, isolationNotice, probeIsolation, unshareArgs, type Isolation } from './isolation.js';
import { runContained } from './run-contained.js';

const T = 'tenant-a';
const SLOW = 60_000;
let dir = '';
let workspaces: Workspaces;
let at: WorkspaceRef;
let listener: Server;
let port = 0;
let connections = 0;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'n17q-command-'));
  const repo = join(dir, 'repo');
  await mkdir(repo);
  await writeFile(join(repo, 'kept.txt'), 'kept\n');
  await writeFile(join(repo, '.gitignore'), 'ignored/\n');
  await git(['init', '--quiet', '--template='], { cwd: repo });
  await git(['add', '--all'], { cwd: repo });
  await git(['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', 'commit', '--quiet', '-m', 'first'], { cwd: repo });
  workspaces = new Workspaces(new MemoryArtifactStore(), join(dir, 'scratch'));
  at = (await workspaces.fromRepo(T, repo, join(dir, 'clone'))).workspace;
  listener = createServer((s) => { connections++; s.end('reached'); });
  await new Promise<void>((resolve) => { listener.listen(0, '127.0.0.1', resolve); });
  port = (listener.address() as AddressInfo).port;
}, SLOW);
afterAll(async () => {
  await new Promise<void>((resolve) => { listener.close(() => resolve()); });
  await rm(dir, { recursive: true, force: true });
});

const NONE: Isolation = { isolation: 'none', why: 'asked for by the test' };
const run = (isolation: Isolation, script: string, change: Partial<DispatchRequest> = {}, config: { readonly mounts?: readonly { readonly from: string; readonly at: string }[] } = {}): Promise<ConnectorOutcome> =>
  new CommandConnector({ command: ['sh', '-c', script], ...config }, workspaces, isolation).dispatch({
    effect: 'e', attempt: 'a', idempotencyKey: 'k', args: {}, target: 'sandbox', timeoutMs: 20_000, outputBytesMax: 8_000, beforeFirstByte: () => true, workspace: { tenant: T, at }, ...change,
  });
const textOf = (o: ConnectorOutcome): string => (o.kind === 'observed' ? o.text : JSON.stringify(o));

/** Processes anywhere on this machine with this word in their command line. */
async function processesWith(word: string): Promise<number> {
  let found = 0;
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''); // ended meanwhile
    if (line.includes(word)) found++;
  }
  return found;
}

const probed = await probeIsolation();
const contained = probed.isolation === 'namespaces' ? (process.getuid?.() === 0 ? (['root', 'user'] as const) : (['user'] as const)) : [];

describe.each([...contained])('a contained command, begun as %s', (as) => {
  const isolation: Isolation = { isolation: 'namespaces', as };

  it('[WSP-2] starts from the named state in a fresh folder, and what it changed comes back as a stored state', async () => {
    const outcome = await run(isolation, 'cat kept.txt; pwd; echo new > new.txt; mkdir ignored; echo x > ignored/x; exit 3');
    expect(textOf(outcome)).toBe('exit code 3\nkept\n/workspace\n');
    if (outcome.kind !== 'observed' || !outcome.files) throw new Error(JSON.stringify(outcome));
    expect(outcome).toMatchObject({ ok: false, receipt: { exitCode: 3, stoppedBy: null, isolation: 'namespaces' }, files: { previous: at.tree.commitment, paths: [{ path: 'new.txt', change: 'added' }] } });
    const restored = join(dir, `restored-${as}`);
    await workspaces.materialise(T, outcome.files.workspace, restored);
    expect(await readFile(join(restored, 'new.txt'), 'utf8')).toBe('new\n');
    const second = await run(isolation, 'ls');
    expect(textOf(second)).toBe('exit code 0\nkept.txt\n');
    expect((second as { files?: unknown }).files).toBeUndefined();
    expect((await readdir(join(dir, 'scratch'))).filter((f) => f.startsWith('command-'))).toEqual([]);
  }, SLOW);

  it('[EFF-4] has no egress: a listener on the loopback outside cannot be reached', async () => {
    const reach = `const s = require('net').connect(${port}, '127.0.0.1'); s.on('error', (e) => console.log(e.code)); s.on('connect', () => console.log('reached')); s.setTimeout(3000, () => { console.log('silent'); s.destroy(); });`;
    const before = connections;
    expect(textOf(await run(isolation, `node -e "${reach}"`))).toBe('exit code 0\nECONNREFUSED\n');
    expect(connections).toBe(before);
    expect(textOf(await run(NONE, `node -e "${reach}"`))).toContain('reached'); // without isolation the same command gets through
    expect(textOf(await run(isolation, 'cat /proc/net/dev | grep -c :'))).toBe('exit code 0\n1\n');
  }, SLOW);

  it('[EFF-4] can write to the workspace and a temporary folder, and nowhere else', async () => {
    const marker = join(dir, 'marker.txt');
    await writeFile(marker, 'untouched');
    await chmod(marker, 0o666);
    const script = `for f in /usr/x /etc/x /x /n17q/bin/node /proc/sys/kernel/core_pattern /dev/x /opt/x ${marker}; do (echo bad > $f) 2>/dev/null && echo "wrote $f"; done; echo ok > /tmp/x && echo ok > x && echo done; mount -t tmpfs t /tmp 2>/dev/null && echo mounted; mknod d c 1 3 2>/dev/null && echo device; true`;
    expect(textOf(await run(isolation, script))).toBe('exit code 0\ndone\n');
    expect(await readFile(marker, 'utf8')).toBe('untouched');
  }, SLOW);

  it('[SEC-4] sees none of this process\'s variables, none of its files, no other process and no right', async () => {
    process.env['N17Q_TEST_SECRET'] = 'hunter2';
    const text = textOf(await run(isolation, 'env; ls /proc | grep -c "^[0-9]"; ls / /home /root 2>&1; grep Cap /proc/self/status; cat /etc/shadow 2>&1; cat /proc/1/environ 2>&1'));
    delete process.env['N17Q_TEST_SECRET'];
    expect(text).not.toContain('hunter2');
    expect(text).not.toMatch(/Cap\w+:\t0*[1-9a-f]/);
    expect(text).toMatch(/cannot (access|open).*\/root|\/root.*No such/);
    expect(text).toMatch(/shadow: No such file/);
    expect(Number(/\n(\d+)\n/.exec(text)?.[1])).toBeLessThan(8);
  }, SLOW);

  it('[EFF-3] at the time limit everything it started is gone, also what left its group', async () => {
    const word = `n17q-${as}-${process.pid}-sleeper`;
    const begun = performance.now();
    const outcome = await run(isolation, `setsid sh -c 'exec -a x sh -c "sleep 300; : ${word}"' & (sh -c "sleep 300; : ${word}" &) ; echo started; trap "" TERM INT; sleep 300; : ${word}`, { timeoutMs: 1_500 });
    expect(performance.now() - begun).toBeLessThan(15_000);
    expect(outcome).toMatchObject({ kind: 'observed', ok: false, receipt: { stoppedBy: 'TIME_LIMIT', exitCode: null } });
    expect(textOf(outcome)).toMatch(/^stopped at the time limit after \d+ ms\nstarted\n/);
    await expect(processesWith(word)).resolves.toBe(0);
  }, SLOW);

  it('[EFF-3] when it ends, what it left in the background is gone too', async () => {
    const word = `n17q-${as}-${process.pid}-stray`;
    expect(textOf(await run(isolation, `setsid sh -c "sleep 300; : ${word}" & echo done`))).toBe('exit code 0\ndone\n');
    expect(await processesWith(word)).toBe(0);
  }, SLOW);

  it('[SEAL-7] a flood of output is bounded, head and tail are kept, and an endless one is stopped', async () => {
    const finite = textOf(await run(isolation, 'echo first; head -c 3000000 /dev/zero | tr "\\0" x; echo; echo last'));
    expect(Buffer.byteLength(finite)).toBeLessThanOrEqual(8_000);
    expect(finite).toMatch(/^exit code 0\nfirst\n/);
    expect(finite).toMatch(/bytes left out/);
    expect(finite).toMatch(/last\n$/);
    const endless = await run(isolation, 'yes');
    expect(endless).toMatchObject({ kind: 'observed', ok: false, receipt: { stoppedBy: 'OUTPUT_LIMIT' } });
    expect(Buffer.byteLength(textOf(endless))).toBeLessThanOrEqual(8_000);
  }, SLOW);

  it('[WSP-2] reads mounted dependencies and cannot change them', async () => {
    const deps = join(dir, `deps-${as}`);
    await mkdir(deps);
    await writeFile(join(deps, 'dep.js'), 'module.exports = 7;');
    await chmod(deps, 0o777);
    const outcome = await run(isolation, 'node -p "require(\'/workspace/node_modules/dep.js\')"; (echo x > node_modules/y) 2>/dev/null || echo read-only', {}, { mounts: [{ from: deps, at: '/workspace/node_modules' }] });
    expect(textOf(outcome)).toBe('exit code 0\n7\nread-only\n');
    expect(await readdir(deps)).toEqual(['dep.js']);
  }, SLOW);

  it('[EFF-2] nothing starts when the last check says no, and a sandbox that cannot be built is not-sent', async () => {
    expect(await run(isolation, 'echo x', { beforeFirstByte: () => false })).toEqual({ kind: 'not-sent', cause: 'STOPPED_BEFORE_FIRST_BYTE' });
    const broken = await run(isolation, 'echo x', {}, { mounts: [{ from: '/no/such/folder', at: '/workspace/x' }] });
    expect(broken).toMatchObject({ kind: 'not-sent', cause: expect.stringContaining('SANDBOX_FAILED') });
  }, SLOW);

  it('[EFF-3] ends on request', async () => {
    const stop = new AbortController();
    const pending = run(isolation, 'echo started; sleep 300', { signal: stop.signal, beforeFirstByte: () => { setTimeout(() => stop.abort(), 500); return true; } });
    expect(['observed', 'not-sent']).toContain((await pending).kind);
  }, SLOW);
});

describe('a command without isolation', () => {
  it('[EFF-4] may not be called contained, and people are told', () => {
    expect(contractUnder('contained', NONE)).toBe('neither');
    expect(contractUnder('contained', { isolation: 'namespaces', as: 'user' })).toBe('contained');
    expect(contractUnder('queryable', NONE)).toBe('queryable');
    expect(isolationNotice(NONE)).toContain('cannot be contained on this machine (asked for by the test)');
  });

  it('[EFF-4] is not started for a mapping that calls it contained: nothing would hold it, and it would be repeated', async () => {
    const marker = join(dir, 'started');
    const request: DispatchRequest = { effect: 'e', attempt: 'a', idempotencyKey: 'k', args: {}, target: 'sandbox', timeoutMs: 20_000, outputBytesMax: 8_000, beforeFirstByte: () => true, workspace: { tenant: T, at } };
    const tool = (kind: 'contained' | 'neither') => connectorFor({ connector: { kind: 'command', config: { command: ['touch', marker] } }, target: 'sandbox', contract: { kind }, schemaDigest: '0'.repeat(64) }, { workspaces, isolation: NONE, credentials: () => ({}) });
    expect(await tool('contained').dispatch(request)).toEqual({ kind: 'not-sent', cause: 'CONTAINED_NOT_POSSIBLE_HERE' });
    await expect(readFile(marker)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await tool('neither').dispatch(request)).toMatchObject({ kind: 'observed', ok: true });
    await readFile(marker);
  }, SLOW);

  it('[EFF-3] a flood without end is stopped and unknown, and its output is not kept', async () => {
    expect(await run(NONE, 'yes')).toEqual({ kind: 'unknown', cause: 'OUTPUT_LIMIT' });
  }, SLOW);

  it('[WSP-2] [WSP-3] what it wrote beside its folder is no part of the state, and the state that it left is rebuilt in a fresh folder with the same digest', async () => {
    const outcome = await run(NONE, `echo in > in.txt; echo out > ../beside.txt`);
    if (outcome.kind !== 'observed' || !outcome.files) throw new Error(JSON.stringify(outcome));
    expect(outcome.files.paths).toEqual([{ path: 'in.txt', change: 'added' }]);
    const fresh = join(dir, 'rebuilt');
    await workspaces.materialise(T, outcome.files.workspace, fresh);
    expect((await workspaces.snapshot(T, fresh, outcome.files.workspace)).workspace.tree.commitment).toBe(outcome.files.workspace.tree.commitment);
    await writeFile(join(fresh, 'in.txt'), 'by hand');
    expect(await workspaces.conflictIn(T, fresh, outcome.files.workspace)).toMatchObject({ paths: [{ path: 'in.txt', change: 'changed' }] });
  }, SLOW);

  it('[EFF-3] is unknown when a limit stopped it, observed when it ended, and never sees a secret', async () => {
    process.env['N17Q_TEST_SECRET'] = 'hunter2';
    expect(textOf(await run(NONE, 'env; cat kept.txt'))).not.toContain('hunter2');
    delete process.env['N17Q_TEST_SECRET'];
    expect(await run(NONE, 'sleep 300', { timeoutMs: 300 })).toEqual({ kind: 'unknown', cause: 'TIME_LIMIT' });
    expect(await run(NONE, 'exit 0')).toMatchObject({ kind: 'observed', ok: true });
  }, SLOW);

  it('[EFF-3] a program that does not exist never started', async () => {
    const end = await runContained({ command: ['/no/such/program'], workspace: dir, root: join(dir, 'r'), isolation: NONE, timeoutMs: 1_000, outputBytesMax: 100, beforeFirstByte: () => true });
    expect(end).toEqual({ kind: 'not-started', cause: 'ENOENT' });
  });
});

it('[EFF-4] the probe answers the same each time, and the namespaces that it found cover network, processes and mounts', async () => {
  expect(await probeIsolation()).toBe(probed);
  for (const n of ['--net', '--pid', '--mount']) expect(unshareArgs('user')).toContain(n);
});
