/** A candidate policy tried on what the gate decided in real runs: it tells exactly the decisions that would have been others, and changes nothing. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { N17qClient } from '@n17q/client';
import { until } from '@n17q/testing';
import { ALLOW_ALL, askFor, forbidTools } from '@n17q/rules';
import { openScene, ofType, SCENE_POLICY, SERVICES, type Scene } from '../faults/kit/scene.js';
import { ticket } from '../faults/kit/tools.js';

describe('a policy tried on recorded decisions', () => {
  let scene: Scene;
  let client: N17qClient;
  let works: { readonly run: string };
  let waits: { readonly run: string };
  const candidate = (rules: string) => ({ ...SCENE_POLICY, rules });
  const ASKS = askFor(['ticket_keyed'], 'somebody looks at these', 'asks');
  const IN_FORCE = ALLOW_ALL + ASKS;

  beforeAll(async () => {
    scene = await openScene({
      scripts: { works: [{ calls: [{ tool: 'read_file', args: { path: 'README.md' } }, ticket('neither')] }, { text: 'done' }], waits: [{ calls: [ticket('keyed')] }, { text: 'done' }] },
      stack: { services: [...SERVICES, 'api'], policy: { ...SCENE_POLICY, rules: IN_FORCE } },
    });
    client = new N17qClient({ baseUrl: scene.stack.api.url, token: scene.stack.api.token });
    works = await scene.start('works');
    await scene.ended(works.run);
    waits = await scene.start('waits');
    await scene.stack.waitFor(waits.run, (l) => ofType(l, 'approval.requested').length > 0 && l.at(-1)?.type === 'checkpoint.sealed', 'a person to be asked', 30_000);
    await until(async () => (await client.listRuns()).runs.length === 2 || undefined, { withinMs: 20_000, what: 'both runs to be listed' });
  }, 240_000);
  afterAll(() => scene?.close(), 60_000);

  it('[POL-3] says nothing of the policy that was in force, or of one that only reads otherwise', async () => {
    const before = await client.document('policy');
    const t = await client.tryPolicy(candidate(`// the same\n${ASKS.replaceAll('(', '(\n')}${ALLOW_ALL}`));
    expect(t).toMatchObject({ revision: before.revision, runs: 2, skipped: 0, complete: true, changes: [] });
    expect(t.decisions).toBeGreaterThanOrEqual(6); // two generations, two calls, a generation, a question
    expect(await client.document('policy')).toEqual(before);
  }, 60_000);

  it('[POL-1] [POL-2] [POL-3] names the calls that a further rule would have stopped or asked about, what was decided, and by which rule', async () => {
    const denied = await client.tryPolicy(candidate(IN_FORCE + forbidTools(['ticket_neither'], 'no more tickets', 'no-tickets')));
    expect(denied.changes).toEqual([expect.objectContaining({
      run: works.run, tool: 'ticket_neither', generation: null,
      was: { decision: 'allowed', code: null, by: ['allow'], reason: '' }, would: { decision: 'denied', code: 'POLICY_FORBIDS', by: ['no-tickets'], reason: expect.stringContaining('no more tickets') },
    })]);
    const asked = await client.tryPolicy(candidate(IN_FORCE + askFor(['read_file'], 'look at reads', 'reads')));
    expect(asked.changes.map((c) => [c.tool, c.was.decision, c.would.decision, c.would.by])).toEqual([['read_file', 'allowed', 'asked', ['reads']]]);
  }, 60_000);

  it('[POL-1] [POL-4] names what a wider candidate would have let through, and that without a permitting rule nothing would have been', async () => {
    const wider = await client.tryPolicy(candidate(ALLOW_ALL));
    expect(wider.changes.map((c) => [c.run, c.tool, c.was.decision, c.was.by, c.would.decision, c.would.by])).toEqual([[waits.run, 'ticket_keyed', 'asked', ['asks'], 'allowed', ['allow']]]);
    const none = await client.tryPolicy(candidate(''));
    expect(new Set(none.changes.map((c) => `${c.would.decision} ${c.would.code}`))).toEqual(new Set(['denied POLICY_FORBIDS']));
    expect(none.changes).toHaveLength(none.decisions);
    expect(none.changes.filter((c) => c.generation !== null).length).toBeGreaterThanOrEqual(3);
    const log = await scene.stack.events(waits.run);
    expect([ofType(log, 'effect.permitted').length, ofType(log, 'effect.denied').length]).toEqual([0, 0]); // trying permitted and refused nothing
  }, 60_000);

  it('[POL-1] [POL-3] does so on the command line, publishes, and brings the old policy back', async () => {
    const file = join(scene.stack.sandbox.dir, 'rules.cedar');
    const n17q = async (...args: readonly string[]): Promise<string> => {
      const env = { ...process.env, N17Q_API_URL: scene.stack.api.url, N17Q_API_TOKEN: scene.stack.api.token };
      return promisify(execFile)(process.execPath, [join(import.meta.dirname, '../../apps/cli/dist/main.js'), ...args], { env }).then((r) => r.stdout, (e: { readonly stderr: string }) => `FAILED ${e.stderr}`);
    };
    const before = await client.document('policy');
    writeFileSync(file, IN_FORCE + forbidTools(['ticket_neither'], 'no more tickets', 'no-tickets'));
    expect(await n17q('policy', 'diff', file)).toBe(`Against revision ${before.revision}:\nrule no-tickets  added\n`);
    expect(await n17q('policy', 'try', file)).toMatch(/^1 would have been decided otherwise; .*\n\n.*\n.*ticket_neither {2}allowed by allow {2}denied \(POLICY_FORBIDS\) by no-tickets/);
    expect(await n17q('policy', 'show', '--schema')).toContain('action "call:ticket_neither"');
    expect(await n17q('policy', 'publish', file)).toMatch(/^The policy has revision/);
    expect(await n17q('policy', 'show')).toContain('no more tickets');
    expect(await n17q('policy', 'publish', '--revision', String(before.revision))).toMatch(/^The policy has revision/);
    expect(await client.document('policy')).toEqual({ ...before, revision: before.revision + 2 });
    writeFileSync(file, 'permit (');
    expect(await n17q('policy', 'publish', file)).toMatch(/^FAILED n17q: The text cannot be read at 1:9: .*\(RULES_BROKEN\)/);
    expect(await n17q('policy', 'show', '--history')).toMatch(/^REVISION/);
  }, 60_000);
});
