import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openSandbox, until, type Sandbox } from '@n17q/testing';
import { http } from '@n17q/contracts';
import { N17qClient, N17qProblem, N17qTimeout } from '@n17q/client';
import { busPasswords, configFor, openStack, type Stack } from './spec-kit.js';

const passwords = busPasswords();
let sandbox: Sandbox;
let stack: Stack;
beforeAll(async () => {
  sandbox = await openSandbox({ nats: { configText: configFor(passwords) }, postgres: true });
  stack = await openStack(sandbox, passwords);
}, 90_000);
afterAll(async () => { await stack?.stop(); await sandbox?.close(); }, 30_000);

const newRun = async (more: object = {}, headers: Record<string, string> = {}): Promise<string> => {
  const r = await stack.call('POST', '/v1/runs', { body: { goal: 'Mend the tax', ...more }, headers });
  if (r.status !== 201) throw new Error(r.text);
  return (r.body as unknown as http.Accepted).run;
};
const view = async (run: string): Promise<http.RunView> => (await stack.call('GET', `/v1/runs/${run}`)).body as unknown as http.RunView;
const events = async (run: string): Promise<readonly { type: string; data: Record<string, unknown>; actor: { id: string; kind: string }; revision: number; writer: string }[]> =>
  ((await stack.call('GET', `/v1/runs/${run}/events?limit=500`)).body as unknown as { events: never[] }).events;

describe('who may ask', () => {
  it('[SEC-1] answers nobody without a token, with a wrong one, or with half of one', async () => {
    for (const authorization of ['', 'Bearer ', `Bearer ${stack.token('ada').slice(0, -1)}`, `Bearer ${stack.token('ada')}x`, `Basic ${stack.token('ada')}`, stack.token('ada')]) {
      const r = await stack.call('GET', '/v1/runs', { as: null, headers: authorization === '' ? {} : { authorization } });
      expect([r.status, r.body['code'], r.headers.get('content-type')]).toEqual([401, 'UNAUTHENTICATED', 'application/problem+json; charset=utf-8']);
    }
    expect((await stack.call('GET', '/v1/health/live', { as: null })).status).toBe(200);
    expect((await stack.call('POST', '/v1/runs', { as: null, raw: '{ not json' })).status).toBe(401); // nothing of a body is read before
  });

  it('[SEC-1] answers for another tenant\'s run as for one that never was, in every operation', async () => {
    const run = await newRun();
    const input = await stack.call('POST', `/v1/runs/${run}/inputs`, { body: { text: 'for acme only' } });
    expect(input.status).toBe(202);
    const goal = (await view(run)).goal?.ref.commitment ?? '';
    const paths = http.HTTP_ROUTES.filter((r) => r.path.includes('{run}')).map((r) => ({ method: r.method.toUpperCase(), path: r.path.replace('{commitment}', goal).replace('{approval}', 'a').replace('{effect}', 'e').replace('{source}', 's') }));
    expect(paths.length).toBeGreaterThan(14);
    const bodies: Record<string, unknown> = { inputs: { text: 'x' }, notes: { text: 'x' }, plan: { steps: [] }, finding: { verdict: 'happened', evidence: 'x' }, receipt: { receipt: {}, from: 'x' }, migration: { tool: 'x', reason: 'x' }, raise: { amounts: { calls: 1 }, reason: 'x' }, review: { decision: 'approved' }, 'approvals/a': { decision: 'approved', subject: 'a'.repeat(64) } };
    for (const { method, path } of paths) {
      const body = method === 'GET' ? undefined : (Object.entries(bodies).find(([k]) => path.endsWith(k))?.[1] ?? { reason: 'x' });
      const theirs = await stack.call(method, path.replace('{run}', run), { as: 'eve', ...(body === undefined ? {} : { body }) });
      const nobodys = await stack.call(method, path.replace('{run}', '0190aaaa-0000-7000-8000-000000000000'), { as: 'eve', ...(body === undefined ? {} : { body }) });
      expect([method, path, theirs.status, theirs.text]).toEqual([method, path, 404, nobodys.text]);
    }
    expect((await events(run)).map((e) => e.type)).toEqual(['run.created', 'input.received']);
    const theirList = await stack.call('GET', '/v1/runs', { as: 'eve' });
    expect(theirList.text).not.toContain(run);
  });

  it('[SEC-1] knows the person by the token, whatever the body says', async () => {
    const refused = await stack.call('POST', '/v1/runs', { body: { goal: 'x', person: 'bob' } });
    expect([refused.status, refused.body['code']]).toEqual([400, 'MALFORMED']);
    const run = await newRun();
    await stack.call('POST', `/v1/runs/${run}/pause`, { as: 'bob', body: { reason: 'look first' } });
    expect((await events(run)).map((e) => [e.type, e.actor.kind, e.actor.id, e.writer])).toEqual([['run.created', 'person', 'ada', 'api'], ['run.pause-requested', 'person', 'bob', 'api']]);
  });
});

