import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryArtifactStore } from '@n17q/artifacts';
import { codingTools, connectorFor, probeIsolation, Workspaces, type ConnectorOutcome, type ConnectorSurroundings } from '@n17q/tools';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json, ToolMapping, WorkspaceRef } from '@n17q/domain';
import { FIXTURE_BUG, makeFixtureRepo } from './fixture-repo.js';
import { startWorldEmulator, type WorldEmulator } from './world-emulator/index.js';

const T = 'tenant-a';
let dir = '';
let world: WorldEmulator;
let around: ConnectorSurroundings;
let tools: ToolMapping[];
let at: WorkspaceRef;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'n17q-fixture-'));
  world = await startWorldEmulator({ ledgerPath: join(dir, 'ledger.jsonl'), token: 'control' });
  const workspaces = new Workspaces(new MemoryArtifactStore(), join(dir, 'scratch'));
  const isolation = await probeIsolation();
  around = { workspaces, isolation, credentials: () => ({}) };
  tools = codingTools({ isolation, testCommand: ['node', '--test'], ticketsUrl: world.url });
  await makeFixtureRepo(join(dir, 'repo'));
  at = (await workspaces.fromRepo(T, join(dir, 'repo'), join(dir, 'clone'))).workspace;
}, 60_000);
afterAll(async () => {
  await world?.close();
  await rm(dir, { recursive: true, force: true });
});

const call = async (name: string, args: Json): Promise<ConnectorOutcome> => {
  const tool = tools.find((t) => t.name === name) as ToolMapping;
  const outcome = await connectorFor(tool, around).dispatch({
    effect: 'e', attempt: 'a', idempotencyKey: `key-${name}`, args, target: tool.target, timeoutMs: 60_000, outputBytesMax: tool.outputBytesMax, beforeFirstByte: () => true, workspace: { tenant: T, at },
  });
  if (outcome.kind === 'observed' && outcome.files) at = outcome.files.workspace;
  return outcome;
};

describe('the sample repository', () => {
  it('[WSP-1] has the same commit each time it is made', async () => {
    expect(await makeFixtureRepo(join(dir, 'again'))).toBe(at.base);
  });

  it('[WSP-2] a coding run on it: one test fails, one line mends it, the tests pass from the digest-named state, a ticket is filed once', async () => {
    expect(await call('list_files', {})).toMatchObject({ kind: 'observed', ok: true, text: expect.stringContaining('src/tax.js') });
    const red = await call('run_tests', {});
    expect(red).toMatchObject({ kind: 'observed', ok: false, text: expect.stringContaining('rounds tax to the nearest cent, half a cent up') });
    expect((red as { text: string }).text).toMatch(/fail 1\n/);
    const source = await call('read_file', { path: FIXTURE_BUG.path });
    expect(source).toMatchObject({ text: expect.stringContaining(FIXTURE_BUG.wrong) });
    await call('write_file', { path: FIXTURE_BUG.path, content: (source as { text: string }).text.replace(FIXTURE_BUG.wrong, FIXTURE_BUG.right) });
    const green = await call('run_tests', {});
    expect(green).toMatchObject({ kind: 'observed', ok: true, text: expect.stringMatching(/^exit code 0\n[^]*pass 7\n/) });
    expect(await call('file_ticket', { project: 'ledger', title: 'Tax was truncated', body: 'mended' })).toMatchObject({ kind: 'observed', ok: true });
    expect(world.ledger()).toMatchObject({ accepted: 1, acceptedPerKey: { 'key-file_ticket': 1 } });
    expect(await call('read_file', { path: FIXTURE_BUG.path })).toMatchObject({ text: expect.stringContaining(FIXTURE_BUG.right) });
    expect(await readFile(join(dir, 'repo', FIXTURE_BUG.path), 'utf8')).toContain(FIXTURE_BUG.wrong);
  }, 120_000);
});
