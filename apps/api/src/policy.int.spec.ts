import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { digestOf, type http } from '@n17q/contracts';
import type { Json, PolicyDocument, ToolMapping } from '@n17q/domain';
import { openSandbox, type Sandbox } from '@n17q/testing';
import { ALLOW_ALL, askFor, forbidTools } from '@n17q/rules';
import { busPasswords, configFor, openStack, type Answered, type Stack } from './spec-kit.js';

const passwords = busPasswords();
let sandbox: Sandbox;
let stack: Stack;
beforeAll(async () => {
  sandbox = await openSandbox({ nats: { configText: configFor(passwords) }, postgres: true });
  stack = await openStack(sandbox, passwords);
}, 90_000);
afterAll(async () => { await stack?.stop(); await sandbox?.close(); }, 30_000);

const NOTHING = { usd_micros: 0, tokens: 0, calls: 0 };
const policy = (rules: string, more: Partial<PolicyDocument> = {}): PolicyDocument => ({
  rules, hook: null, permitLifeMs: 60_000, leaseMs: 60_000, attemptsMax: 3, looksMax: 3, approvalLifeMs: 60_000, slice: NOTHING, findingRoles: [], approverRoles: [], raiseRoles: [], fourEyes: false, observationAgeMsMax: 0, ...more,
});
const PAY: Json = { type: 'object', properties: { to: { type: 'string' }, amount: { type: 'number' } }, required: ['to', 'amount'], additionalProperties: false };
const tool = (name: string, schema: Json = PAY): ToolMapping => ({
  name, description: name, server: 'shop', schema, schemaDigest: digestOf(schema), mappingRevision: 1, contract: { kind: 'neither' }, scopeFields: ['to'], target: 'shop', connector: { kind: 'http', config: { baseUrl: 'http://127.0.0.1:9', method: 'POST', path: '/calls' } }, timeoutMs: 1000, argumentBytesMax: 1000, outputBytesMax: 1000, dataClass: 'internal', costUsdMicros: 0,
});
const OVER_100 = '@id("large") @reason("too much at once")\nforbid (principal, action == N17Q::Action::"call:pay", resource) when { context.args.amount.greaterThan(decimal("100.0")) };\n';

const put = (topic: string, body: object, headers: Record<string, string> = {}): Promise<Answered> => stack.call('PUT', `/v1/tenant/${topic}`, { body, headers });
const problem = (a: Answered): http.ProblemBody & { readonly rule?: string; readonly faults?: readonly { readonly rule: string; readonly problem: string }[] } => a.body as never;
const revisionOf = async (topic: string): Promise<number> => ((await stack.call('GET', `/v1/tenant/${topic}`)).body as unknown as { revision: number }).revision;

describe('publishing rules', () => {
  it('[POL-1] [POL-4] takes rules that stand, and refuses with one clear problem what does not: unreadable text, a tool that is not registered, a rule that can never apply', async () => {
    expect((await put('registry', { tools: [tool('pay')] })).status).toBe(200);
    expect((await put('policy', policy(ALLOW_ALL + OVER_100))).status).toBe(200);
    const before = await revisionOf('policy');
    const cases: readonly [string, RegExp, string][] = [
      [`${ALLOW_ALL}forbid (principal, action`, /^The text cannot be read at 3:\d+: /, '3:26'],
      [ALLOW_ALL + forbidTools(['pya'], 'no', 'typo'), /^Rule typo: It is about calls of the tool pya \(5:31\), which the registry does not have\./, 'typo'],
      [ALLOW_ALL + OVER_100.replace('amount.', 'amuont.'), /^Rule large: At 4:\d+: attribute `args\.amuont` .* not found/, 'large'],
      [`${ALLOW_ALL}@id("x") @reason("r") forbid (principal is N17Q::Tool, action, resource);`, /^Rule x: It can never apply/, 'x'],
      ['permit (principal, action, resource);', /has no name/, ''],
    ];
    for (const [rules, words, rule] of cases) {
      const r = await put('policy', policy(rules));
      expect([r.status, problem(r).code, problem(r).rule, problem(r).path, problem(r).detail]).toEqual([422, 'RULES_BROKEN', rule, '/rules', expect.stringMatching(words)]);
    }
    const many = await put('policy', policy(ALLOW_ALL + forbidTools(['a'], 'no', 'a') + forbidTools(['b'], 'no', 'b')));
    expect([problem(many).detail, problem(many).faults?.map((f) => f.rule)]).toEqual([expect.stringMatching(/1 more is under `faults`\.$/), ['a', 'b']]);
    expect(await revisionOf('policy')).toBe(before); // nothing of it was published
  });

  it('[POL-4] [TOOL-1] refuses a registry under which the rules in force would break, and one whose schema is not what its digest says', async () => {
    const before = await revisionOf('registry');
    const gone = await put('registry', { tools: [tool('ship')] });
    expect([gone.status, problem(gone).code, problem(gone).detail]).toEqual([422, 'RULES_BROKEN', expect.stringMatching(/^With this registry the rules in force would break, so publish other rules first\. Rule large: It is about calls of the tool pay/)]);
    const text = { ...(PAY as object), properties: { to: { type: 'string' }, amount: { type: 'string' } } };
    expect(problem(await put('registry', { tools: [{ ...tool('pay', text), mappingRevision: 2 }] })).detail).toMatch(/Rule large: /);
    const lying = await put('registry', { tools: [tool('pay'), { ...tool('ship'), schemaDigest: digestOf('other') }] });
    expect([lying.status, problem(lying).code, problem(lying).path]).toEqual([400, 'MALFORMED', '/tools/1/schemaDigest']);
    expect(await revisionOf('registry')).toBe(before);
    expect((await put('registry', { tools: [tool('pay'), tool('ship')] })).status).toBe(200);
  });
});

