/** What people ask of a run and of the tenant beside its work: raises, migrations, reviews of sources, erasure, delegations; and what they are told of it. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { contentOf, digestOf, http } from '@n17q/contracts';
import { applyFindings, fact, NOTHING, takeReceipts, type Fact } from '@n17q/domain';
import { N17qClient } from '@n17q/client';
import { openSandbox, type Sandbox } from '@n17q/testing';
import { receiptToken } from '@n17q/tools';
import { busPasswords, configFor, openRelay, openStack, secret, type Relay, type Stack } from './spec-kit.js';

const passwords = busPasswords();
const RECEIPT_KEY = secret();
let sandbox: Sandbox;
let stack: Stack;
let relay: Relay;
const policy = { rules: '@id("allow") permit (principal, action, resource);', hook: null, raiseRoles: ['operator'], observationAgeMsMax: 0, permitLifeMs: 60_000, leaseMs: 60_000, attemptsMax: 3, looksMax: 3, approvalLifeMs: 60_000, slice: NOTHING, findingRoles: ['operator'], approverRoles: ['operator'], fourEyes: false };
const roles = { people: [{ person: 'ada', roles: ['operator'] }], delegations: [] };
beforeAll(async () => {
  sandbox = await openSandbox({ nats: { configText: configFor(passwords) }, postgres: true });
  stack = await openStack(sandbox, passwords, { N17Q_RECEIPT_KEY: RECEIPT_KEY });
  relay = await openRelay(stack, 'acme');
  for (const [topic, body] of [['policy', policy], ['roles', roles]] as const) expect((await stack.call('PUT', `/v1/tenant/${topic}`, { body })).status).toBe(200);
  expect((await stack.call('POST', '/v1/tenant/allowance', { body: { amounts: { usd_micros: 1000, tokens: 1000, calls: 1000 }, reason: 'x' } })).status).toBe(201);
}, 90_000);
afterAll(async () => { await stack?.stop(); await sandbox?.close(); }, 30_000);

const newRun = async (more: object = {}): Promise<string> => {
  const r = await stack.call('POST', '/v1/runs', { body: { goal: 'Do it', budget: { usd_micros: 10, tokens: 10, calls: 3 }, ...more } });
  if (r.status !== 201) throw new Error(r.text);
  return (r.body as unknown as http.Accepted).run;
};
const view = async (run: string): Promise<http.RunView> => {
  const v = (await stack.call('GET', `/v1/runs/${run}`)).body as unknown as http.RunView;
  expect(http.runView.safeParse(v).error).toBeUndefined();
  return v;
};
const types = async (run: string): Promise<string[]> => ((await stack.call('GET', `/v1/runs/${run}/events?limit=500`)).body as unknown as { events: { type: string }[] }).events.map((e) => e.type);
const unknownIn = async (run: string, o: Parameters<Relay['attempt']>[1] = {}): Promise<string> => {
  const { effect, attempt } = await relay.attempt(run, o);
  await relay.by('effect-reconciler', run, [fact('effect.outcome-unknown', { effect, attempt, cause: 'the reply was cut' })]);
  await relay.seal(run);
  return effect;
};
const ended = async (run: string): Promise<void> => {
  expect((await stack.call('POST', `/v1/runs/${run}/end`, { body: { reason: 'enough' } })).status).toBe(202);
  await relay.judged(run);
  expect((await view(run)).status).toBe('ended');
};
/** None of these is taken in, and nothing of them is stored. */
async function refused(path: string, bodies: readonly unknown[], status = 400): Promise<void> {
  for (const body of bodies) {
    const r = await stack.call('POST', path, { body });
    expect([JSON.stringify(body), r.status, r.headers.get('content-type')]).toEqual([JSON.stringify(body), status, 'application/problem+json; charset=utf-8']);
  }
}

