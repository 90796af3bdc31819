/** A run with an effect of unknown outcome, written by the other services' own users as they would; then what the api shows and takes. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { http } from '@n17q/contracts';
import { applyFindings, fact, NOTHING } from '@n17q/domain';
import { makeFixtureRepo, openSandbox, type Sandbox } from '@n17q/testing';
import { busPasswords, configFor, openRelay, openStack, SECRET_BYTES, type Relay, type Stack } from './spec-kit.js';

const TENANT = 'globex';
const passwords = busPasswords();
let sandbox: Sandbox;
let stack: Stack;
let relay: Relay;

beforeAll(async () => {
  sandbox = await openSandbox({ nats: { configText: configFor(passwords) }, postgres: true });
  stack = await openStack(sandbox, passwords, { N17Q_ALLOW_LOCAL_REPOS: '1' });
  relay = await openRelay(stack, TENANT);
  const policy = { rules: '@id("allow") permit (principal, action, resource);', hook: null, raiseRoles: [], observationAgeMsMax: 0, permitLifeMs: 60_000, leaseMs: 60_000, attemptsMax: 3, looksMax: 3, approvalLifeMs: 60_000, slice: NOTHING, findingRoles: ['operator'], approverRoles: ['operator'], fourEyes: false };
  expect((await stack.call('PUT', '/v1/tenant/policy', { as: 'eve', body: policy })).status).toBe(200);
  expect((await stack.call('PUT', '/v1/tenant/roles', { as: 'eve', body: { people: [{ person: 'eve', roles: ['operator'] }], delegations: [] } })).status).toBe(200);
}, 90_000);
afterAll(async () => { await stack?.stop(); await sandbox?.close(); }, 30_000);

const call: Stack['call'] = (method, path, o = {}) => stack.call(method, path, { as: 'eve', ...o });
const view = async (run: string): Promise<http.RunView> => (await call('GET', `/v1/runs/${run}`)).body as unknown as http.RunView;
const types = async (run: string): Promise<string[]> => ((await call('GET', `/v1/runs/${run}/events?limit=500`)).body as unknown as { events: { type: string }[] }).events.map((e) => e.type);

/** Up to an effect of contract *neither* whose reply never came. */
async function runWithUnknown(): Promise<{ run: string; effect: string; continuation: string }> {
  const run = ((await call('POST', '/v1/runs', { body: { goal: 'File a ticket', budget: { usd_micros: 10, tokens: 10, calls: 3 } } })).body as unknown as http.Accepted).run;
  const { effect, attempt, continuation } = await relay.attempt(run);
  await relay.by('effect-reconciler', run, [fact('effect.outcome-unknown', { effect, attempt, cause: 'the reply was cut' })]);
  return { run, effect, continuation: continuation.commitment };
}

