/** A run with an effect of unknown outcome, written by the other services' own users as they would; then what the api shows and takes. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { canonical, contentOf, digestOf, http, sha256, type ContentUpload } from '@n17q/contracts';
import { applyFindings, cutOf, fact, judge, NOTHING, takeReceipts, type Fact, type Permit, type RunId, type ServiceName } from '@n17q/domain';
import { BusStore, ServiceLog, type Decision } from '@n17q/event-log';
import { makeFixtureRepo, openSandbox, type Sandbox } from '@n17q/testing';
import { busPasswords, configFor, openStack, type Stack } from './spec-kit.js';

const TENANT = 'globex';
const SECRET = 'opaque-continuation-bytes-of-a-provider';
const passwords = busPasswords();
let sandbox: Sandbox;
let stack: Stack;
const logs = new Map<ServiceName, ServiceLog>();

beforeAll(async () => {
  sandbox = await openSandbox({ nats: { configText: configFor(passwords) }, postgres: true });
  stack = await openStack(sandbox, passwords, { N17Q_ALLOW_LOCAL_REPOS: '1' });
  for (const s of ['checkpoint-sealer', 'context-compiler', 'policy-gate', 'provider-gateway', 'effect-reconciler'] as const) logs.set(s, new ServiceLog(new BusStore(await stack.bus(s), s), null));
  const policy = { rules: '@id("allow") permit (principal, action, resource);', hook: null, raiseRoles: [], observationAgeMsMax: 0, permitLifeMs: 60_000, leaseMs: 60_000, attemptsMax: 3, looksMax: 3, approvalLifeMs: 60_000, slice: NOTHING, findingRoles: ['operator'], approverRoles: ['operator'], fourEyes: false };
  expect((await stack.call('PUT', '/v1/tenant/policy', { as: 'eve', body: policy })).status).toBe(200);
  expect((await stack.call('PUT', '/v1/tenant/roles', { as: 'eve', body: { people: [{ person: 'eve', roles: ['operator'] }], delegations: [] } })).status).toBe(200);
}, 90_000);
afterAll(async () => { await stack?.stop(); await sandbox?.close(); }, 30_000);

const call: Stack['call'] = (method, path, o = {}) => stack.call(method, path, { as: 'eve', ...o });
const view = async (run: string): Promise<http.RunView> => (await call('GET', `/v1/runs/${run}`)).body as unknown as http.RunView;
const types = async (run: string): Promise<string[]> => ((await call('GET', `/v1/runs/${run}/events?limit=500`)).body as unknown as { events: { type: string }[] }).events.map((e) => e.type);

async function by(service: ServiceName, run: RunId, facts: readonly Fact[], more: Partial<Decision> = {}): Promise<void> {
  const log = logs.get(service) as ServiceLog;
  const o = await log.append(await log.state(TENANT, run), { facts, ...more });
  if (o.kind !== 'appended') throw new Error(`${service}: ${JSON.stringify(o)}`);
}
async function seal(run: RunId): Promise<void> {
  const s = await (logs.get('checkpoint-sealer') as ServiceLog).state(TENANT, run);
  const manifest = canonical(cutOf(s, canonical, sha256).manifest);
  const checkpoint = randomUUID();
  await by('checkpoint-sealer', run, [fact('checkpoint.sealed', { checkpoint, version: 1, cut: s.revision, boundaries: s.boundary, manifest: sha256(manifest), previous: s.checkpoint?.checkpoint ?? null })], { checkpoint: { checkpoint, manifest } });
}
async function permit(run: RunId, subject: string): Promise<Permit> {
  const s = await (logs.get('policy-gate') as ServiceLog).state(TENANT, run);
  return { permit: randomUUID(), subject, seenRevision: s.revision, tenant: { policy: 1, registry: 0, profiles: 0, roles: 1 }, expiresAt: Date.now() + 60_000, world: { kind: 'real' }, grounds: { revision: s.revision, at: 1, by: [], met: [] } };
}

/** The relay of one turn, up to an effect of contract *neither* whose reply never came. */
async function runWithUnknown(): Promise<{ run: string; effect: string; continuation: string }> {
  const run = ((await call('POST', '/v1/runs', { body: { goal: 'File a ticket', budget: { usd_micros: 10, tokens: 10, calls: 3 } } })).body as unknown as http.Accepted).run;
  const route = { account: 'a', provider: 'p', adapter: 'x', model: 'm' };
  const text = (t: string, cls: Parameters<typeof contentOf>[1]): ContentUpload => contentOf(t, cls);
  const [system, tools, entry, manifest] = [text('s', 'context'), text('t', 'context'), text('e', 'context'), text('m', 'manifest')];
  const subject = digestOf('context');
  await seal(run);
  await by('context-compiler', run, [fact('context.compiled', { generation: 'g1', form: 'first', route, lineage: 'l1', opensLineage: true, because: 'first', system: system.ref, tools: tools.ref, entry: entry.ref, manifest: manifest.ref, subject, continuations: [], checkpoint: null, tokensMax: { input: 1, output: 1 }, compiler: 1 })], { contents: [system, tools, entry, manifest] });
  await by('policy-gate', run, [fact('budget.reserved', { reservation: 'r1', for: 'generation', amounts: NOTHING, drawn: NOTHING }), fact('generation.permitted', { generation: 'g1', reservation: 'r1', ...(await permit(run, subject)) })]);
  await seal(run);
  const permitId = (await (logs.get('provider-gateway') as ServiceLog).state(TENANT, run)).generation?.permit?.permit ?? '';
  await by('provider-gateway', run, [fact('segment.started', { segment: 1, from: null, to: route, reason: 'the run begins', checkpoint: null, manifest: manifest.ref }), fact('generation.started', { generation: 'g1', attempt: 'ga1', owner: 'o', permit: permitId, form: 'first', wire: digestOf('w'), wirePrefix: { bytes: 1, digest: digestOf('w') }, leaseMs: 60_000 })]);
  const [output, args, sealed] = [text('{"parts":[]}', 'model-output'), text('{"title":"x"}', 'tool-arguments'), text(SECRET, 'continuation')];
  await by('provider-gateway', run, [fact('generation.accepted', { generation: 'g1', attempt: 'ga1', output: output.ref, finish: 'stop', calls: [{ call: 'c1', tool: 'file_ticket', args: args.ref }], continuations: [{ handle: 'h1', partIndex: 0, placement: 'side', sealed: sealed.ref, exact: digestOf('x') }], recoverable: 'exact', why: '', usage: { native: {} }, spent: null })], { contents: [output, args, sealed] });
  await seal(run);
  const intent = digestOf('intent');
  await by('effect-reconciler', run, [fact('effect.intended', { effect: 'e1', call: 'c1', generation: 'g1', tool: 'file_ticket', mapping: { registryRevision: 1, mappingRevision: 1, server: 'tickets', schemaDigest: digestOf('schema') }, contract: { kind: 'neither' }, scope: { target: 'tickets', fields: { run: digestOf(run) } }, args: args.ref, subject: intent, key: 'k1', world: { kind: 'real' }, amounts: NOTHING, dataClass: 'internal' })]);
  await by('policy-gate', run, [fact('budget.reserved', { reservation: 'r2', for: 'effect', amounts: NOTHING, drawn: NOTHING }), fact('effect.permitted', { effect: 'e1', attemptNumber: 1, siblings: [], reservation: 'r2', approval: null, ...(await permit(run, intent)) })]);
  await seal(run);
  const p = (await (logs.get('effect-reconciler') as ServiceLog).state(TENANT, run)).effects['e1']?.permit?.permit ?? '';
  await by('effect-reconciler', run, [fact('effect.attempt-started', { effect: 'e1', attempt: 'a1', attemptNumber: 1, owner: 'o', permit: p, leaseMs: 60_000, dispatchBy: Date.now() + 5_000 })]);
  await by('effect-reconciler', run, [fact('effect.outcome-unknown', { effect: 'e1', attempt: 'a1', cause: 'the reply was cut' })]);
  return { run, effect: 'e1', continuation: sealed.ref.commitment };
}