describe('a raise of a run\'s budget', () => {
  it('[BUD-1] is asked for by whoever the token is, judged by the gate, and shown until then; a repeat is one raise', async () => {
    const run = await newRun({ wallMs: 60_000 });
    const body = { amounts: { usd_micros: 5, calls: 2 }, wallMs: 30_000, reason: 'it needs more' };
    const first = await stack.call('POST', `/v1/runs/${run}/budget/raise`, { body, headers: { 'idempotency-key': 'raise-0001' } });
    const again = await stack.call('POST', `/v1/runs/${run}/budget/raise`, { body, headers: { 'idempotency-key': 'raise-0001' } });
    expect([first.status, again.status, again.body]).toEqual([202, 202, first.body]);
    const waits = await view(run);
    expect(waits.raises).toMatchObject([{ amounts: { usd_micros: 5, tokens: 0, calls: 2 }, wallMs: 30_000, by: { kind: 'person', id: 'ada' } }]);
    expect(waits.budget.granted).toEqual({ usd_micros: 10, tokens: 10, calls: 3 }); // asking grants nothing
    await relay.judged(run);
    const after = await view(run);
    expect([after.raises, after.budget.granted, after.work.limitMs]).toEqual([[], { usd_micros: 15, tokens: 10, calls: 5 }, 90_000]);
  });
  it('[BUD-1] is refused to somebody without the role, in words that the decisions show', async () => {
    const run = await newRun();
    expect((await stack.call('POST', `/v1/runs/${run}/budget/raise`, { as: 'bob', body: { amounts: { tokens: 1 }, reason: 'x' } })).status).toBe(202);
    await relay.judged(run);
    const { decisions } = (await stack.call('GET', `/v1/runs/${run}/decisions`)).body as unknown as http.DecisionsPage;
    expect(decisions.find((d) => d.decision === 'budget.raise-refused')).toMatchObject({ about: { kind: 'raise' }, code: 'NOT_AUTHORISED', words: [expect.stringContaining('bob holds none of the roles')] });
    expect((await view(run)).budget.granted.tokens).toBe(10);
  });
  it('[BUD-1] is more than nothing and whole, and comes before the run\'s end', async () => {
    const run = await newRun();
    const ok = { amounts: { calls: 1 }, reason: 'x' };
    await refused(`/v1/runs/${run}/budget/raise`, [{}, { reason: 'x' }, { ...ok, reason: ' ' }, { ...ok, amounts: { calls: 0 } }, { ...ok, amounts: { calls: -1 } }, { ...ok, amounts: { calls: 1.5 } }, { ...ok, amounts: { calls: 1e15 } }, { ...ok, amounts: { euros: 1 } }, { ...ok, wallMs: -1 }, { ...ok, person: 'bob' }]);
    await ended(run);
    const late = await stack.call('POST', `/v1/runs/${run}/budget/raise`, { body: ok });
    expect([late.status, late.body['code'], late.body['detail']]).toEqual([409, 'ILLEGAL', expect.stringContaining('takes no raise of its budget any more')]);
  });
});

describe('a migration of an effect', () => {
  const tool = { name: 'find_ticket', description: 'x', server: 'tickets-2', schema: { type: 'object' }, schemaDigest: digestOf({ type: 'object' }), mappingRevision: 1, contract: { kind: 'queryable', query: { absenceFinalAfterMs: null } }, scopeFields: [], target: 'tickets-2', connector: { kind: 'http', config: { baseUrl: 'http://127.0.0.1:9', method: 'POST', path: '/tickets', query: { path: '/tickets?key={key}' } } }, timeoutMs: 1000, argumentBytesMax: 1000, outputBytesMax: 1000, dataClass: 'internal', costUsdMicros: 0 };
  it('[TOOL-3] is asked for by a person and judged by the gate: the effect is looked at as that tool, and repeated as none', async () => {
    const run = await newRun();
    const effect = await unknownIn(run);
    const path = `/v1/runs/${run}/effects/${effect}/migration`;
    expect((await stack.call('POST', path, { body: { tool: 'find_ticket', reason: 'it moved' } })).status).toBe(202);
    expect((await view(run)).migrations).toMatchObject([{ effect, tool: 'find_ticket', by: { id: 'ada' } }]);
    expect((await relay.judged(run)).find((f) => f.type === 'effect.migration-refused')?.data).toMatchObject({ code: 'UNKNOWN_TOOL' });
    expect((await stack.call('PUT', '/v1/tenant/registry', { body: { tools: [tool] } })).status).toBe(200);
    expect((await stack.call('POST', path, { body: { tool: 'find_ticket', reason: 'it is there now' } })).status).toBe(202);
    await relay.judged(run);
    const [e] = (await view(run)).unresolved;
    expect(e).toMatchObject({ effect, stage: 'unknown', migratedTo: 'find_ticket', contract: { kind: 'neither' }, allowed: ['look', 'wait-for-evidence'], prohibited: expect.stringContaining('do not ask for file_ticket') });
  });
  it('[TOOL-3] is for an effect of this run whose outcome is unknown, and says so', async () => {
    const run = await newRun();
    const { effect, attempt } = await relay.attempt(run);
    const body = { tool: 'find_ticket', reason: 'x' };
    await refused(`/v1/runs/${run}/effects/none/migration`, [body], 404);
    await refused(`/v1/runs/${run}/effects/${effect}/migration`, [{}, { tool: 'x' }, { ...body, reason: '' }, { ...body, tool: 'a\nb' }, { ...body, contract: { kind: 'keyed' } }]);
    await relay.by('effect-reconciler', run, [fact('effect.observed', { effect, attempt, ok: true, ...(await text('done')) })], { contents: uploads.splice(0) });
    const settled = await stack.call('POST', `/v1/runs/${run}/effects/${effect}/migration`, { body });
    expect([settled.status, settled.body['detail']]).toEqual([409, 'The outcome of this effect is not unknown, so it takes no migration: look at the run again.']);
  });
});

