import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from 'nats';
import { digestOf } from '@n17q/contracts';
import { isAlive } from '@n17q/platform';
import { openSandbox, until } from '@n17q/testing';
import { commandLine, type CommandLine } from './n17q.js';

const SERVICES = ['event-store', 'checkpoint-sealer', 'policy-gate', 'context-compiler', 'provider-gateway', 'effect-reconciler', 'api'];
interface Status { readonly stack: string; readonly mode: string | null; readonly parts: readonly { readonly name: string; readonly state: string; readonly pid: number; readonly restarts: number; readonly address?: string }[]; readonly problems: readonly string[] }
const partsOf = (s: Status): Record<string, Status['parts'][number]> => Object.fromEntries(s.parts.map((p) => [p.name, p]));

jest.setTimeout(30_000);

let n17q: CommandLine;
beforeAll(() => { n17q = commandLine(); });
afterAll(async () => { await n17q.remove(); }, 60_000);

describe('words that it does not know', () => {
  it('prints help without a command, and ends well', async () => {
    const { code, out } = await n17q.run([]);
    expect(code).toBe(0);
    for (const command of ['up', 'down', 'status', 'migrate', 'runs', 'show', 'finding', 'resume', 'continue', 'pause', 'end', 'input', 'note', 'plan', 'approve', 'reject', 'revoke', 'diff', 'output', 'provider', 'policy', 'demo']) expect(out).toMatch(new RegExp(`^ {2}${command}\\b`, 'mu'));
  });

  it.each([
    [['stats'], /^n17q: unknown command 'stats' .*status.*; \.\/n17q --help lists the commands\.\n$/u],
    [['up', '--seperate'], /^n17q: unknown option '--seperate' .*; \.\/n17q up --help says more\.\n$/u],
    [['provider', 'ad'], /^n17q: unknown command 'ad' .*; \.\/n17q provider --help lists the commands\.\n$/u],
    [['show'], /^n17q: missing required argument 'run'; as in \.\/n17q show RUN; \.\/n17q show --help says more\.\n$/u],
    [['finding'], /^n17q: missing required argument 'run'; as in \.\/n17q finding RUN EFFECT; .*\n$/u],
    [['finding', 'R', 'E', '--happened'], /^n17q: Give --evidence FILE, .*\n$/u],
    [['--json', 'up', '--seperate'], /^\{"error":"unknown option '--seperate' .*","exitCode":2\}\n$/u],
    [['run', ' ', '--json'], /^\{"error":"The goal is empty: .*","exitCode":2\}\n$/u],
    [['finding', 'R', 'E', '--evidence', '/dev/null'], /^n17q: Give exactly one of --happened and --did-not\.\n$/u],
    [['demo', '--repo', '/nowhere/at/all', '--test-cmd', 'true'], /^n17q: There is no folder \/nowhere\/at\/all: .*\n$/u],
    [['demo', '--repo', '/'], /^n17q: Give --test-cmd CMD beside --repo.*\n$/u],
  ])('answers %j with one sentence and exit code 2', async (args, sentence) => {
    const { code, err } = await n17q.run(args);
    expect(err).toMatch(sentence);
    expect(code).toBe(2);
  });

  it.each([
    [{ N17Q_API_PORT: 'eighty' }, /N17Q_API_PORT must be a port/u],
    [{ N17Q_NATS_URL: 'nats://127.0.0.1:4222' }, /Set N17Q_DATABASE_URL too/u],
    [{ N17Q_NATS_URL: 'http://x', N17Q_DATABASE_URL: 'postgres://x' }, /N17Q_NATS_URL must be a URL that begins with nats:/u],
    [{ N17Q_PROVIDERS_FILE: '/nowhere.json' }, /N17Q_PROVIDERS_FILE \/nowhere\.json does not exist/u],
  ])('says which setting is wrong: %j', async (env, sentence) => {
    const { code, err } = await n17q.run(['up'], env);
    expect(err.trim().split('\n')).toEqual([expect.stringMatching(sentence)]);
    expect(code).toBe(2);
  });

  it('puts its secrets among nobody\'s sources', async () => {
    const repo = mkdtempSync(join(n17q.data, 'repo-'));
    mkdirSync(join(repo, '.git'));
    for (const command of [['up'], ['demo'], ['provider', 'add', 'a', '--model', 'gemini-2.5-pro']]) {
      expect(await n17q.run(command, { N17Q_DATA_DIR: repo })).toMatchObject({ code: 2, err: expect.stringMatching(/^n17q: \S+ is a git repository, .*N17Q_DATA_DIR\.\n$/u) });
    }
    expect(readdirSync(repo)).toEqual(['.git']);
    rmSync(repo, { recursive: true });
  });

  it('says in one sentence that git is needed', async () => {
    const without = mkdtempSync(join(tmpdir(), 'n17q-nothing-'));
    for (const command of ['up', 'demo']) expect(await n17q.run([command], { PATH: without })).toMatchObject({ code: 1, err: 'n17q: git is needed and is not found here: install git and run the command again.\n' });
    rmSync(without, { recursive: true });
  });

  it('says what to do when nothing runs', async () => {
    expect(await n17q.run(['runs'])).toMatchObject({ code: 1, err: 'n17q: The stack is not running: ./n17q up starts it.\n' });
    expect(await n17q.run(['down'])).toMatchObject({ code: 0, out: 'Nothing was running.\n' });
    expect(await n17q.run(['status'])).toMatchObject({ code: 3, out: 'The stack is stopped. ./n17q up starts it.\n' });
  });

  it.each(['up', 'demo'])('says at once that %s cannot have its data folder, below a file or where none can be made', async (command) => {
    for (const [data, sentence] of [['/dev/null/data', /^n17q: \/dev\/null is not a folder: choose another one with N17Q_DATA_DIR\.\n$/u], ['/proc/nope', /^n17q: The folder \/proc\S* cannot be made \(E[A-Z]+\): choose .* N17Q_DATA_DIR\.\n$/u]] as const) {
      const { code, err } = await n17q.run([command], { N17Q_DATA_DIR: data });
      expect(err).toMatch(sentence);
      expect(code).toBe(2);
    }
  });
});

