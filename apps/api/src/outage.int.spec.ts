import { afterAll, beforeAll, expect, describe, it } from '@jest/globals';
import { http } from '@n17q/contracts';
import { openSandbox, until, type Sandbox } from '@n17q/testing';
import { busPasswords, configFor, openStack, type Stack } from './spec-kit.js';

const passwords = busPasswords();
let sandbox: Sandbox;
let stack: Stack;
beforeAll(async () => {
  sandbox = await openSandbox({ nats: { configText: configFor(passwords) }, postgres: true });
  stack = await openStack(sandbox, passwords, { N17Q_API_CATCH_UP_MS: '3600000' });
}, 90_000);
afterAll(async () => { await stack?.stop(); await sandbox?.close(); }, 30_000);

const listed = async (run: string): Promise<http.RunRow | undefined> => ((await stack.call('GET', '/v1/runs?limit=200')).body as unknown as http.RunsPage).runs?.find((r) => r.run === run);

describe('the api among others', () => {
  it('[SVC-1] follows run events: the list is up to date without being asked to compare', async () => {
    const created = await stack.call('POST', '/v1/runs', { body: { goal: 'Followed' } });
    const { run } = created.body as unknown as http.Accepted;
    await until(async () => (await listed(run))?.revision === 1, { withinMs: 10_000, what: 'the first event in the list' });
    await stack.call('POST', `/v1/runs/${run}/plan`, { body: { steps: ['a'] } });
    await until(async () => (await listed(run))?.revision === 2, { withinMs: 10_000, what: 'the second event in the list' });
  });

  it('[RUN-4] says that the store is out of reach, leaves nothing half done, and goes on by itself; the same key then gives one run', async () => {
    await until(async () => (await stack.call('GET', '/v1/health/ready', { as: null })).status === 200, { withinMs: 10_000, what: 'readiness' });
    const run = ((await stack.call('POST', '/v1/runs', { body: { goal: 'Before' } })).body as unknown as http.Accepted).run;
    await stack.store.kill();
    const [read, created, input, ready] = await Promise.all([
      stack.call('GET', `/v1/runs/${run}`), stack.call('POST', '/v1/runs', { body: { goal: 'While away' }, headers: { 'idempotency-key': 'while-away-1' } }),
      stack.call('POST', `/v1/runs/${run}/inputs`, { body: { text: 'while away' } }), stack.call('GET', '/v1/health/ready', { as: null }),
    ]);
    for (const r of [read, created, input]) expect([r.status, r.body['code'], r.headers.get('retry-after')]).toEqual([503, 'STORE_UNREACHABLE', '2']);
    expect([ready.status, (ready.body['checks'] as unknown as Record<string, string>)['store']]).toEqual([503, 'out of reach']);
    expect((await stack.call('GET', '/v1/health/live', { as: null })).status).toBe(200);
    await stack.startStore();
    const again = await until(async () => { const r = await stack.call('POST', '/v1/runs', { body: { goal: 'While away' }, headers: { 'idempotency-key': 'while-away-1' } }); return r.status === 201 && r; }, { withinMs: 15_000, what: 'the store again' });
    const { run: made } = again.body as unknown as http.Accepted;
    const events = (await stack.call('GET', `/v1/runs/${run}/events`)).body as unknown as { events: { type: string }[] };
    expect(events.events.map((e) => e.type)).toEqual(['run.created']);
    await until(async () => (await listed(made)) !== undefined, { withinMs: 10_000, what: 'the new run in the list' });
    const { runs } = (await stack.call('GET', '/v1/runs?limit=200')).body as unknown as http.RunsPage;
    expect(runs.filter((r) => r.title === 'While away')).toHaveLength(1);
  }, 60_000);

  it('[RUN-4] says of a database that was killed that the store is restarting and to try again, never that it is a defect', async () => {
    await sandbox.postgres.kill();
    const [list, input] = await Promise.all([stack.call('GET', '/v1/runs'), stack.call('POST', '/v1/runs', { body: { goal: 'Meanwhile' }, headers: { 'idempotency-key': 'meanwhile-1' } })]);
    expect([list.status, list.body['code'], list.headers.get('retry-after')]).toEqual([503, 'STORE_UNREACHABLE', '2']);
    expect(list.body['detail']).toMatch(/^The store is restarting: .* try again in a few seconds\.$/u);
    expect(input.status).toBe(503);
    await sandbox.postgres.restart();
    await until(async () => (await stack.call('GET', '/v1/runs')).status === 200, { withinMs: 20_000, what: 'the list again' });
    await until(async () => (await stack.call('GET', '/v1/health/ready', { as: null })).status === 200, { withinMs: 20_000, what: 'readiness' });
  }, 60_000);

  it('stops with streams open, and a port that is taken is one sentence', async () => {
    const run = ((await stack.call('POST', '/v1/runs', { body: { goal: 'Watched' } })).body as unknown as http.Accepted).run;
    const r = await fetch(`${stack.base}/v1/runs/${run}/stream`, { headers: { authorization: `Bearer ${stack.token('ada')}` } });
    await expect(openStack(sandbox, passwords, { N17Q_API_PORT: String(stack.api.port) })).rejects.toThrow(`port ${stack.api.port} on 127.0.0.1 is taken: set N17Q_API_PORT to another one, or to 0`);
    await stack.api.stop();
    for await (const _ of r.body ?? []) continue; // ends by itself
    await expect(stack.call('GET', '/v1/health/live', { as: null })).rejects.toThrow();
  }, 60_000);
});