const uploads: ReturnType<typeof contentOf>[] = [];
const kept = (words: string) => { const c = contentOf(words, 'tool-result'); uploads.push(c); return c.ref; };
const text = async (words: string): Promise<{ readonly text: ReturnType<typeof kept>; readonly receipt: null }> => ({ text: kept(words), receipt: null });

describe('sources', () => {
  const observe = async (run: string, o: { readonly gap?: string; readonly required?: boolean; readonly source: string; readonly words?: string }): Promise<void> => {
    const { effect, attempt } = await relay.attempt(run, { tool: 'read_page', contract: { kind: 'read-only' } });
    const whole = kept(o.words ?? 'the page');
    await relay.by('effect-reconciler', run, [
      fact('effect.observed', { effect, attempt, ok: o.gap === undefined, text: whole, receipt: null }),
      fact('source.observed', { source: o.source, effect, identity: `page ${o.source}`, retrievedAt: Date.now(), scope: { target: 'pages', fields: {} }, content: o.gap === undefined ? whole : null, excerpt: kept((o.words ?? 'the page').slice(0, 8)), required: o.required ?? false, replay: o.gap === undefined ? 'recording' : 'live', gap: o.gap ?? null }),
    ], { contents: uploads.splice(0) });
    await relay.seal(run);
  };
  const recording = (run: string, source: string, as: 'ada' | 'eve' = 'ada') => stack.call('GET', `/v1/runs/${run}/sources/${source}/recording`, { as });

  it('[SRC-1] hands out what was recorded only once a person approved it, and says of what was not recorded that it must be retrieved live', async () => {
    const run = await newRun();
    await observe(run, { source: 'src-1', words: 'the whole page, as it was' });
    const listed = (await stack.call('GET', `/v1/runs/${run}/sources`)).body as unknown as http.SourcesView;
    expect(http.sourcesView.safeParse(listed).error).toBeUndefined();
    expect(listed.sources).toMatchObject([{ source: 'src-1', identity: 'page src-1', tool: 'read_page', review: 'unreviewed', reviewedBy: null, gap: null, missing: false, replay: { from: 'nowhere', code: 'RECORDING_UNREVIEWED' }, excerpt: { text: 'the whol' } }]);
    const unreviewed = await recording(run, 'src-1');
    expect([unreviewed.status, unreviewed.body['code'], unreviewed.text.includes('as it was')]).toEqual([409, 'RECORDING_UNREVIEWED', false]);
    expect((await stack.call('POST', `/v1/runs/${run}/sources/src-1/review`, { as: 'bob', body: { decision: 'approved', note: 'read it' } })).status).toBe(202);
    const approved = await recording(run, 'src-1');
    expect([approved.status, approved.text, approved.headers.get('x-content-type-options')]).toEqual([200, 'the whole page, as it was', 'nosniff']);
    expect(((await stack.call('GET', `/v1/runs/${run}/sources`)).body as unknown as http.SourcesView).sources[0]).toMatchObject({ review: 'approved', reviewedBy: { id: 'bob' }, replay: { from: 'recording' } });
    expect((await stack.call('POST', `/v1/runs/${run}/sources/src-1/review`, { body: { decision: 'rejected' } })).status).toBe(202);
    const rejected = await recording(run, 'src-1');
    expect([rejected.status, rejected.body['code'], rejected.body['detail']]).toEqual([409, 'RECORDING_REJECTED', 'Ada rejected the recording.']);
    for (const r of [await recording(run, 'none'), await recording(run, 'src-1', 'eve')]) expect([r.status, r.body['code']]).toEqual([404, 'NOT_FOUND']);
    await refused(`/v1/runs/${run}/sources/src-1/review`, [{}, { decision: 'maybe' }, { decision: 'approved', by: 'bob' }, { decision: 'approved', note: 'x'.repeat(4001) }]);
    await refused(`/v1/runs/${run}/sources/none/review`, [{ decision: 'approved' }], 404);
  });
  it('[SRC-2] names a required source that is missing in the run\'s view, and hands out nothing in its place', async () => {
    const run = await newRun();
    await observe(run, { source: 'src-2', required: true, gap: 'NOT_RETRIEVED: the connection was cut' });
    expect((await view(run)).sources).toEqual({ known: 1, omitted: 0, gaps: [{ source: 'src-2', identity: 'page src-2', why: 'NOT_RETRIEVED: the connection was cut' }] });
    const live = await recording(run, 'src-2');
    expect([live.status, live.body['code'], live.body['detail']]).toEqual([409, 'RECORDING_ABSENT', 'Nothing was recorded of page src-2 (NOT_RETRIEVED: the connection was cut): it must be retrieved live.']);
  });
});