describe('things that are in the way', () => {
  let taken: Server;
  let port: number;
  beforeAll(async () => {
    taken = createServer();
    await new Promise<void>((resolve) => { taken.listen(0, '127.0.0.1', resolve); });
    port = (taken.address() as AddressInfo).port;
  });
  afterAll(async () => { await new Promise((resolve) => { taken.close(resolve); }); });

  it.each(['N17Q_API_PORT', 'N17Q_NATS_PORT', 'N17Q_POSTGRES_PORT'])('names the taken port of %s, and leaves nothing running', async (setting) => {
    const { code, err } = await n17q.run(['up'], { [setting]: String(port) });
    expect(err).toMatch(new RegExp(`^n17q: .* cannot listen on port ${port} because another program uses it: end that program or choose another port with ${setting}\\.\\n$`, 'u'));
    expect(code).toBe(1);
    const after = await n17q.json<Status>(['status']);
    expect(after).toMatchObject({ stack: 'stopped', parts: [] });
    expect(after.problems.join()).toContain('The last start failed');
  }, 60_000);

  it('names a nats-server that does not start here', async () => {
    const { code, err } = await n17q.run(['up'], { N17Q_NATS_SERVER: '/bin/false' });
    expect(err).toMatch(/^n17q: \/bin\/false is not a nats-server that starts here: .*\n$/u);
    expect(code).toBe(1);
  }, 60_000);
});

/** A run of a stack that has no model account: everything that a person can do with it from the command line. */
async function withoutModel(n17q: CommandLine): Promise<void> {
  const said = async (...args: readonly string[]): Promise<string> => { const r = await n17q.run(args); return `${r.code} ${r.out}${r.err}`.trimEnd(); };
  expect(await said('run', ' ')).toBe('2 n17q: The goal is empty: say in words what you want.');
  const made = await said('run', 'Look around');
  const run = /Run (\S+) is in the log/u.exec(made)?.[1] ?? '';
  expect(made).toMatch(/^0 Run \S+ is in the log\. .*\nNo model account is configured, so the run waits for one\. \.\/n17q provider add ACCOUNT/u);
  const short = run.slice(0, 8);
  await until(async () => (await said('show', short)).includes('it stands still: no model account that this run may use is configured (NO_ROUTE)'), { withinMs: 20_000, what: 'the block', everyMs: 200 });
  expect(await said('runs')).toMatch(new RegExp(`${run} +active +a model account`, 'u'));
  expect(await said('show', run.slice(0, 3))).toMatch(/^1 n17q: There is no run \S+ \(a short name has at least 4 characters\)/u);
  expect(await said('continue', short)).toMatch(/^0 No model has answered in this run yet, so there is no provider response to continue/u);
  expect(await said('note', short, 'mind the step')).toMatch(/^0 The note is there/u);
  expect(await said('plan', short, 'look', 'tell')).toMatch(/^0 The plan is replaced/u);
  expect(await said('show', short)).toMatch(/plan:\n {2}1\. look\n {2}2\. tell/u);
  expect(await said('output', short)).toMatch(/a person noted\n {2}\| mind the step/u);
  expect(await said('diff', short)).toBe('1 n17q: This run has no workspace. (NOT_FOUND)');
  expect(await said('provider', 'add', 'mine', '--model', 'none')).toMatch(/^2 n17q: The account mine: the model "none" is not known; known are /u);
  expect(await said('provider', 'add', 'mine', '--model', 'gemini-2.5-pro', '--endpoint', 'http://127.0.0.1:9')).toMatch(/^0 The account mine stands in \S+ and is in use now\.\nPut its key, one line, into \S+\/mine; a run that stood still for want of it then goes on with \.\/n17q resume RUN\./u);
  expect(await said('provider', 'list')).toMatch(/mine +gemini-2\.5-pro +MISSING +yes/u);
  await until(async () => (await said('show', short)).includes('CREDENTIAL_ABSENT'), { withinMs: 20_000, what: 'the want of a key', everyMs: 200 });
  expect(await said('show', short)).toMatch(/to do: Put the key of the account mine, one line, into \S+\/mine, then \.\/n17q resume /u);
  expect(await said('provider', 'remove', 'mine')).toMatch(/^0 The account mine is removed from /u);
  expect(await said('end', short)).toMatch(/^0 The run is asked to end/u);
  await until(async () => (await said('show', short)).includes('nobody: the run has ended'), { withinMs: 20_000, what: 'the end', everyMs: 200 });
  expect(await said('show', short)).not.toContain('it stands still');
  expect(await said('input', short, 'hello')).toMatch(/^1 n17q: The run has ended and takes no input any more\. .* \(ILLEGAL\)$/u);
}