describe('requests', () => {
  it('[RES-2] has two operations of two names: resume run, and continue provider response', async () => {
    const run = await newRun();
    expect((await stack.call('POST', `/v1/runs/${run}/resume`, { body: { reason: 'go on' } })).status).toBe(202);
    expect((await stack.call('POST', `/v1/runs/${run}/continue-provider-response`, { body: { reason: 'where it stopped' } })).status).toBe(202);
    expect((await events(run)).slice(1).map((e) => [e.type, e.data['reason']])).toEqual([['run.resume-requested', 'go on'], ['provider-response.continue-requested', 'where it stopped']]);
    expect((await view(run)).requests.map((r) => r.kind)).toEqual(['resume', 'continue-provider-response']);
    const names = http.HTTP_ROUTES.map((r) => r.operation);
    expect(names).toEqual(expect.arrayContaining(['resume_run', 'continue_provider_response']));
    expect((await stack.call('POST', `/v1/runs/${run}/continue`, { body: { reason: 'x' } })).status).toBe(404);
    expect((await stack.call('POST', `/v1/runs/${run}/resume`, { body: { reason: 'x', continueProviderResponse: true } })).status).toBe(400);
  });

  it('[RUN-1] takes a repeated request with the same key as one, also when the run went on far beyond what the store remembers', async () => {
    const headers = { 'idempotency-key': 'create-0001' };
    const first = await stack.call('POST', '/v1/runs', { body: { goal: 'Once only' }, headers });
    const again = await stack.call('POST', '/v1/runs', { body: { goal: 'Once only' }, headers });
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const run = (first.body as unknown as http.Accepted).run;

    const key = { 'idempotency-key': 'input-00001' };
    const input = await stack.call('POST', `/v1/runs/${run}/inputs`, { body: { text: 'one' }, headers: key });
    for (let i = 0; i < 40; i++) await stack.call('POST', `/v1/runs/${run}/plan`, { body: { steps: [`step ${i}`] } });
    const repeated = await stack.call('POST', `/v1/runs/${run}/inputs`, { body: { text: 'one' }, headers: key });
    expect(repeated.body).toEqual(input.body);
    expect((await events(run)).filter((e) => e.type === 'input.received')).toHaveLength(1);

    const other = await stack.call('POST', `/v1/runs/${run}/inputs`, { body: { text: 'two' }, headers: key });
    expect([other.status, other.body['code']]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    const bobs = await stack.call('POST', `/v1/runs/${run}/inputs`, { as: 'bob', body: { text: 'one' }, headers: key });
    expect(bobs.status).toBe(202); // a key belongs to a person
    expect((await events(run)).filter((e) => e.type === 'input.received')).toHaveLength(2);
  });

  it('[RUN-1] makes one append of requests with one key that come at once, and every one of different ones', async () => {
    const run = await newRun();
    const same = await Promise.all(Array.from({ length: 8 }, () => stack.call('POST', `/v1/runs/${run}/inputs`, { body: { text: 'same' }, headers: { 'idempotency-key': 'at-once-1' } })));
    expect(new Set(same.map((r) => `${r.status} ${JSON.stringify(r.body)}`)).size).toBe(1);
    const different = await Promise.all(Array.from({ length: 6 }, (_, i) => stack.call('POST', `/v1/runs/${run}/inputs`, { body: { text: `n ${i}` } })));
    expect(different.map((r) => r.status)).toEqual(Array(6).fill(202));
    expect((await events(run)).filter((e) => e.type === 'input.received')).toHaveLength(7);
  });

  it('[EFF-5] takes findings only for effects that the run intended, and says a refusal of the store in plain words', async () => {
    const run = await newRun();
    const r = await stack.call('POST', `/v1/runs/${run}/effects/effect-none/finding`, { body: { verdict: 'happened', evidence: 'saw it' } });
    expect([r.status, r.body['code']]).toEqual([404, 'NOT_FOUND']);
    const approval = await stack.call('POST', `/v1/runs/${run}/approvals/none`, { body: { decision: 'approved', subject: 'a'.repeat(64) } });
    expect([approval.status, approval.body['code'], approval.body['storeCode']]).toEqual([409, 'ILLEGAL', 'ILLEGAL']);
    expect([approval.body['detail'], approval.body['storeSays']]).toEqual([expect.stringMatching(/^No approval of this name waits for that in this run: /u), expect.stringContaining('no approval none waits')]);
    expect(await events(run)).toHaveLength(1);
  });

  it('refuses what has not the documented form, naming where', async () => {
    const tried: [string, unknown, number, string][] = [
      ['/v1/runs', {}, 400, 'MALFORMED'], ['/v1/runs', { goal: '' }, 400, 'MALFORMED'], ['/v1/runs', { goal: ' \n\t ' }, 400, 'MALFORMED'], ['/v1/runs', { goal: 'x', budget: { usd_micros: -1, tokens: 0, calls: 0 } }, 400, 'MALFORMED'],
      ['/v1/runs', { goal: 'half \ud800' }, 400, 'MALFORMED'], ['/v1/runs', { goal: 'x', title: 'two\nlines' }, 400, 'MALFORMED'], ['/v1/runs', { goal: 'x', repo: '/tmp' }, 403, 'LOCAL_REPOS_OFF'],
      ['/v1/runs', [], 400, 'MALFORMED'], ['/v1/nothing', {}, 404, 'METHOD_UNKNOWN'],
    ];
    for (const [path, body, status, code] of tried) { const r = await stack.call('POST', path, { body }); expect([JSON.stringify(body), r.status, r.body['code']]).toEqual([JSON.stringify(body), status, code]); }
    expect((await stack.call('POST', '/v1/runs', { raw: '{"goal":' })).body['code']).toBe('MALFORMED');
    expect((await stack.call('POST', '/v1/runs', { raw: 'goal=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } })).status).toBe(415);
    expect((await stack.call('POST', '/v1/runs', { raw: JSON.stringify({ goal: 'x'.repeat(1_100_000) }) })).status).toBe(413);
    expect((await stack.call('POST', '/v1/runs', { raw: `{"goal":${'['.repeat(5000)}${']'.repeat(5000)}}` })).status).toBe(400);
    expect((await stack.call('GET', '/v1/runs?limit=0')).status).toBe(400);
    expect((await stack.call('GET', '/v1/runs?after=zzz')).status).toBe(400);
  });
});

describe('what no caller can bring', () => {
  const carriers: [string, unknown, string][] = [
    ['effects/e/finding', { verdict: 'happened', evidence: { note: 'x', parts: [{ thoughtSignature: 'QUJD' }] } }, '/evidence/parts/0/thoughtSignature'],
    ['effects/e/finding', { evidence: [{ type: 'redacted_thinking', data: 'QUJD' }] }, '/evidence/0/type'],
    ['inputs', { text: { encrypted_content: 'QUJD' } }, '/text/encrypted_content'],
    ['plan', { steps: [{ Thought_Signature: 'QUJD' }] }, '/steps/0/Thought_Signature'],
    ['notes', { text: 'x', extra_content: { google: { thought: 1 } } }, '/extra_content/google'],
  ];
  it('[CON-3] refuses structured carrier fields anywhere in a body and names the path; nothing of it is stored', async () => {
    const run = await newRun();
    for (const [path, body, at] of carriers) {
      const r = await stack.call('POST', `/v1/runs/${run}/${path}`, { body });
      expect([path, r.status, r.body['code'], r.body['path']]).toEqual([path, 422, 'CARRIER_FIELD', at]);
      expect(r.text).not.toContain('QUJD');
    }
    const created = await stack.call('POST', '/v1/runs', { body: { goal: { signature: 'x' } } });
    expect([created.status, created.body['path']]).toEqual([422, '/goal/signature']);
    const registry = await stack.call('PUT', '/v1/tenant/registry', { body: { tools: [{ schema: { reasoning_details: [] } }] } });
    expect([registry.status, registry.body['path']]).toEqual([422, '/tools/0/schema/reasoning_details']);
    expect(await events(run)).toHaveLength(1);
  });

  it('[CON-3] leaves text alone that only looks like a carrier', async () => {
    const text = '{"thoughtSignature":"QUJD","type":"redacted_thinking","data":"x"}';
    const run = await newRun({ goal: text });
    const shown = await view(run);
    expect(shown.goal?.text).toBe(text);
    expect((await stack.call('POST', `/v1/runs/${run}/inputs`, { body: { text } })).status).toBe(202);
    const cited = (await events(run))[1]?.data['text'] as { commitment: string };
    const content = await stack.call('GET', `/v1/runs/${run}/content/${cited.commitment}`);
    expect([content.status, content.text, content.headers.get('n17q-content-class')]).toEqual([200, text, 'input']);
  });
});

describe('reading', () => {
  it('[BUD-1, RUN-2] shows a run with no provider at all: task, budget, whose move it is, what a person can do', async () => {
    const run = await newRun({ goal: 'Ship it\nwith care', constraints: ['no weekend deploys'], budget: { usd_micros: 7, tokens: 8, calls: 9 } });
    const v = await view(run);
    expect(http.runView.safeParse(v).error).toBeUndefined();
    expect(v).toMatchObject({ run, title: 'Ship it', status: 'active', constraints: ['no weekend deploys'], unresolved: [], budget: { granted: { usd_micros: 7, tokens: 8, calls: 9 }, used: { tokens: 0 }, reserved: { tokens: 0 }, left: { tokens: 8 } } });
    expect(v.move.move).toBe('compile');
    expect(v.actions).toEqual(expect.arrayContaining(['add_input', 'pause_run', 'end_run']));
  });

  it('lists the tenant\'s runs page by page, newest first, and makes the list again after it was deleted', async () => {
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.push(await newRun({ title: `listed ${i}` }));
    const listed = async (): Promise<http.RunRow[]> => {
      const rows: http.RunRow[] = [];
      for (let after = ''; ; ) {
        const page = (await stack.call('GET', `/v1/runs?limit=2${after}`)).body as unknown as http.RunsPage;
        rows.push(...page.runs);
        if (page.next === null) return rows;
        after = `&after=${page.next}`;
      }
    };
    const before = await until(async () => { const rows = await listed(); return made.every((m) => rows.some((r) => r.run === m)) && rows; }, { withinMs: 10_000, what: 'the read model' });
    expect(before.filter((r) => made.includes(r.run)).map((r) => r.run)).toEqual(made.toReversed());
    expect(new Set(before.map((r) => r.run)).size).toBe(before.length);
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: stack.urls.api });
    await client.connect();
    try { await client.query('delete from n17q_api.run_views'); await client.query('delete from n17q_api.projections'); } finally { await client.end(); }
    await until(async () => JSON.stringify(await listed()) === JSON.stringify(before), { withinMs: 10_000, what: 'the same list made again' });
  });

  it('streams events in order with the revision as id, goes on after Last-Event-ID, and shows that it lives', async () => {
    const run = await newRun();
    const read = async (headers: Record<string, string>, enough: (text: string) => boolean): Promise<string> => {
      const stop = new AbortController();
      const r = await fetch(`${stack.base}/v1/runs/${run}/stream`, { headers: { authorization: `Bearer ${stack.token('ada')}`, ...headers }, signal: stop.signal });
      let text = '';
      const decoder = new TextDecoder();
      for await (const chunk of r.body ?? []) { text += decoder.decode(chunk as Uint8Array, { stream: true }); if (enough(text)) break; }
      stop.abort();
      return text;
    };
    const whole = read({}, (t) => t.includes('id: 3'));
    await stack.call('POST', `/v1/runs/${run}/plan`, { body: { steps: ['a'] } });
    await stack.call('POST', `/v1/runs/${run}/plan`, { body: { steps: ['b'] } });
    expect([...(await whole).matchAll(/^id: (\d+)$/gm)].map((m) => m[1])).toEqual(['1', '2', '3']);
    expect([...(await read({ 'last-event-id': '1' }, (t) => t.includes('id: 3'))).matchAll(/^id: (\d+)$/gm)].map((m) => m[1])).toEqual(['2', '3']);
    expect(await read({ 'last-event-id': '3' }, (t) => t.includes(': still here'))).not.toContain('id:');
  });

  it('describes itself, and routes exactly what it describes', async () => {
    const described = await stack.call('GET', '/v1/openapi.json', { as: null });
    expect(described.text).toBe(http.openApiText());
    for (const r of http.HTTP_ROUTES) {
      const answered = await stack.call(r.method.toUpperCase(), r.path.replaceAll(/\{\w+\}/g, 'x'), r.method === 'get' ? {} : { body: {} });
      expect([r.operation, answered.body['code'] === 'METHOD_UNKNOWN']).toEqual([r.operation, false]);
    }
  });
});

describe('the tenant\'s documents', () => {
  const roles = (person: string): object => ({ people: [{ person, roles: ['operator'] }], delegations: [] });
  it('publishes at the revision that the caller saw, and says when it is another', async () => {
    expect((await stack.call('GET', '/v1/tenant/roles')).body).toMatchObject({ revision: 0, document: null });
    const first = await stack.call('PUT', '/v1/tenant/roles', { body: roles('ada') });
    expect([first.status, first.body, first.headers.get('etag')]).toEqual([200, { topic: 'roles', revision: 1 }, '"1"']);
    const stale = await stack.call('PUT', '/v1/tenant/roles', { body: roles('bob'), headers: { 'if-match': '"0"' } });
    expect([stale.status, stale.body['code'], stale.body['revision']]).toEqual([412, 'PRECONDITION_FAILED', 1]);
    expect((await stack.call('PUT', '/v1/tenant/roles', { body: roles('bob'), headers: { 'if-match': '"1"' } })).status).toBe(200);
    expect((await stack.call('GET', '/v1/tenant/roles')).body).toEqual({ topic: 'roles', revision: 2, document: roles('bob') });
    expect((await stack.call('GET', '/v1/tenant/roles', { as: 'eve' })).body).toMatchObject({ revision: 0 });
    expect((await stack.call('PUT', '/v1/tenant/roles', { body: { people: [{ person: 1 }] } })).status).toBe(400);
  });

  it('[BUD-1] grants an allowance once for one key', async () => {
    const grant = { amounts: { usd_micros: 5, tokens: 6, calls: 7 }, reason: 'for the tests' };
    const a = await stack.call('POST', '/v1/tenant/allowance', { body: grant, headers: { 'idempotency-key': 'grant-0001' } });
    const b = await stack.call('POST', '/v1/tenant/allowance', { body: grant, headers: { 'idempotency-key': 'grant-0001' } });
    expect([a.status, b.status, b.body]).toEqual([201, 201, a.body]);
    expect((await stack.call('GET', '/v1/tenant/allowance')).body).toMatchObject({ balance: grant.amounts });
  });

  it('[BUD-5] limits what runs draw in each window, shows what is left, and says in one sentence what is wrong with limits', async () => {
    const before = (await stack.call('GET', '/v1/tenant/allowance')).body as unknown as http.AllowanceView;
    const put = (limits: unknown, headers: Record<string, string> = {}) => stack.call('PUT', '/v1/tenant/allowance/limits', { body: { limits, reason: 'not all at once' }, headers });
    const [hour, day] = [{ everyMs: 3_600_000, amounts: { usd_micros: 2, tokens: 9, calls: 1 } }, { everyMs: 86_400_000, amounts: { usd_micros: 1, tokens: 4, calls: 8 } }];
    const twice = await put([hour, { ...hour, amounts: day.amounts }]);
    expect([twice.status, twice.body['code'], twice.text.match(/two limits have one length/g)?.length]).toEqual([400, 'MALFORMED', 1]);
    expect((await put([{ ...hour, everyMs: 999 }])).status).toBe(400);
    expect((await put([{ ...hour, amounts: { usd_micros: -1, tokens: 0, calls: 0 } }])).status).toBe(400);
    expect((await put([day, hour], { 'if-match': `"${before.revision + 7}"` })).status).toBe(412);
    expect((await put([day, hour])).body).toEqual({ topic: 'budget', revision: before.revision + 1 });
    const after = (await stack.call('GET', '/v1/tenant/allowance')).body as unknown as http.AllowanceView;
    expect(after).toMatchObject({ balance: before.balance, drawable: { usd_micros: 1, tokens: 4, calls: 1 }, revision: before.revision + 1 });
    expect(after.limits.map(({ everyMs, amounts, left }) => ({ everyMs, amounts, left }))).toEqual([hour, day].map((l) => ({ ...l, left: l.amounts })));
    for (const l of after.limits) expect([l.endsAt % l.everyMs, l.endsAt - Date.now() <= l.everyMs]).toEqual([0, true]);
    expect((await stack.call('GET', '/v1/tenant/allowance', { as: 'eve' })).body).toMatchObject({ limits: [] });
    await put([]);
    expect((await stack.call('GET', '/v1/tenant/allowance')).body).toMatchObject({ drawable: before.balance, limits: [] });
  });

  it('[RUN-2] removes a provider account and the routes through it', async () => {
    const model = { model: 'm', profile: { contextTokens: 1000, outputTokensMax: 100, toolCalls: true, structuredOutput: true, nativeContinuation: false, opaqueRequired: 'never', storesContent: false }, usdMicrosPer1kInput: 1, usdMicrosPer1kOutput: 1 };
    const account = (name: string): object => ({ account: name, provider: 'p', adapter: 'x', endpoint: 'http://127.0.0.1:1', scope: 's', models: [model] });
    const route = (name: string): object => ({ account: name, provider: 'p', adapter: 'x', model: 'm' });
    await stack.call('PUT', '/v1/tenant/profiles', { body: { accounts: [account('a'), account('b')], preference: [route('a'), route('b')] } });
    expect((await stack.call('DELETE', '/v1/tenant/profiles/accounts/a')).body).toEqual({ topic: 'profiles', revision: 2 });
    expect((await stack.call('GET', '/v1/tenant/profiles')).body['document']).toEqual({ accounts: [account('b')], preference: [route('b')] });
    expect((await stack.call('DELETE', '/v1/tenant/profiles/accounts/a')).status).toBe(404);
  });
});

describe('the client', () => {
  it('[RES-2] creates, watches, waits, asks and publishes over the real service, with the two names apart', async () => {
    const client = new N17qClient({ baseUrl: stack.base, token: stack.token('ada') });
    const { run } = await client.createRun({ goal: 'By the client', retention: 'archival' }, { key: 'client-0001' });
    expect(await client.createRun({ goal: 'By the client', retention: 'archival' }, { key: 'client-0001' })).toEqual({ run, revision: 1 });
    const waited = client.waitFor(run, (v) => v.plan.length === 2, { withinMs: 10_000 });
    await client.changePlan(run, ['one']);
    await client.changePlan(run, ['one', 'two']);
    expect((await waited).revision).toBe(3);
    await client.resumeRun(run, 'go on');
    await client.continueProviderResponse(run, 'natively');
    const seen: string[] = [];
    for await (const e of client.events(run)) { seen.push(e.type); if (e.revision === 5) break; }
    expect(seen).toEqual(['run.created', 'plan.changed', 'plan.changed', 'run.resume-requested', 'provider-response.continue-requested']);
    expect((await client.eventsPage(run, { after: 3, limit: 1 })).next).toBe(4);
    const timeout: unknown = await client.waitFor(run, () => false, { withinMs: 200 }).catch((e: unknown) => e);
    expect(timeout).toBeInstanceOf(N17qTimeout);
    const view = await client.run(run);
    expect(new TextDecoder().decode(await client.content(run, view.goal?.ref.commitment ?? ''))).toBe('By the client');
    const before = await client.document('roles');
    await expect(client.publish('roles', { people: [], delegations: [] }, { ifRevision: before.revision + 1 })).rejects.toMatchObject({ code: 'PRECONDITION_FAILED', facts: { revision: before.revision } });
    expect((await client.publish('roles', { people: [], delegations: [] }, { ifRevision: before.revision })).revision).toBe(before.revision + 1);
    await expect(client.diff(run)).rejects.toBeInstanceOf(N17qProblem);
    expect(await client.ready()).toBe(true);
    expect((await client.listRuns({ limit: 1 })).runs).toHaveLength(1);
  });
});