describe('erasure', () => {
  it('[EFF-8] [EFF-1] is for an ended run; its record stays, and its unknown effect stays unresolved, with its evidence erased, never to be repeated', async () => {
    const run = await newRun({ goal: 'what is private' });
    const effect = await unknownIn(run);
    const early = await stack.call('POST', `/v1/runs/${run}/erasure`, { body: { reason: 'asked for' } });
    expect([early.status, early.body['code'], early.body['detail']]).toEqual([409, 'ILLEGAL', expect.stringContaining('ask it to end, then ask again')]);
    await ended(run);
    expect((await view(run)).actions).toContain('erase_run');
    await refused(`/v1/runs/${run}/erasure`, [{}, { reason: '' }, { reason: ' ' }, { reason: 'x', now: true }]);
    expect((await stack.call('POST', `/v1/runs/${run}/erasure`, { body: { reason: 'asked for' } })).status).toBe(202);
    expect((await stack.call('POST', `/v1/runs/${run}/erasure`, { body: { reason: 'again' } })).body['detail']).toMatch(/asked for already/u);
    expect((await view(run)).erasure).toMatchObject({ reason: 'asked for', by: { id: 'ada' } });
    const commitment = (await view(run)).goal?.ref.commitment ?? '';
    await relay.seal(run);
    await relay.by('checkpoint-sealer', run, [fact('content.erased', { reason: 'asked for', by: { kind: 'person', id: 'ada' }, unresolved: [effect] })]);
    await relay.seal(run);
    const after = await view(run);
    expect([after.evidenceErased, after.erasure, after.goal?.text, after.title]).toEqual([true, null, null, 'what is private']);
    expect(after.unresolved).toMatchObject([{ effect, stage: 'unknown', evidenceErased: true, allowed: [], prohibited: expect.stringContaining('its evidence was erased'), needsPerson: expect.stringContaining('EVIDENCE_ERASED') }]);
    const content = await stack.call('GET', `/v1/runs/${run}/content/${commitment}`);
    expect([content.status, content.body['code'], content.text.includes('private')]).toEqual([410, 'ERASED', false]);
    expect((await types(run)).filter((t) => t === 'effect.attempt-started')).toHaveLength(1);
    expect(after.actions).not.toContain('erase_run');
    expect(after.erased).toMatchObject({ reason: 'asked for', by: { id: 'ada' } });
    const again = await stack.call('POST', `/v1/runs/${run}/erasure`, { body: { reason: 'once more' } });
    expect([again.status, again.body['detail'], (await view(run)).revision]).toEqual([409, expect.stringMatching(/were erased already/u), after.revision]);
  });
});