describe('an effect of unknown outcome', () => {
  it('[EFF-5] takes a person\'s finding as evidence that settles nothing by itself; the gate judges it, and history stays', async () => {
    const { run, effect } = await runWithUnknown();
    const shown = await view(run);
    expect(http.runView.safeParse(shown).error).toBeUndefined();
    expect(shown.unresolved).toMatchObject([{ effect, tool: 'file_ticket', stage: 'unknown', contract: { kind: 'neither' }, allowed: ['wait-for-evidence'], prohibited: expect.stringContaining('file_ticket'), attempts: [{ end: 'unknown' }] }]);
    expect(shown.actions).toEqual(expect.arrayContaining(['submit_finding']));

    const photo = Buffer.from([0xff, 0xd8, 0x00, 0x01]);
    const r = await call('POST', `/v1/runs/${run}/effects/${effect}/finding`, { body: { verdict: 'happened', evidence: { base64: photo.toString('base64'), media: 'image/jpeg' } }, headers: { 'idempotency-key': 'finding-01' } });
    expect([r.status, r.text]).toEqual([202, expect.any(String)]);
    const again = await call('POST', `/v1/runs/${run}/effects/${effect}/finding`, { body: { verdict: 'happened', evidence: { base64: photo.toString('base64'), media: 'image/jpeg' } }, headers: { 'idempotency-key': 'finding-01' } });
    expect(again.body).toEqual(r.body);
    const before = await view(run);
    expect([before.unresolved.length, before.findings.map((f) => f.stage)]).toEqual([1, ['submitted']]);
    const evidence = await fetch(`${stack.base}/v1/runs/${run}/content/${before.findings[0]?.evidence.commitment}`, { headers: { authorization: `Bearer ${stack.token('eve')}` } });
    expect([Buffer.from(await evidence.arrayBuffer()), evidence.headers.get('content-type')]).toEqual([photo, 'application/octet-stream']);

    expect((await relay.judged(run)).map((f) => f.type)).toContain('finding.accepted');
    await relay.by('effect-reconciler', run, applyFindings(await relay.state(run)));
    const after = await view(run);
    expect([after.unresolved, after.effects.map((e) => e.stage)]).toEqual([[], ['happened']]);
    expect((await types(run)).filter((t) => ['effect.outcome-unknown', 'effect.finding-submitted', 'finding.accepted', 'effect.reconciled'].includes(t))).toEqual(['effect.outcome-unknown', 'effect.finding-submitted', 'finding.accepted', 'effect.reconciled']);
  });

  it('[EFF-5] takes no receipt from a person: what people say is a finding, which is judged', async () => {
    const { run, effect } = await runWithUnknown();
    const r = await call('POST', `/v1/runs/${run}/effects/${effect}/receipt`, { body: { receipt: { ticket: 17 }, from: 'tickets' } });
    expect([r.status, r.body['code']]).toEqual([404, 'METHOD_UNKNOWN']);
    expect((await view(run)).unresolved).toMatchObject([{ effect, stage: 'unknown' }]);
  });

  it('[CON-3] hands out no continuation: not its bytes by any operation, and not by its address', async () => {
    const { run, continuation } = await runWithUnknown();
    const r = await call('GET', `/v1/runs/${run}/content/${continuation}`);
    expect([r.status, r.body['code']]).toEqual([403, 'FORBIDDEN']);
    const routes = http.HTTP_ROUTES.filter((x) => x.method === 'get' && x.path.startsWith('/v1/runs') && !x.path.includes('content') && !x.path.includes('stream'));
    expect(routes.length).toBeGreaterThan(3);
    for (const x of routes) {
      const { text } = await call('GET', x.path.replace('{run}', run));
      for (const form of [SECRET_BYTES, Buffer.from(SECRET_BYTES).toString('base64')]) expect([x.operation, text.includes(form)]).toEqual([x.operation, false]);
    }
    expect(JSON.stringify(await view(run))).not.toContain(continuation);
  });

  it('[RUN-2] shows all of it although the tenant never had a provider account', async () => {
    const { run } = await runWithUnknown();
    expect((await call('GET', '/v1/tenant/profiles')).body).toMatchObject({ revision: 0, document: null });
    const v = await view(run);
    expect([v.goal?.text, v.unresolved.length, v.checkpoint === null, v.move.move]).toEqual(['File a ticket', 1, false, 'tools']);
  });
});

describe('a run on a repository', () => {
  it('stores and registers the tree before the run names it, leaves the given path alone, and shows the diff', async () => {
    const repo = join(sandbox.dir, 'given');
    await makeFixtureRepo(repo);
    const before = await tree(repo);
    const goal = `Mend the tax. ${'x'.repeat(100_000)}`; // beyond what rests beside its event
    const created = await call('POST', '/v1/runs', { body: { goal, repo } });
    expect([created.status, created.text]).toEqual([201, expect.any(String)]);
    const { run } = created.body as unknown as http.Accepted;
    const v = await view(run);
    expect(await tree(repo)).toEqual(before);
    expect(v.goal?.cut).toBe(true);
    expect((await call('GET', `/v1/runs/${run}/content/${v.goal?.ref.commitment}`)).text).toBe(goal);
    const manifest = JSON.parse((await call('GET', `/v1/runs/${run}/content/${v.workspace?.tree.commitment}`)).text) as { base: string; files: { path: string }[] };
    expect([manifest.base, manifest.files.some((f) => f.path === 'src/tax.js')]).toEqual([v.workspace?.base, true]);
    const diff = await call('GET', `/v1/runs/${run}/diff`);
    expect([diff.status, diff.text, diff.headers.get('content-type')]).toEqual([200, '', 'text/plain; charset=utf-8']);
    expect(await readdir(join(stack.scratchDir, 'api'))).toEqual(expect.not.arrayContaining([expect.stringContaining('clone-')]));
  });

  it('says what is wrong with a path, and makes no run of it', async () => {
    for (const repo of [join(sandbox.dir, 'not-there'), stack.artifactsDir]) {
      const r = await call('POST', '/v1/runs', { body: { goal: 'x', title: 'unusable', repo } });
      expect([r.status, r.body['code'], r.body['path']]).toEqual([422, 'REPOSITORY_UNUSABLE', '/repo']);
    }
    const { runs } = (await call('GET', '/v1/runs')).body as unknown as http.RunsPage;
    expect(runs.some((x) => x.title === 'unusable')).toBe(false);
  });
});

async function tree(dir: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const e of await readdir(dir, { recursive: true, withFileTypes: true })) if (e.isFile()) found[join(e.parentPath, e.name)] = (await readFile(join(e.parentPath, e.name))).toString('base64');
  return found;
}