describe('before it is in force', () => {
  it('[POL-1] shows what rules can be about, from the registry', async () => {
    const r = await stack.call('GET', '/v1/tenant/policy/schema');
    expect([r.status, r.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(r.text).toContain('action "call:ship" in [Action::"call"] appliesTo');
    expect(r.text).toMatch(/amount: decimal/);
  });

  it('[POL-3] says what a candidate changes, by rules and by fields, and publishes nothing', async () => {
    const before = await revisionOf('policy');
    const candidate = policy(`${ALLOW_ALL.replace('(', ' (\n ')}${OVER_100.replace('100.0', '50.0')}${askFor(['ship'], 'look first', 'ask')}`, { fourEyes: true });
    const r = await stack.call('POST', '/v1/tenant/policy/diff', { body: candidate });
    expect(r.status).toBe(200);
    expect(r.body).toEqual({ revision: before, rules: { added: ['ask'], removed: [], changed: ['large'] }, permitsNothing: false, fields: [{ field: 'fourEyes', now: false, would: true }] });
    expect((await stack.call('POST', '/v1/tenant/policy/diff', { body: policy(OVER_100) })).body['permitsNothing']).toBe(true);
    expect(problem(await stack.call('POST', '/v1/tenant/policy/diff', { body: policy('permit') })).code).toBe('RULES_BROKEN');
    expect(problem(await stack.call('POST', '/v1/tenant/policy/dry-run', { body: policy(forbidTools(['none'], 'r', 'x')) })).code).toBe('RULES_BROKEN');
    const nothing = await stack.call('POST', '/v1/tenant/policy/dry-run', { body: candidate });
    expect(nothing.body).toEqual({ revision: before, runs: 0, decisions: 0, skipped: 0, complete: true, changes: [] });
    expect(await revisionOf('policy')).toBe(before);
  });
});

describe('looking back', () => {
  it('[POL-1] [POL-3] keeps every publication, and brings an old one back as a new revision', async () => {
    for (let n = 0; n < 3; n++) expect((await put('policy', policy(ALLOW_ALL + OVER_100, { attemptsMax: 10 + n }))).status).toBe(200);
    const head = await revisionOf('policy');
    const all = (await stack.call('GET', '/v1/tenant/policy/revisions')).body as unknown as http.DocumentRevisions;
    expect(all.revisions.map((x) => x.revision)).toEqual(Array.from({ length: head }, (_, n) => head - n));
    expect(all.revisions[0]).toMatchObject({ by: { kind: 'person', id: 'ada' } });
    expect(all.next).toBeNull();
    const pages: number[] = [];
    for (let before: number | null = head + 1; before !== null; ) {
      const page = (await stack.call('GET', `/v1/tenant/policy/revisions?limit=2&before=${before}`)).body as unknown as http.DocumentRevisions;
      pages.push(...page.revisions.map((x) => x.revision));
      before = page.next;
    }
    expect(pages).toEqual(all.revisions.map((x) => x.revision));
    const old = await stack.call('GET', `/v1/tenant/policy/revisions/${head - 2}`);
    expect([old.headers.get('etag'), (old.body as unknown as { document: PolicyDocument }).document.attemptsMax]).toEqual([`"${head - 2}"`, 10]);
    for (const none of [head + 1, 0, -1, 'x', '1e3']) expect((await stack.call('GET', `/v1/tenant/policy/revisions/${none}`)).status).toBe(404);
    const document = (old.body as unknown as { document: PolicyDocument }).document;
    expect(problem(await put('policy', document, { 'if-match': `"${head - 1}"` })).code).toBe('PRECONDITION_FAILED');
    expect((await put('policy', document, { 'if-match': `"${head}"` })).body).toMatchObject({ revision: head + 1 });
    expect(((await stack.call('GET', '/v1/tenant/policy')).body as unknown as { document: PolicyDocument }).document).toEqual(document);
  });

  it('[SEC-1] shows nothing of another tenant\'s', async () => {
    expect(((await stack.call('GET', '/v1/tenant/policy/revisions', { as: 'eve' })).body as unknown as http.DocumentRevisions).revisions).toEqual([]);
    expect((await stack.call('GET', '/v1/tenant/policy/revisions/1', { as: 'eve' })).status).toBe(404);
    expect((await stack.call('GET', '/v1/tenant/policy/schema', { as: 'eve' })).text).not.toContain('pay');
  });
});