describe('delegations', () => {
  const list = async (): Promise<http.DelegationsView> => (await stack.call('GET', '/v1/tenant/delegations')).body as unknown as http.DelegationsView;
  it('[POL-1] [SEC-1] are given by the caller alone, shown, and taken back by whoever gave them; without one nobody starts a run for another', async () => {
    const forAda = (as: 'bob' | 'ada', key?: string) => stack.call('POST', '/v1/runs', { as, body: { goal: 'for her', onBehalfOf: 'ada' }, ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }) });
    const none = await forAda('bob', 'for-ada-01');
    expect([none.status, none.body['code'], none.body['path'], none.body['detail']]).toEqual([403, 'DELEGATION_ABSENT', '/onBehalfOf', expect.stringMatching(/^No delegation from ada to you stands now: ada can give one/u)]);
    const before = await list();
    const given = await stack.call('POST', '/v1/tenant/delegations', { body: { to: 'bob', tools: ['file_ticket'], until: '2999-01-01T00:00:00Z' }, headers: { 'idempotency-key': 'delegate-1' } });
    const again = await stack.call('POST', '/v1/tenant/delegations', { body: { to: 'bob', tools: ['file_ticket'], until: '2999-01-01T00:00:00Z' }, headers: { 'idempotency-key': 'delegate-1' } });
    expect([given.status, again.status, again.body, given.body['revision']]).toEqual([201, 201, given.body, before.revision + 1]);
    const delegation = given.body['delegation'] as unknown as string;
    const listed = await list();
    expect(http.delegationsView.safeParse(listed).error).toBeUndefined();
    expect(listed.delegations).toEqual([{ delegation, from: 'ada', to: 'bob', tools: ['file_ticket'], until: '2999-01-01T00:00:00.000Z', stands: true }]);
    expect((await stack.call('GET', '/v1/tenant/roles')).body['document']).toMatchObject({ people: roles.people }); // the rest of the document stays

    const made = await forAda('bob', 'for-ada-02');
    expect(made.status).toBe(201);
    const run = (made.body as unknown as http.Accepted).run;
    expect(await view(run)).toMatchObject({ onBehalfOf: 'ada', requester: { kind: 'person', id: 'bob' } });
    expect(((await forAda('ada')).body as unknown as http.Accepted).run).toBeDefined(); // for oneself nobody needs one
    expect((await stack.call('POST', '/v1/runs', { body: { goal: 'x', onBehalfOf: 'bob' } })).body['code']).toBe('DELEGATION_ABSENT'); // not the other way round

    const stranger = await stack.call('DELETE', `/v1/tenant/delegations/${delegation}`, { as: 'bob' });
    expect([stranger.status, stranger.body['code']]).toEqual([403, 'NOT_YOURS']);
    expect((await stack.call('DELETE', `/v1/tenant/delegations/${delegation}`, { as: 'eve' })).status).toBe(404);
    expect((await stack.call('DELETE', `/v1/tenant/delegations/${delegation}`, { headers: { 'if-match': '"1"' } })).status).toBe(412);
    expect((await stack.call('DELETE', `/v1/tenant/delegations/${delegation}`)).status).toBe(200);
    expect((await stack.call('DELETE', `/v1/tenant/delegations/${delegation}`)).status).toBe(404);
    expect((await list()).delegations).toEqual([]);
    expect((await forAda('bob')).body['code']).toBe('DELEGATION_ABSENT');
    expect((await forAda('bob', 'for-ada-02')).body).toEqual(made.body); // the repeat of what was done
    await relay.seal(run);
  });
  it('[POL-1] [SEC-2] are neither given nor brought back by somebody else who publishes the roles, however old their copy', async () => {
    const put = (document: unknown) => stack.call('PUT', '/v1/tenant/roles', { as: 'bob', body: document as never });
    const before = (await stack.call('GET', '/v1/tenant/roles')).body['document'] as unknown as { readonly people: unknown; readonly delegations: readonly object[] };
    const forged = { delegation: 'mine', from: 'ada', to: 'bob', tools: ['*'], until: null };
    expect((await put({ ...before, delegations: [forged] })).body['code']).toBe('NOT_YOURS');
    const given = await stack.call('POST', '/v1/tenant/delegations', { body: { to: 'bob', tools: ['file_ticket'] } });
    const copy = (await stack.call('GET', '/v1/tenant/roles')).body['document'] as unknown as typeof before;
    expect((await put(copy)).status).toBe(200); // as it stands
    expect((await put({ ...copy, delegations: [{ ...copy.delegations[0], tools: ['*'] }] })).body['code']).toBe('NOT_YOURS');
    expect((await stack.call('DELETE', `/v1/tenant/delegations/${String(given.body['delegation'])}`)).status).toBe(200);
    expect((await put(copy)).body['code']).toBe('NOT_YOURS');
    expect((await list()).delegations).toEqual([]);
    expect((await put({ ...before, delegations: [{ ...forged, from: 'bob', to: 'ada' }] })).status).toBe(200);
    expect((await put(before)).status).toBe(200);
  });
  it('[POL-1] are bounded and name nobody else as giver', async () => {
    await refused('/v1/tenant/delegations', [{}, { to: 'bob' }, { to: 'bob', tools: [] }, { to: '', tools: ['x'] }, { to: 'ada', tools: ['x'] }, { to: 'bob', tools: ['x'], until: '2001-01-01T00:00:00Z' }, { to: 'bob', tools: ['x'], until: 'tomorrow' }, { to: 'bob', tools: ['x'], from: 'eve' }, { to: 'bob', tools: Array.from({ length: 101 }, (_, i) => `t${i}`) }]);
    expect((await list()).delegations).toEqual([]);
  });
});