describe('one process', () => {
  it('[SVC-1] starts every service in one process with a bus user each, again changes nothing, and stops all of it', async () => {
    const both = await Promise.all([0, 1].map(() => n17q.run(['up', '--json'], { N17Q_TEST_CMD: 'npm test' }))); // two at once: one starts it, the other says so and waits
    expect(both.map((b) => b.code)).toEqual([0, 0]);
    const answers = both.map((b) => JSON.parse(b.out) as { fresh: boolean; apiUrl: string; tokensFile: string });
    const [first] = answers as [(typeof answers)[number]];
    expect(answers.filter((a) => a.fresh)).toHaveLength(1);
    expect(both.filter((b) => b.err.includes('another n17q is starting this stack already; waiting for it'))).toHaveLength(1);
    expect((await n17q.json<{ fresh: boolean }>(['up'])).fresh).toBe(false);
    expect(await n17q.run(['up'], { N17Q_TEST_CMD: 'make check' })).toMatchObject({ code: 1, err: expect.stringMatching(/^n17q: The stack was running already and does not go by N17Q_TEST_CMD \(it has "npm test"\): run \.\/n17q down/u) });

    const status = await n17q.json<Status>(['status']);
    expect(status).toMatchObject({ stack: 'running', mode: 'one-process', problems: [] });
    const parts = partsOf(status);
    expect(Object.keys(parts).toSorted()).toEqual([...SERVICES, 'NATS', 'Postgres'].toSorted());
    expect(new Set(SERVICES.map((s) => parts[s]?.pid)).size).toBe(1);

    // with the passwords of the folder, which only its owner reads
    const secretsFile = join(n17q.data, 'secrets.json');
    expect(statSync(secretsFile).mode & 0o777).toBe(0o600);
    expect(statSync(first.tokensFile).mode & 0o777).toBe(0o600);
    const { bus } = JSON.parse(readFileSync(secretsFile, 'utf8')) as { bus: Record<string, string> };
    const nc = await connect({ servers: parts['NATS']?.address as string, user: 'policy-gate', pass: bus['policy-gate'] as string, inboxPrefix: '_INBOX_policy-gate' });
    await nc.close();
    await expect(connect({ servers: parts['NATS']?.address as string, user: 'policy-gate', pass: 'not-its-password-at-all', maxReconnectAttempts: 0 })).rejects.toThrow();

    expect((await n17q.run(['show', 'nope'])).err).toBe('n17q: There is no run nope: ./n17q runs lists them.\n');
    await withoutModel(n17q);
    expect(await n17q.run(['doctor'])).toMatchObject({ code: 0, out: expect.stringMatching(/^local: \d+ events in \d+ streams, .*\nNothing is wrong\.\n$/u) });
    const down = await n17q.run(['down']);
    expect(down.code).toBe(0);
    expect(down.out).toMatch(/event-store stopped\nNATS stopped\nPostgres stopped\nThe stack is stopped; its data stays\.\n$/u);
    for (const p of status.parts) expect([p.name, isAlive(p.pid)]).toEqual([p.name, false]);
  }, 120_000);
});

