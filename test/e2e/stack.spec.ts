import { afterAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { codingTools, probeIsolation } from '@n17q/tools';
import { geminiAccount, makeFixtureRepo, startProviderEmulator, startStack, until, type Stack } from '@n17q/testing';

describe('the stack of the tests', () => {
  const ends: (() => Promise<unknown>)[] = [];
  afterAll(async () => { for (const end of ends.reverse()) await end(); }, 60_000);

  it('[RUN-4] [SVC-1] brings a run to its end although a service dies at a failpoint between decision and append', async () => {
    const provider = await startProviderEmulator({
      accounts: { studio: 'a-key-of-the-studio' }, strict: { account: true, model: true, prefix: true },
      scenario: { steps: [{ reply: { calls: [{ tool: 'list_files' }] } }, { reply: { calls: [{ tool: 'read_file', args: { path: 'README.md' } }] } }, { reply: { text: 'Read.' } }] },
    });
    ends.push(() => provider.close());
    const stack: Stack = await startStack({
      separate: true, services: ['event-store', 'checkpoint-sealer', 'policy-gate', 'context-compiler', 'provider-gateway', 'effect-reconciler'], failpoints: { 'policy-gate': 'reactor.after-decide:kill@2' },
      accounts: [{ ...geminiAccount('studio', provider.url, ['gemini-3-pro-preview']), key: 'a-key-of-the-studio' }],
      tools: codingTools({ isolation: await probeIsolation(), testCommand: ['true'], ticketsUrl: 'http://127.0.0.1:9' }),
    });
    ends.push(() => stack.close());
    const repo = join(stack.sandbox.dir, 'repo');
    await makeFixtureRepo(repo);
    const { workspace } = await stack.workspaces.fromRepo(stack.tenant, repo, join(stack.sandbox.dir, 'clone'));
    const run = await stack.createRun({ goal: 'Read the readme.', workspace });

    const gate = stack.service('policy-gate');
    const died = await until(async () => (await Promise.race([gate.handle.exited, undefined])), { withinMs: 60_000, what: 'the death of the gate', everyMs: 50 });
    expect(died.signal).toBe('SIGKILL');
    expect(gate.handle.stderr()).toContain('failpoint reactor.after-decide');
    const before = await stack.events(run);
    expect(before.some((e) => e.type === 'run.ended')).toBe(false);

    await gate.restart();
    const events = await stack.waitFor(run, (all) => all.some((e) => e.type === 'run.ended'), 'the end of the run', 90_000);
    expect(events.filter((e) => e.type === 'effect.attempt-started')).toHaveLength(2);
    expect(events.slice(0, before.length).map((e) => e.digest)).toEqual(before.map((e) => e.digest));
    expect(provider.ledger()).toMatchObject({ executed: 3, refused: 0 });
  }, 240_000);
});