describe('what the gate decided', () => {
  it('[POL-3] is read page by page: about what, in which words, by which rules, on which revisions, when', async () => {
    const run = await newRun();
    const effect = await unknownIn(run);
    await relay.judged(run); // contract neither: nothing left for the system
    const all = ((await stack.call('GET', `/v1/runs/${run}/decisions`)).body) as unknown as http.DecisionsPage;
    expect(http.decisionsPage.safeParse(all).error).toBeUndefined();
    expect(all.decisions.map((d) => [d.decision, d.about.kind, d.about.tool])).toEqual([['generation.permitted', 'model-call', null], ['effect.permitted', 'effect', 'file_ticket'], ['effect.recovery-denied', 'effect', 'file_ticket']]);
    const denied = all.decisions[2] as http.ShownDecision;
    const tenant = await Promise.all((['policy', 'registry', 'profiles', 'roles'] as const).map(async (t) => [t, (await stack.call('GET', `/v1/tenant/${t}`)).body['revision']] as const));
    expect(denied).toMatchObject({ about: { id: effect }, code: expect.stringMatching(/^[A-Z_]+$/u), words: [expect.stringMatching(/only a receipt or a person can tell|say what happened/u)], rests: { ...Object.fromEntries(tenant), run: denied.revision - 1 } });
    expect(Math.abs(Date.parse(denied.at) - Date.now())).toBeLessThan(60_000);
    expect(all.decisions[1]?.rules).toEqual(['by-hand']);
    const pages: http.ShownDecision[] = [];
    for (let after: number | null = 0, n = 0; after !== null && n < 10; n++) {
      const page = (await stack.call('GET', `/v1/runs/${run}/decisions?limit=1&after=${after}`)).body as unknown as http.DecisionsPage;
      pages.push(...page.decisions);
      after = page.next;
    }
    expect(pages).toEqual(all.decisions);
    for (const query of ['limit=0', 'limit=501', 'after=-1', 'after=x']) expect((await stack.call('GET', `/v1/runs/${run}/decisions?${query}`)).status).toBe(400);
  });
});

