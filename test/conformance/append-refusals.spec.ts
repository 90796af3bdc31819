/** What the event store refuses, asked over the real bus as a caller would: a typed word for what was wrong, and not a row left behind. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { connectBus, request, storeSubject, type Bus, type BusUser } from '@n17q/bus';
import { contentOf, type AppendOutcome, type AppendRequest, type ContentUpload } from '@n17q/contracts';
import { runStream, type RunId } from '@n17q/domain';
import { createRun, startStack, type Stack } from '@n17q/testing';
import pg from 'pg';

type Sent = { -readonly [K in keyof AppendRequest]: unknown } & Record<string, unknown>;
const wire = (c: ContentUpload) => ({ ref: c.ref, salt: Buffer.from(c.salt).toString('base64'), body: Buffer.from(c.body).toString('base64') });

describe('an append that is not in order', () => {
  let stack: Stack;
  let run: RunId;
  let owner: pg.Client;
  const buses: Bus[] = [];
  beforeAll(async () => {
    stack = await startStack({ services: ['event-store'] });
    run = await stack.createRun({ goal: 'stand there' });
    owner = new pg.Client({ connectionString: stack.sandbox.postgres.url(undefined, undefined, new URL(stack.site.databases.reader).pathname.slice(1)) });
    await owner.connect();
  }, 90_000);
  afterAll(async () => {
    await owner?.end();
    await Promise.all(buses.map((b) => b.close(500)));
    await stack?.close();
  }, 60_000);

  const as = async (user: BusUser): Promise<Bus> => {
    const bus = await connectBus({ service: user, url: stack.site.natsUrl, password: stack.site.busPasswords[user] });
    buses.push(bus);
    return bus;
  };
  /** Every row of every table, as one text each. */
  async function rows(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    const tables = (await owner.query<{ t: string }>(`select tablename as t from pg_tables where schemaname = 'n17q' and tablename <> 'relay'`)).rows.map((r) => r.t); // the relay's lease and cursor move by themselves
    expect(tables).toEqual(expect.arrayContaining(['events', 'streams', 'contents', 'checkpoints', 'open_effects', 'needs', 'accounts', 'lanes']));
    for (const t of tables) found[t] = (await owner.query<{ all: string }>(`select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as all from n17q.${t} t`)).rows[0]?.all ?? '';
    return found;
  }
  const text = contentOf('what a person says', 'input');
  const good = (over: Partial<Sent> = {}): Sent => ({
    tenant: stack.tenant, stream: runStream(run), expected: 1, appendId: randomUUID(), actor: { kind: 'person', id: 'operator' }, correlation: run, causation: null,
    events: [{ eventId: randomUUID(), type: 'input.received', data: { text: text.ref } }], contents: [wire(text)], ...over,
  });
  const event = (type: string, data: unknown, more: object = {}): readonly unknown[] => [{ eventId: randomUUID(), type, data, ...more }];
  const created = (title: unknown, more: object = {}): Partial<Sent> => {
    const goal = contentOf('g', 'input');
    return {
      stream: runStream(randomUUID() as RunId), expected: 0, contents: [wire(goal)],
      events: event('run.created', { goal: goal.ref, title, retention: 'standard', world: { kind: 'real' }, budget: { usd_micros: 1, tokens: 1, calls: 1 }, constraints: [], tools: [], workspace: null, whenDone: 'end', changePolicy: 'allow', onBehalfOf: null, wallMs: null, ...more }),
    };
  };
  async function answer(body: unknown, bus = stack.bus, user: 'api' | 'provider-gateway' = 'api'): Promise<AppendOutcome> {
    const o = await request<AppendOutcome>(bus, storeSubject('append', user), body, { timeoutMs: 5_000 });
    if (o.kind !== 'answered') throw new Error(`no answer of the store: ${JSON.stringify(o)}`);
    return o.value;
  }

  const CASES: readonly (readonly [string, string, () => Partial<Sent>, RegExp])[] = [
    ['a missing field', 'MALFORMED', () => ({ events: event('input.received', {}) }), /text/],
    ['an unknown field beside the others', 'MALFORMED', () => ({ surprise: 1 }), /surprise/],
    ['no event at all', 'MALFORMED', () => ({ events: [] }), /events/],
    ['a tenant that would change a key', 'MALFORMED', () => ({ tenant: 'a.b' }), /tenant/],
    ['a stream that is none', 'MALFORMED', () => ({ stream: 'run/../x' }), /stream/],
    ['content beyond the inline bound', 'TOO_LARGE', () => { const c = contentOf(Buffer.alloc(64 * 1024 + 1, 'x'), 'input'); return { events: event('input.received', { text: c.ref }), contents: [wire(c)] }; }, /65536/],
    ['more bytes than an append may have', 'TOO_LARGE', () => { const cs = Array.from({ length: 10 }, (_, i) => contentOf(Buffer.alloc(60 * 1024, String(i)), 'input')); return { events: cs.map((c) => event('input.received', { text: c.ref })[0]), contents: cs.map(wire) }; }, /786432/],
    ['another schema version', 'WRONG_VERSION', () => ({ events: event('input.received', { text: text.ref }, { schemaVersion: 2 }) }), /version 2/],
    ['an unknown event type', 'UNKNOWN_TYPE', () => ({ events: event('run.rewritten', {}) }), /run\.rewritten/],
    ['an event of another writer', 'WRONG_OWNER', () => ({ events: event('run.paused', { reason: 'because', code: 'ASKED' }) }), /policy-gate/],
    ['an event of another kind of stream', 'WRONG_STREAM', () => ({ events: event('allowance.granted', { amounts: { usd_micros: 1, tokens: 1, calls: 1 }, reason: 'x' }) }), /run\//],
    ['a transition that is not legal', 'ILLEGAL', () => ({ events: event('effect.finding-submitted', { finding: 'f', effect: 'eff-none', verdict: 'happened', evidence: text.ref }) }), /eff-none/],
    ['a second creation', 'ILLEGAL', () => ({ ...created('again'), stream: runStream(run), expected: 1 }), /exists already/],
    ['an event for a run that is not there', 'ILLEGAL', () => ({ stream: runStream(randomUUID() as RunId), expected: 0 }), /does not exist/],
    ['content that is not what its reference commits to', 'CONTENT_ALTERED', () => ({ contents: [{ ...wire(text), body: Buffer.from('what a person said').toString('base64') }] }), /commits/],
    ['a reference to content that nobody has', 'CONTENT_MISSING', () => ({ events: event('input.received', { text: contentOf('kept back', 'input').ref }), contents: [] }), /./],
    ['a continuation of the caller\'s own', 'CARRIER_FIELD', () => { const c = contentOf('opaque', 'continuation'); return { contents: [wire(text), wire(c)] }; }, /continuation/],
    ['a reference to a continuation', 'CARRIER_FIELD', () => { const c = contentOf('opaque', 'continuation'); return { events: event('input.received', { text: c.ref }) }; }, /continuation/],
    ['a provider\'s field inside an event', 'MALFORMED', () => ({ events: event('input.received', { text: text.ref, thoughtSignature: 'AAAA' }) }), /thoughtSignature/],
    ['half of a character pair in a text', 'MALFORMED', () => created('lone \ud800 half'), /./],
    ['a number beyond what can be counted', 'MALFORMED', () => created('t', { budget: { usd_micros: 2 ** 60, tokens: 1, calls: 1 } }), /usd_micros/],
    ['a fraction where amounts are counted', 'MALFORMED', () => created('t', { budget: { usd_micros: 0.5, tokens: 1, calls: 1 } }), /usd_micros/],
    ['a stream at another revision than it must be', 'REQUIREMENT_FAILED', () => ({ requires: [{ stream: 'tenant/policy', revision: 9 }] }), /moved/],
    ['a checkpoint without its event', 'CHECKPOINT_WRONG', () => ({ checkpoint: { checkpoint: 'c', manifest: '{}' } }), /./],
  ];
  it.each(CASES)('[RUN-1] [CON-3] is refused in a word for %s (%s), and leaves nothing', async (_what, code, over, says) => {
    const before = await rows();
    const o = await answer(good(over()));
    expect(o).toMatchObject({ kind: 'refused', code });
    expect((o as { message: string }).message).toMatch(says);
    expect(await rows()).toEqual(before);
  });

  it('[RUN-1] takes a text with a NUL as it is, or refuses it, and answers either way', async () => {
    const over = created('with \u0000 inside');
    const before = await rows();
    const o = await answer(good(over));
    if (o.kind === 'refused') expect(await rows()).toEqual(before);
    else expect((await stack.store.readEvents(stack.tenant, over.stream as never, 0, 1))[0]?.data).toMatchObject({ title: 'with \u0000 inside' });
    expect((await answer(good(created('the next one')))).kind).toBe('appended');
  });

  it.each([
    ['bytes that are no JSON', Buffer.from('{"tenant":')], ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00])], ['a number that no double holds', Buffer.from('{"expected":1e999}')], ['a list', Buffer.from('[]')], ['nothing', Buffer.alloc(0)],
  ])('[RUN-1] answers %s with what is wrong, and goes on', async (_what, bytes) => {
    const before = await rows();
    const reply = await stack.bus.nc.request(storeSubject('append', 'api'), bytes, { timeout: 5_000 });
    expect(new TextDecoder().decode(reply.data)).toMatch(/MALFORMED|BAD_REQUEST/);
    expect(await rows()).toEqual(before);
  });

  it('[RUN-1] answers lists in lists without end with what is wrong, and goes on', async () => {
    const before = await rows();
    const tool = { name: 't', description: '', server: 's', schema: '$DEEP', schemaDigest: '0'.repeat(64), mappingRevision: 1, contract: { kind: 'neither' }, scopeFields: [], target: 't', connector: { kind: 'http', config: {} }, timeoutMs: 1, argumentBytesMax: 1, outputBytesMax: 1, dataClass: 'internal', costUsdMicros: 0 };
    const body = JSON.stringify(good({ stream: 'tenant/registry', contents: [], events: event('registry.published', { tools: [tool] }) })).replace('"$DEEP"', `${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    const reply = await stack.bus.nc.request(storeSubject('append', 'api'), Buffer.from(body), { timeout: 10_000 });
    expect(new TextDecoder().decode(reply.data)).toMatch(/MALFORMED|BAD_REQUEST/);
    expect(await rows()).toEqual(before);
    expect((await answer(good(created('the next one')))).kind).toBe('appended');
  });

  it('[EFF-7] [CON-3] cannot be sent in another service\'s name: the server refuses the subject', async () => {
    const before = await rows();
    const o = await request(stack.bus, storeSubject('append', 'policy-gate'), good(), { timeoutMs: 1_500 });
    expect(o).toMatchObject({ kind: expect.not.stringMatching('answered') });
    const gateway = await as('provider-gateway');
    expect(await answer(good({ events: event('effect.permitted', {}) }), gateway, 'provider-gateway')).toMatchObject({ kind: 'refused', code: 'WRONG_OWNER' });
    expect(await rows()).toEqual(before);
  });

  it('[RUN-1] answers a repeat with the first result, and refuses its id for other bytes', async () => {
    const over = created('once');
    const first = good(over);
    const one = await answer(first);
    const before = await rows();
    expect(await answer(first)).toEqual({ ...one, fresh: false });
    for (const other of [{ correlation: 'other' }, { actor: { kind: 'person', id: 'another' } }, { events: created('twice').events, contents: created('twice').contents }]) expect(await answer({ ...first, ...other })).toMatchObject({ kind: 'refused' });
    expect(await answer({ ...first, correlation: 'other' })).toMatchObject({ code: 'ID_REUSED' });
    expect(await answer(good({ ...over, expected: 0 }))).toMatchObject({ kind: 'conflict', revision: 1 });
    expect(await rows()).toEqual(before);
  });

  it('[RUN-1] fails alone among 64 good ones that come at the same moment', async () => {
    const runs = await Promise.all(Array.from({ length: 64 }, () => createRun(stack.store, stack.tenant, { goal: 'one of many' })));
    const mine = (r: RunId): Partial<Sent> => { const c = contentOf(`for ${r}`, 'input'); return { stream: runStream(r), expected: 1, events: event('input.received', { text: c.ref }), contents: [wire(c)] }; };
    const bad = CASES.filter(([, code]) => code !== 'TOO_LARGE');
    const all = await Promise.all([...runs.map((r) => answer(good(mine(r)))), ...bad.map(([, , over]) => answer(good(over())))]);
    expect(all.slice(0, 64).map((o) => o.kind)).toEqual(Array.from({ length: 64 }, () => 'appended'));
    expect(all.slice(64).map((o) => (o.kind === 'refused' ? o.code : o.kind))).toEqual(bad.map(([, code]) => code));
    for (const r of runs) expect((await stack.events(r)).map((e) => e.type)).toEqual(['run.created', 'input.received']);
  }, 60_000);
});