describe('separate processes', () => {
  it('[SVC-1] [RUN-4] gives each service a process, starts a killed one again, and says so', async () => {
    expect(await n17q.json(['up', '--separate'])).toMatchObject({ testCommand: 'npm test' }); // of the start before
    // one process compiled for all of them: seven that fill the cache at their end would take long to stop
    expect(existsSync(join(fileURLToPath(new URL('../../.data/cache/node/', import.meta.url)), 'warm.json'))).toBe(true);
    expect((await n17q.run(['up'])).err).toMatch(/A stack is running already, each service as its own process: run \.\/n17q down first/u);
    const before = partsOf(await n17q.json<Status>(['status']));
    expect(new Set(SERVICES.map((s) => before[s]?.pid)).size).toBe(SERVICES.length);
    process.kill(before['policy-gate']?.pid as number, 'SIGKILL');
    const after = await until(async () => {
      const gate = partsOf(await n17q.json<Status>(['status']))['policy-gate'];
      return gate?.state === 'ready' && gate.restarts === 1 ? gate : undefined;
    }, { withinMs: 60_000, what: 'a new policy gate', everyMs: 200 });
    expect(after.pid).not.toBe(before['policy-gate']?.pid);
    expect((await n17q.json<Status>(['status'])).problems).toEqual(['policy-gate was started again once, since it ended with SIGKILL.']);

    const schema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };
    writeFileSync(join(n17q.data, 'mine.json'), JSON.stringify({ tools: [{ name: 'my_search', description: 'Searches.', server: 'mine', schema, schemaDigest: digestOf(schema), mappingRevision: 1, contract: { kind: 'read-only' }, scopeFields: [], target: 'mine', connector: { kind: 'http', config: { baseUrl: 'http://127.0.0.1:9', method: 'GET', path: '/search' } }, timeoutMs: 1000, argumentBytesMax: 1000, outputBytesMax: 1000, dataClass: 'public', costUsdMicros: 0 }] }));
    await n17q.json(['tool', 'publish', join(n17q.data, 'mine.json')]);
  }, 180_000);

  it('[TOOL-1] notices after kill -9 of its supervisor that the stack ended, and starts again on the same data, with the tools that a person registered', async () => {
    const state = JSON.parse(readFileSync(join(n17q.data, 'stack.json'), 'utf8')) as { supervisor: { pid: number } };
    process.kill(state.supervisor.pid, 'SIGKILL');
    await until(async () => (await n17q.json<Status>(['status'])).stack === 'stopped', { withinMs: 20_000, what: 'the end of the supervisor', everyMs: 200 });
    expect((await n17q.json<Status>(['status'])).problems[0]).toMatch(/The stack ended without being stopped/u);
    expect((await n17q.json<{ fresh: boolean }>(['up'], { N17Q_TEST_CMD: 'make check' })).fresh).toBe(true); // publishes its own tools anew
    expect(await n17q.json<Status>(['status'])).toMatchObject({ stack: 'running', problems: [] });
    expect((await n17q.run(['policy', 'show', '--schema'])).out).toMatch(/"call:my_search"[\s\S]*"call:run_tests"|"call:run_tests"[\s\S]*"call:my_search"/u);
    expect((await n17q.run(['down'])).code).toBe(0);
  }, 180_000);

  it('never replaces secrets that it cannot read', async () => {
    const file = join(n17q.data, 'secrets.json');
    const whole = readFileSync(file, 'utf8');
    writeFileSync(file, whole.slice(0, 100));
    const { code, err } = await n17q.run(['up']);
    expect([code, err]).toEqual([1, `n17q: ${file} is damaged: restore it from a copy, or move its folder away to begin anew.\n`]);
    expect(readFileSync(file, 'utf8')).toBe(whole.slice(0, 100));
    writeFileSync(file, whole);
  });
});

describe('servers of the caller', () => {
  it.each([
    ['asks for nothing', '', ''],
    ['has one user for all', 'authorization { user: shared, password: "a-shared-password" }', 'shared:a-shared-password@'],
  ])('uses both when both are named, and a bus that %s', async (_what, configText, userinfo) => {
    const sandbox = await openSandbox({ postgres: true, nats: { configText } });
    const mine = commandLine({ N17Q_NATS_URL: sandbox.nats.url.replace('//', `//${userinfo}`), N17Q_DATABASE_URL: await sandbox.database() });
    try {
      const { apiUrl } = await mine.json<{ apiUrl: string }>(['up']);
      const status = await mine.json<Status>(['status']);
      expect(status.problems).toEqual([]);
      expect(status.parts.map((p) => p.name).toSorted()).toEqual(SERVICES.toSorted());
      expect((await fetch(`${apiUrl}/v1/health/ready`)).status).toBe(200);
      expect((await mine.json<{ applied: string[] }>(['migrate'])).applied).toEqual([]);
      expect((await mine.run(['down'])).code).toBe(0);
      expect(isAlive(sandbox.nats.pid) && isAlive(sandbox.postgres.pid)).toBe(true);
    } finally {
      await mine.remove();
      await sandbox.close();
    }
  }, 120_000);
});