describe('an effect of unknown outcome', () => {
  it('[EFF-5] takes a person\'s finding as evidence that settles nothing by itself; the gate judges it, and history stays', async () => {
    const { run, effect } = await runWithUnknown();
    const shown = await view(run);
    expect(http.runView.safeParse(shown).error).toBeUndefined();
    expect(shown.unresolved).toMatchObject([{ effect, tool: 'file_ticket', stage: 'unknown', contract: { kind: 'neither' }, allowed: ['wait-for-evidence'], prohibited: expect.stringContaining('file_ticket'), attempts: [{ attempt: 'a1', end: 'unknown' }] }]);
    expect(shown.actions).toEqual(expect.arrayContaining(['submit_finding', 'deliver_receipt']));

    const photo = Buffer.from([0xff, 0xd8, 0x00, 0x01]);
    const r = await call('POST', `/v1/runs/${run}/effects/${effect}/finding`, { body: { verdict: 'happened', evidence: { base64: photo.toString('base64'), media: 'image/jpeg' } }, headers: { 'idempotency-key': 'finding-01' } });
    expect([r.status, r.text]).toEqual([202, expect.any(String)]);
    const again = await call('POST', `/v1/runs/${run}/effects/${effect}/finding`, { body: { verdict: 'happened', evidence: { base64: photo.toString('base64'), media: 'image/jpeg' } }, headers: { 'idempotency-key': 'finding-01' } });
    expect(again.body).toEqual(r.body);
    const before = await view(run);
    expect([before.unresolved.length, before.findings.map((f) => f.stage)]).toEqual([1, ['submitted']]);
    const evidence = await fetch(`${stack.base}/v1/runs/${run}/content/${before.findings[0]?.evidence.commitment}`, { headers: { authorization: `Bearer ${stack.token('eve')}` } });
    expect([Buffer.from(await evidence.arrayBuffer()), evidence.headers.get('content-type')]).toEqual([photo, 'application/octet-stream']);

    await seal(run);
    const gate = logs.get('policy-gate') as ServiceLog;
    const facts = judge({ ...(await gate.view(TENANT, run)), args: new Map(), hooked: new Map() }, { id: (kind) => `${kind}-${randomUUID()}`, digest: digestOf, rules: () => ({ kind: 'allow', by: [], reasons: [] }) });
    expect(facts.map((f) => f.type)).toContain('finding.accepted');
    await by('policy-gate', run, facts);
    await by('effect-reconciler', run, applyFindings(await gate.state(TENANT, run)));
    const after = await view(run);
    expect([after.unresolved, after.effects.map((e) => e.stage)]).toEqual([[], ['happened']]);
    expect((await types(run)).filter((t) => ['effect.outcome-unknown', 'effect.finding-submitted', 'finding.accepted', 'effect.reconciled'].includes(t))).toEqual(['effect.outcome-unknown', 'effect.finding-submitted', 'finding.accepted', 'effect.reconciled']);
  });

  it('[EFF-5] takes a tool\'s receipt as evidence, which the reconciler settles the effect with', async () => {
    const { run, effect } = await runWithUnknown();
    const r = await call('POST', `/v1/runs/${run}/effects/${effect}/receipt`, { body: { receipt: { ticket: 17, note: '{"signature":"text stays text"}' }, from: 'tickets' } });
    expect(r.status).toBe(202);
    const s = await (logs.get('effect-reconciler') as ServiceLog).state(TENANT, run);
    await by('effect-reconciler', run, takeReceipts(s));
    const after = await view(run);
    expect(after.effects.map((e) => [e.stage, new Set(e.receipts.map((x) => x.commitment)).size])).toEqual([['happened', 1]]);
    const receipt = await call('GET', `/v1/runs/${run}/content/${after.effects[0]?.receipts[0]?.commitment}`);
    expect(JSON.parse(receipt.text)).toEqual({ ticket: 17, note: '{"signature":"text stays text"}' });
  });

  it('[CON-3] hands out no continuation: not its bytes by any operation, and not by its address', async () => {
    const { run, continuation } = await runWithUnknown();
    const r = await call('GET', `/v1/runs/${run}/content/${continuation}`);
    expect([r.status, r.body['code']]).toEqual([403, 'FORBIDDEN']);
    const routes = http.HTTP_ROUTES.filter((x) => x.method === 'get' && x.path.startsWith('/v1/runs') && !x.path.includes('content') && !x.path.includes('stream'));
    expect(routes.length).toBeGreaterThan(3);
    for (const x of routes) {
      const { text } = await call('GET', x.path.replace('{run}', run));
      for (const form of [SECRET, Buffer.from(SECRET).toString('base64')]) expect([x.operation, text.includes(form)]).toEqual([x.operation, false]);
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