describe('a run\'s view', () => {
  it('[SCH-1] has each wait with its intent, owner, time, clock, reservation, what ends it early and its bound', async () => {
    const run = await newRun({ wallMs: 3_600_000 });
    const { effect, attempt } = await relay.attempt(run, { reserve: { usd_micros: 3, tokens: 0, calls: 1 } });
    const before = await view(run);
    const lease = before.schedule.find((w) => w.of === attempt);
    expect(lease).toMatchObject({ owner: 'effect-reconciler', intent: expect.stringContaining('what became of an attempt'), clock: 'store', reserved: { usd_micros: 3, tokens: 0, calls: 1 }, endsEarly: ['its outcome is recorded'], bound: expect.any(String) });
    expect(Date.parse(lease?.at ?? '') - Date.parse(before.effects[0]?.attempts[0]?.startedAt ?? '')).toBe(60_000);
    expect(before.schedule.find((w) => w.intent.includes('time for work'))).toMatchObject({ owner: 'policy-gate', at: before.work.endsAt });
    await relay.by('effect-reconciler', run, [fact('effect.outcome-unknown', { effect, attempt, cause: 'cut' })]);
    await relay.judged(run);
    expect((await view(run)).schedule.find((w) => w.owner === 'person')).toMatchObject({ intent: 'be told what happened', of: effect, at: null, reserved: { usd_micros: 3 }, endsEarly: ['a receipt comes'] });
  });
  it('[APP-1] has each approval with by whom, until when, and what exactly it covers', async () => {
    const run = await newRun();
    const { effect, attempt } = await relay.attempt(run);
    await relay.by('effect-reconciler', run, [fact('effect.not-sent', { effect, attempt, cause: 'x' })]);
    await relay.seal(run);
    const s = await relay.state(run);
    const expiresAt = Date.now() + 60_000;
    await relay.by('policy-gate', run, [fact('approval.requested', { approval: 'ap-1', effect, subject: s.effects[effect]?.subject as never, reasons: ['look first'], beside: [], expiresAt, tenant: { policy: 1, registry: 0, profiles: 0, roles: 1 }, grounds: { revision: s.revision, at: Date.now(), by: ['ask'], met: [] } })]);
    await relay.seal(run);
    const asked = (await view(run)).approvals;
    expect(asked).toEqual([{ approval: 'ap-1', effect, subject: s.effects[effect]?.subject, stage: 'requested', by: null, expiresAt: new Date(expiresAt).toISOString(), tool: 'file_ticket', target: 'tickets', beside: [], reasons: ['look first'], rules: ['ask'], note: '' }]);
    expect((await view(run)).effects[0]?.attempts).toMatchObject([{ end: 'not-sent', cause: 'x' }]);
    expect((await stack.call('POST', `/v1/runs/${run}/approvals/ap-1`, { body: { decision: 'approved', subject: asked[0]?.subject, note: 'go' } })).status).toBe(202);
    expect((await view(run)).approvals).toMatchObject([{ stage: 'approved', by: { kind: 'person', id: 'ada' }, note: 'go' }]);
  });
});

