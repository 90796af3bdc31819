/**
 * ./n17q on machines of several kinds. Each is a small clone with the real script and a PATH on which node, npm and tsc are stand-ins
 * that write down how they were called; what the script asks of the machine itself (sh, flock, find, cksum) is real.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
// The ordinary programs of the machine, without its node, npm and nats-server.
const base = mkdtempSync(join(tmpdir(), 'n17q-programs-'));
const programs = { all: join(base, 'all'), withoutFlock: join(base, 'without-flock') };
beforeAll(() => {
  for (const [folder, leftOut] of [[programs.all, []], [programs.withoutFlock, ['flock']]] as const) {
    const out = new Set<string>(['node', 'npm', 'npx', 'nats-server', 'sudo', ...leftOut]);
    mkdirSync(folder);
    for (const from of ['/usr/bin', '/bin']) for (const name of readdirSync(from)) if (!out.has(name) && !existsSync(join(folder, name))) symlinkSync(join(from, name), join(folder, name));
  }
});
afterAll(() => { rmSync(base, { recursive: true, force: true }); });

const made: string[] = [];
afterEach(() => { for (const m of made.splice(0)) rmSync(m, { recursive: true, force: true }); });

interface Machine { readonly clone: string; readonly path: string; calls(): string[] }
interface Kind { readonly node?: string; readonly npm?: string; readonly withoutFlock?: boolean }

function machine({ node = 'v24.22.3', npm = 'mkdir -p node_modules/typescript-native', withoutFlock = false }: Kind = {}): Machine {
  const base = mkdtempSync(join(tmpdir(), 'n17q-bootstrap-'));
  made.push(base);
  const clone = join(base, 'clone');
  const path = join(base, 'bin');
  const calls = join(base, 'calls');
  const file = (name: string, text: string): void => { mkdirSync(dirname(name), { recursive: true }); writeFileSync(name, text); chmodSync(name, 0o755); };
  mkdirSync(clone);
  copyFileSync(join(root, 'n17q'), join(clone, 'n17q'));
  file(join(clone, 'scripts/fetch-nats.sh'), 'echo "no apt-get here" >&2; exit 3\n');
  file(join(clone, 'package-lock.json'), '{}');
  file(join(clone, 'tsconfig.json'), '{}');
  file(join(clone, 'tsconfig.base.json'), '{}');
  file(join(clone, 'apps/cli/tsconfig.json'), '{}');
  file(join(clone, 'libs/domain/tsconfig.json'), '{}');
  file(join(clone, 'apps/cli/src/main.ts'), '');
  file(join(path, 'node'), `#!/bin/sh
case $1 in --version) echo ${node}; exit ;; esac
echo "node $*" >> ${calls}
case $* in *tsc*) mkdir -p ${clone}/apps/cli/dist ${clone}/libs/domain/dist; : > ${clone}/apps/cli/dist/main.js ;; esac
case $1 in *main.js) pwd; cat ;; esac
`);
  file(join(path, 'npm'), `#!/bin/sh\necho "npm $*" >> ${calls}\n${npm}\n`);
  return { clone, path: `${path}:${withoutFlock ? programs.withoutFlock : programs.all}`, calls: () => (existsSync(calls) ? readFileSync(calls, 'utf8').split('\n').filter((l) => l !== '') : []) };
}

interface Ended { readonly code: number | null; readonly out: string; readonly err: string }
function start(m: Machine, args: readonly string[], env: Readonly<Record<string, string>> = {}, input = ''): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(m.clone, 'n17q'), args, { cwd: tmpdir(), env: { PATH: m.path, HOME: m.clone, N17Q_SBIN: '', ...env } });
    let [out, err] = ['', ''];
    child.stdout.on('data', (d: Buffer) => { out += d.toString(); });
    child.stderr.on('data', (d: Buffer) => { err += d.toString(); });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
    // A start that stops early may be gone before it could be written to.
    child.stdin.on('error', (e: NodeJS.ErrnoException) => { if (e.code !== 'EPIPE') reject(e); });
    child.stdin.end(input);
  });
}
const lastLine = (e: Ended): string => e.err.trimEnd().split('\n').at(-1) ?? '';
const count = (m: Machine, what: string): number => m.calls().filter((c) => c.startsWith(what)).length;

describe('n17q', () => {
  it('installs and builds once, then starts the command in the folder and with the input of its caller, without a word', async () => {
    const m = machine();
    const first = await start(m, ['status', 'two words'], {}, 'typed');
    expect(first).toMatchObject({ code: 0, out: `${tmpdir()}\ntyped` });
    expect(first.err).toContain('installing the packages');
    expect(m.calls().at(-1)).toBe(`node ${m.clone}/apps/cli/dist/main.js status two words`);
    const second = await start(m, ['status']);
    expect(second).toMatchObject({ code: 0, err: '' });
    expect([count(m, 'npm ci'), m.calls().filter((c) => c.includes('tsc')).length]).toEqual([1, 1]);
  });

  it('installs again when the lock file changed, builds again when a source changed or a build was removed', async () => {
    const m = machine();
    await start(m, ['status']);
    writeFileSync(join(m.clone, 'package-lock.json'), '{ }');
    await start(m, ['status']);
    expect(count(m, 'npm ci')).toBe(2);
    const builds = (): number => m.calls().filter((c) => c.includes('tsc')).length;
    const before = builds();
    writeFileSync(join(m.clone, 'apps/cli/src/main.ts'), 'export {};');
    await start(m, ['status']);
    expect(builds()).toBe(before + 1);
    rmSync(join(m.clone, 'apps/cli/dist'), { recursive: true });
    await start(m, ['status']);
    expect(builds()).toBe(before + 2);
  });

  it.each([false, true])('sets up once when two start at the same moment (without flock: %s)', async (withoutFlock) => {
    const m = machine({ withoutFlock, npm: 'i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; mkdir -p node_modules' });
    const both = await Promise.all([start(m, ['status']), start(m, ['status'])]);
    expect(both.map((e) => e.code)).toEqual([0, 0]);
    expect(count(m, 'npm ci')).toBe(1);
    expect(both.map((e) => e.err).join('')).toContain('another n17q is setting up this clone');
  });

  it('takes over the lock of a process that is gone', async () => {
    const m = machine({ withoutFlock: true });
    mkdirSync(join(m.clone, '.toolchain/lock.d'), { recursive: true });
    writeFileSync(join(m.clone, '.toolchain/lock.d/pid'), '999999999');
    expect((await start(m, ['status'])).code).toBe(0);
    expect(existsSync(join(m.clone, '.toolchain/lock.d'))).toBe(false);
  });

  it('asks npm for the pinned Node.js where the installed one is too old, and says when that one does not start', async () => {
    const m = machine({ node: 'v20.20.2', npm: ':' });
    const e = await start(m, ['status']);
    expect(e.code).toBe(1);
    expect(m.calls()[0]).toMatch(/^npm install --prefix \S+ .*node-\S+@\d+\.\d+\.\d+ npm@11/);
    expect(lastLine(e)).toMatch(/the pinned Node.js does not start on this machine; install Node.js 24/);
  });

  it.each([
    ['ENOSPC', 'echo "npm error code ENOSPC" >&2; exit 1', /no disk space is left in .*; free about/],
    ['EACCES', 'echo "npm error EACCES: permission denied, mkdir /x" >&2; exit 1', /npm may not write where it has to .*; make that folder yours/],
    ['no network', 'echo "npm error code ENOTFOUND" >&2; exit 1', /registry cannot be reached for the packages; check the network/],
    ['a foreign certificate', 'echo "npm error code SELF_SIGNED_CERT_IN_CHAIN" >&2; exit 1', /certificate is not trusted here; name the authority/],
    ['anything else', 'echo "npm error code EODD" >&2; exit 1', /npm failed at the packages \(npm error code EODD\); read .*setup\.log/],
  ])('says in one sentence what to do about %s', async (_what, npm, sentence) => {
    const e = await start(machine({ npm }), ['status']);
    expect(e.code).toBe(1);
    expect(lastLine(e)).toMatch(sentence);
    expect(e.err.trimEnd().split('\n')).toHaveLength(2); // one line of progress, one sentence
  });

  it('says how much disk space is missing before it begins to fetch', async () => {
    const m = machine();
    const df = join(m.path.split(':')[0] ?? '', 'df');
    writeFileSync(df, '#!/bin/sh\nprintf "Filesystem 1024-blocks Used Available Capacity Mounted\\nx 1 1 51200 99%% /\\n"\n');
    chmodSync(df, 0o755);
    const e = await start(m, ['status']);
    expect(e).toMatchObject({ code: 1 });
    expect(lastLine(e)).toMatch(/only 50 MB of disk space are free in .*; free about 1500 MB there/);
    expect(count(m, 'npm')).toBe(0);
  });

  it('tries the packages again after a failure', async () => {
    const m = machine({ npm: '[ -e "$HOME/second" ] || { : > "$HOME/second"; exit 1; }; mkdir -p node_modules' });
    expect((await start(m, ['status'])).code).toBe(1);
    expect((await start(m, ['status'])).code).toBe(0);
  });

  it('names three ways to a nats-server for a command that starts one, and does without for one that does not', async () => {
    const m = machine();
    const e = await start(m, ['up']);
    expect(e.code).toBe(1);
    expect(lastLine(e)).toMatch(/installing the package nats-server, by N17Q_NATS_SERVER=.*N17Q_NATS_URL together with N17Q_DATABASE_URL/);
    expect((await start(m, ['status'])).code).toBe(0);
    const given = { N17Q_NATS_URL: 'nats://127.0.0.1:1', N17Q_DATABASE_URL: 'postgres://127.0.0.1:1/x' };
    expect((await start(m, ['up'], given)).code).toBe(0);
    expect(lastLine(await start(m, ['test'], given))).toContain('no nats-server of 2.10 or newer');
  });

  it('refuses a given nats-server that is too old, by name, and takes one that fits', async () => {
    const m = machine();
    const server = join(m.clone, 'given');
    const give = (version: string): void => { writeFileSync(server, `#!/bin/sh\necho nats-server: v${version}\n`); chmodSync(server, 0o755); };
    give('2.9.10');
    const old = await start(m, ['up'], { N17Q_NATS_SERVER: server });
    expect(old.code).toBe(1);
    expect(lastLine(old)).toContain(`N17Q_NATS_SERVER=${server} is not a nats-server of 2.10 or newer`);
    give('2.10.27');
    expect((await start(m, ['up'], { N17Q_NATS_SERVER: server })).code).toBe(0);
  });

  it('says what to do with a clone that is not whole', async () => {
    const m = machine();
    rmSync(join(m.clone, 'package-lock.json'));
    expect(lastLine(await start(m, []))).toMatch(/is not a whole clone .*; clone the repository again/);
  });
});