describe('a tool\'s receipt by callback', () => {
  const deposit = (token: string | null, body: unknown = { receipt: { ticket: 7 } }, headers: Record<string, string> = {}) => stack.call('POST', '/v1/receipts', { as: null, body, headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers } });
  const receiptsOf = async (run: string): Promise<number> => (await types(run)).filter((t) => t === 'receipt.received').length;

  it('[EFF-5] settles the one effect that its capability is for, without a token of the API, once for one key', async () => {
    const run = await newRun();
    const effect = await unknownIn(run);
    const token = receiptToken(RECEIPT_KEY, { tenant: 'acme', run, effect });
    const first = await deposit(token, { receipt: { ticket: 7 } }, { 'idempotency-key': 'receipt-01' });
    const again = await deposit(token, { receipt: { ticket: 7 } }, { 'idempotency-key': 'receipt-01' });
    expect([first.status, first.body['run'], again.body]).toEqual([202, run, first.body]);
    const e = ((await stack.call('GET', `/v1/runs/${run}/events?limit=500`)).body as unknown as { events: { type: string; actor: object; data: { effect?: string; from?: string } }[] }).events.filter((x) => x.type === 'receipt.received');
    expect(e.map((x) => [x.actor, x.data.effect, x.data.from])).toEqual([[{ kind: 'tool', id: effect }, effect, 'file_ticket, by callback']]);
    await relay.by('effect-reconciler', run, takeReceipts(await relay.state(run)) as readonly Fact[]);
    expect((await view(run)).effects.map((x) => x.stage)).toEqual(['happened']);
  });
  it('[SEC-1] [EFF-5] opens nothing else: not another effect, run or tenant, not another path; and a person\'s token does not open this one', async () => {
    const run = await newRun();
    const effect = await unknownIn(run);
    const good = receiptToken(RECEIPT_KEY, { tenant: 'acme', run, effect });
    const [a, claim, mac] = good.split('.') as [string, string, string];
    const other = receiptToken(RECEIPT_KEY, { tenant: 'acme', run, effect: 'eff-other' }).split('.') as [string, string, string];
    const wrong = [null, '', 'x', `${good}x`, good.slice(0, -1), `${a}.${other[1]}.${mac}`, `${a}.${claim}.${other[2]}`, receiptToken(secret(), { tenant: 'acme', run, effect }), stack.token('ada'), `${a}.${claim.slice(0, -1)}.${mac}`];
    const answers = await Promise.all(wrong.map((t) => deposit(t)));
    expect(new Set(answers.map((r) => `${r.status} ${r.text}`)).size).toBe(1); // nothing tells what is wrong, or what is there
    expect([answers[0]?.status, answers[0]?.body['code']]).toEqual([401, 'UNAUTHENTICATED']);
    for (const path of [`/v1/runs/${run}`, '/v1/runs', `/v1/runs/${run}/effects/${effect}/finding`]) expect((await stack.call('GET', path, { as: null, headers: { authorization: `Bearer ${good}` } })).status).toBe(401);
    for (const path of ['/v1/receipts/', '/V1/Receipts']) expect((await stack.call('POST', path, { body: { receipt: 1 } })).status).toBe(401);
    expect((await deposit(receiptToken(RECEIPT_KEY, { tenant: 'globex', run, effect }))).status).toBe(404);
    expect((await deposit(receiptToken(RECEIPT_KEY, { tenant: 'acme', run, effect: 'eff-never' }))).status).toBe(404);
    for (const body of [{}, { receipt: 1, effect: 'eff-other' }, { receipt: 1, from: 'x' }, []]) expect((await deposit(good, body)).status).toBe(400);
    expect((await deposit(good, { receipt: { thoughtSignature: 'QUJD' } })).status).toBe(422);
    expect((await deposit(good, { receipt: 'x'.repeat(70_000) })).status).toBe(413);
    expect(await receiptsOf(run)).toBe(0);
  });
  it('[EFF-5] takes no more than a bound of one effect, and takes one also when the run is over', async () => {
    const run = await newRun();
    const effect = await unknownIn(run);
    const token = receiptToken(RECEIPT_KEY, { tenant: 'acme', run, effect });
    await ended(run);
    const answers: number[] = [];
    for (let i = 0; i < 22; i++) answers.push((await deposit(token, { receipt: i })).status);
    expect(answers).toEqual([...Array(20).fill(202), 429, 429]);
    expect(await receiptsOf(run)).toBe(20);
    expect(applyFindings(await relay.state(run))).toEqual([]);
  });
});

describe('the client', () => {
  it('[BUD-1] [POL-1] [SRC-1] has a method for each of them', async () => {
    const client = new N17qClient({ baseUrl: stack.base, token: stack.token('ada') });
    const { run } = await client.createRun({ goal: 'x', budget: { calls: 1 }, wallMs: 60_000 });
    expect((await client.run(run)).budget.granted).toEqual({ usd_micros: 1_000_000, tokens: 500_000, calls: 1 });
    await client.raiseBudget(run, { amounts: { calls: 1 }, reason: 'x' });
    const given = await client.delegate({ to: 'bob', tools: ['*'] });
    expect((await client.delegations()).delegations.map((d) => [d.delegation, d.until])).toEqual([[given.delegation, null]]);
    await client.takeBackDelegation(given.delegation);
    expect(await client.sources(run)).toEqual({ sources: [], omitted: 0 });
    expect(await client.decisions(run)).toEqual({ decisions: [], next: null });
    await expect(client.recording(run, 'none')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(client.migrateEffect(run, 'none', { tool: 'x', reason: 'x' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(client.reviewSource(run, 'none', { decision: 'approved' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(client.eraseRun(run, 'x')).rejects.toMatchObject({ code: 'ILLEGAL' });
  });
});
