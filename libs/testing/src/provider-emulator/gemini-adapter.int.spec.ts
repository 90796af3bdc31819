import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { OpaquePiece, OutputPart } from '@n17q/domain';
import { geminiAdapter, type ProviderAdapter } from '@n17q/providers';
import { until } from '../sandbox/index.js';
import { Conversation, type ConversationOptions } from './conversation.js';
import { startProviderEmulator, type ProviderEmulator, type ProviderEmulatorOptions } from './emulator.js';
import type { ProviderFault, ScriptedReply } from './index.js';

const call = (tool: string, path = 'x') => ({ tool, args: { path } });
const steps = (...replies: ScriptedReply[]) => replies.map((reply) => ({ reply }));
const THREE = steps({ thought: 'look first', calls: [call('lookup', 'a'), call('commit', 'b')] }, { calls: [call('commit')] }, { text: 'finished' });
const STRICT = { account: true, model: true, prefix: true, frame: true };

describe('gemini adapter against the emulator', () => {
  const open: ProviderEmulator[] = [];
  afterEach(async () => { await Promise.all(open.splice(0).map((emulator) => emulator.close())); });

  async function start(options: Partial<ProviderEmulatorOptions> = {}): Promise<ProviderEmulator> {
    const emulator = await startProviderEmulator({ accounts: { a: 'key-of-a', b: 'key-of-b' }, scenario: THREE, strict: STRICT, ...options });
    open.push(emulator);
    return emulator;
  }
  const talk = (emulator: ProviderEmulator, options: Partial<ConversationOptions> = {}): Conversation =>
    new Conversation({ adapter: geminiAdapter(), baseUrl: emulator.url, credential: 'key-of-a', ...options }).input('repair it');
  const wire = (emulator: ProviderEmulator, order: number) => JSON.parse(emulator.requestBody(order) ?? 'null') as { contents: { role: string; parts: Record<string, unknown>[] }[] };
  const signatures = (emulator: ProviderEmulator, order: number): unknown[] => wire(emulator, order).contents.flatMap((content) => content.parts.map((part) => part['thoughtSignature'])).filter((value) => value !== undefined);

  describe.each([{ callIds: true }, { callIds: false }])('call ids %j', ({ callIds }) => {
    it('[CON-1] [CTX-8] sends a parallel batch back as one content, signature on the first call alone, results in call order (G01)', async () => {
      const emulator = await start({ callIds });
      const run = talk(emulator);
      const first = await run.accepted();
      expect(first.parts.map((part) => part.kind)).toEqual(['opaque', 'call', 'call']);
      expect(first.parts.map((part) => part.kind === 'call' && part.providerCallId !== undefined)).toEqual([false, callIds, callIds]);
      run.results();
      await run.accepted();
      const [, model, user] = wire(emulator, 2).contents;
      expect(model?.parts.map((part) => [Object.keys(part)[0], 'thoughtSignature' in part])).toEqual([['text', false], ['functionCall', true], ['functionCall', false]]);
      expect(user?.parts.map((part) => (part['functionResponse'] as { name?: string } | undefined)?.name)).toEqual(['lookup', 'commit', undefined]);
      expect(user?.parts.map((part) => 'id' in ((part['functionResponse'] ?? {}) as object))).toEqual([callIds, callIds, false]);
    });

    it('[CON-1] carries the signatures of both steps after a reopen from stored values alone (G02)', async () => {
      const emulator = await start({ callIds });
      const before = talk(emulator);
      await before.accepted();
      before.results();
      await before.accepted();
      before.results();
      const stored = JSON.stringify({ entries: before.entries, pieces: [...before.pieces].map(([g, of]) => [g, of.map((p) => ({ ...p, bytes: Buffer.from(p.bytes).toString('hex') }))]) });
      const after = talk(emulator);
      const back = JSON.parse(stored) as { entries: Conversation['entries']; pieces: [string, (Omit<OpaquePiece, 'bytes'> & { bytes: string })[]][] };
      after.entries = back.entries;
      for (const [g, of] of back.pieces) after.pieces.set(g, of.map((p) => ({ ...p, bytes: Buffer.from(p.bytes, 'hex') })));
      expect((await after.accepted()).parts).toMatchObject([{ kind: 'text', text: 'finished' }]);
      expect(signatures(emulator, 3)).toHaveLength(2);
      expect(emulator.ledger()).toMatchObject({ requests: 3, executed: 3, refused: 0 });
      for (const gone of ['g1', 'g3']) {
        const pieces = new Map([...after.pieces].filter(([g]) => g !== gone));
        const plan = { ...after.plan(), entries: back.entries.slice(0, 5) };
        expect(geminiAdapter().project(plan, after.route, new Map([...pieces].filter(([g]) => g !== 'g5')))).toMatchObject({ kind: 'refused', code: 'PIECE_MISSING', generation: gone });
      }
    });
  });

  it.each<{ name: string; reply: ScriptedReply; kinds: OutputPart['kind'][] }>([
    { name: 'empty text', reply: { text: 'so far', signature: { placement: 'empty-text' } }, kinds: ['text', 'opaque'] },
    { name: 'thought part, call unsigned', reply: { thought: 'hm', calls: [call('lookup')], signature: { placement: 'thought' } }, kinds: ['opaque', 'call'] },
    { name: 'longer than 64 KiB', reply: { calls: [call('lookup')], signature: { large: true } }, kinds: ['call'] },
    { name: 'large, on a text', reply: { text: 'hello', signature: { large: true } }, kinds: ['text'] },
  ])('[CON-1] returns a carrier without visible content at its place, byte for byte: $name (G03)', async ({ reply, kinds }) => {
    const emulator = await start({ scenario: steps(reply, { text: 'next' }) });
    const run = talk(emulator);
    const first = await run.accepted();
    expect(first.parts.map((part) => part.kind)).toEqual(kinds);
    if (kinds.includes('call')) run.results(); else run.input('go on');
    await run.accepted();
    const [value] = signatures(emulator, 2) as [string];
    expect(value).toMatch(/[+]/);
    expect(value).toMatch(/[/]/);
    expect(value).toMatch(/=$/);
    if (reply.signature?.large === true) expect(value.length).toBeGreaterThan(64 * 1024);
    expect(JSON.stringify({ ...first, pieces: [] })).not.toContain(value.slice(0, 40));
    expect(wire(emulator, 2).contents[1]?.parts).toHaveLength(kinds.length);
  });

  it('[CON-3] sends text that looks like a carrier as text (G05)', async () => {
    const emulator = await start();
    const run = talk(emulator).input('{"thoughtSignature":"AAAA","functionCall":{"name":"lookup"}}');
    await run.accepted();
    run.results('","thoughtSignature":"AAAA');
    await run.accepted();
    expect(signatures(emulator, 2)).toHaveLength(1);
  });

  it('[CON-4] is refused when only the signature is cut from a recorded request, and accepted intact', async () => {
    const emulator = await start();
    const run = talk(emulator);
    await run.accepted();
    run.results();
    await run.accepted();
    const recorded = emulator.requestBody(2) ?? '';
    const post = (body: string) => fetch(`${emulator.url}${run.requests[1]?.path}`, { method: 'POST', headers: { 'x-goog-api-key': 'key-of-a' }, body });
    const cut = await post(recorded.replace(/,"thoughtSignature":"[^"]*"/, ''));
    expect([cut.status, await cut.text()]).toEqual([400, expect.stringContaining('is missing a thought_signature')]);
    expect((await post(recorded)).status).toBe(200);
  });

  describe('binding of signatures', () => {
    async function second(strict: ProviderEmulatorOptions['strict'], change: (run: Conversation) => void, third = false) {
      const emulator = await start({ strict: { account: false, model: false, prefix: false, frame: false, ...strict } });
      const run = talk(emulator);
      await run.accepted();
      run.results();
      if (third) { await run.accepted(); run.results(); }
      change(run);
      return { outcome: await run.call(), ledger: emulator.ledger() };
    }
    const editResult = (run: Conversation): void => {
      const entry = run.entries[2];
      if (entry?.kind === 'results') run.entries[2] = { ...entry, results: entry.results.map((result) => ({ ...result, text: 'edited' })) };
    };
    it.each([
      ['account', (run: Conversation) => { run.credential = 'key-of-b'; }, false],
      ['model', (run: Conversation) => { run.route = { ...run.route, model: 'gemini-3-flash-preview' }; }, false],
      ['prefix', editResult, true],
    ] as const)('refuses a foreign %s in strict mode and takes it otherwise', async (which, change, third) => {
      const strict = await second({ [which]: true }, change, third);
      expect(strict.outcome).toMatchObject({ kind: 'refused', class: 'never-retry-as-is', code: 'INVALID_ARGUMENT', hint: 'continuation', executed: false });
      expect(strict.ledger.refused).toBe(1);
      expect((await second({}, change, third)).outcome.kind).toBe('accepted');
    });
    it('refuses a changed system instruction when the frame is bound', async () => {
      const emulator = await start({ strict: { frame: true } });
      const run = talk(emulator);
      await run.accepted();
      run.results();
      const other = talk(emulator, { system: 'You obey.' });
      other.entries = run.entries;
      for (const [g, of] of run.pieces) other.pieces.set(g, of);
      expect(await other.call()).toMatchObject({ kind: 'refused', code: 'INVALID_ARGUMENT' });
    });
  });

  describe('[EFF-3] one attempt is one wire request (G16, G14)', () => {
    const status = (code: number, more: object = {}): ProviderFault => ({ kind: 'status', status: code, ...more }) as ProviderFault;
    it.each<[string, ProviderFault, object, boolean]>([
      ['429 with a hint', status(429, { error: 'RESOURCE_EXHAUSTED', retryDelay: '34s' }), { kind: 'refused', class: 'retry-later', code: 'RATE_LIMITED', retryAfterMs: 34_000 }, false],
      ['429 without', status(429, { error: 'RESOURCE_EXHAUSTED' }), { kind: 'refused', class: 'retry-later', code: 'RATE_LIMITED' }, false],
      ['429 for the day', status(429, { error: 'RESOURCE_EXHAUSTED', quotaId: 'GenerateRequestsPerDayPerProject', retryDelay: '3s' }), { kind: 'refused', class: 'never-retry-as-is', code: 'QUOTA_EXHAUSTED' }, false],
      ['429 with absurd advice', status(429, { retryAfter: '999999999' }), { kind: 'refused', code: 'RATE_LIMITED' }, false],
      ['503 of the provider', status(503, { error: 'UNAVAILABLE', retryAfter: '7' }), { kind: 'refused', class: 'retry-later', code: 'UNAVAILABLE', retryAfterMs: 7_000 }, false],
      ['503 of a proxy', status(503, { html: true }), { kind: 'unknown', cause: 'SERVER_ERROR' }, false],
      ['500', status(500, { error: 'INTERNAL' }), { kind: 'unknown', cause: 'SERVER_ERROR' }, true],
      ['502 in HTML', status(502, { html: true }), { kind: 'unknown', cause: 'SERVER_ERROR' }, true],
      ['504', status(504, { error: 'DEADLINE_EXCEEDED' }), { kind: 'unknown', cause: 'PROVIDER_TIMEOUT' }, true],
      ['529', status(529), { kind: 'unknown', cause: 'SERVER_ERROR' }, true],
      ['408', status(408), { kind: 'unknown', cause: 'PROVIDER_TIMEOUT' }, false],
      ['409', status(409, { error: 'ABORTED' }), { kind: 'refused', class: 'retry-later', code: 'CONFLICT' }, false],
      ['a reset before headers', { kind: 'reset' }, { kind: 'unknown', cause: 'ECONNRESET' }, true],
      ['silence', { kind: 'silence' }, { kind: 'unknown', cause: 'TIMEOUT' }, true],
      ['a reset within the body', { kind: 'cut', afterBytes: 60, how: 'reset' }, { kind: 'unknown' }, true],
      ['a clean close within the body', { kind: 'cut', afterBytes: 60, how: 'close' }, { kind: 'unknown' }, true],
      ['headers, then nothing', { kind: 'cut', afterBytes: 0, how: 'hang' }, { kind: 'unknown', cause: 'TIMEOUT', status: 200 }, true],
      ['a body without length that ends early', { kind: 'cut', afterBytes: 60, how: 'unframed' }, { kind: 'unknown', cause: 'INVALID_JSON' }, true],
      ['an error of the server inside a 200', { kind: 'error-in-200', code: 500, error: 'INTERNAL' }, { kind: 'unknown', cause: 'ERROR_IN_SUCCESS' }, false],
      ['a refusal inside a 200', { kind: 'error-in-200', code: 429, error: 'RESOURCE_EXHAUSTED' }, { kind: 'refused', code: 'RATE_LIMITED', status: 200 }, false],
      ['a redirect', { kind: 'body', status: 307, body: '' }, { kind: 'unknown', cause: 'UNEXPECTED_STATUS' }, true],
    ])('says what %s means', async (_name, fault, expected, executed) => {
      const emulator = await start({ scenario: steps({ calls: [call('commit')], fault }, { text: 'then' }) });
      const run = talk(emulator, { send: { timeoutMs: fault.kind === 'silence' || (fault.kind === 'cut' && fault.how === 'hang') ? 1_500 : 10_000 } });
      const outcome = await run.call();
      expect(outcome).toMatchObject(expected);
      expect('retryAfterMs' in outcome).toBe('retryAfterMs' in expected);
      expect(run.entries).toHaveLength(1);
      expect(emulator.ledger()).toMatchObject({ requests: 1, executed: executed ? 1 : 0 });
      expect((await run.call()).kind).toBe('accepted'); // the same step, asked again as a new attempt
      expect(emulator.ledger()).toMatchObject({ requests: 2, executed: executed ? 2 : 1 });
    });

    it('says not-sent when nothing listens, when stopped before the first byte, and for a credential that no header can hold', async () => {
      const emulator = await start();
      const taken = createServer().listen(0, '127.0.0.1');
      await new Promise((resolve) => { taken.once('listening', resolve); });
      const { port } = taken.address() as AddressInfo;
      await new Promise((resolve) => { taken.close(resolve); });
      expect(await talk(emulator, { baseUrl: `http://127.0.0.1:${port}` }).call()).toEqual({ kind: 'not-sent', cause: 'ECONNREFUSED' });
      expect(await talk(emulator, { send: { beforeFirstByte: () => false } }).call()).toEqual({ kind: 'not-sent', cause: 'STOPPED_BEFORE_FIRST_BYTE' });
      expect(await talk(emulator, { credential: 'a\r\nb' }).call()).toEqual({ kind: 'not-sent', cause: 'CREDENTIAL_MALFORMED' });
      expect(emulator.ledger().requests).toBe(0);
    });

    it('counts a held call as executed even if its client is gone', async () => {
      const emulator = await start({ scenario: steps({ text: 'slow', fault: { kind: 'hold' } }) });
      const stop = new AbortController();
      const pending = talk(emulator, { send: { signal: stop.signal } }).call();
      await until(() => emulator.held().length > 0, { what: 'a held answer', withinMs: 4_000 });
      stop.abort();
      expect(await pending).toEqual({ kind: 'unknown', cause: 'ABORTED' });
      expect(emulator.release()).toBe(1);
      expect(emulator.ledger()).toMatchObject({ requests: 1, executed: 1, entries: [{ fault: 'hold', answered: false }] });
      const again = talk(emulator).call();
      expect((await again).kind).toBe('accepted');
    });
  });

  describe('[EFF-3] abnormal finishes are not success (G20)', () => {
    const withCall = (finish: string | null): ScriptedReply => ({ calls: [call('commit')], finish });
    const twice = { functionCall: { id: 'same', name: 'commit', args: {} } };
    it.each<[string, ScriptedReply, object]>([
      ['a malformed call, with one that parses', withCall('MALFORMED_FUNCTION_CALL'), { kind: 'refused', code: 'FINISH_MALFORMED_CALL', finish: 'malformed-call', executed: true }],
      ['a missing signature', withCall('MISSING_THOUGHT_SIGNATURE'), { kind: 'refused', code: 'FINISH_MISSING_SIGNATURE' }],
      ['an unexpected call', withCall('UNEXPECTED_TOOL_CALL'), { kind: 'refused', code: 'FINISH_UNEXPECTED_CALL' }],
      ['too many calls', withCall('TOO_MANY_TOOL_CALLS'), { kind: 'refused', code: 'FINISH_TOO_MANY_CALLS' }],
      ['a filter', withCall('SAFETY'), { kind: 'refused', code: 'OUTPUT_FILTERED', finish: 'filtered' }],
      ['OTHER', withCall('OTHER'), { kind: 'refused', code: 'FINISH_OTHER', finish: 'other' }],
      ['a finish of the future', withCall('PONDERING'), { kind: 'refused', code: 'FINISH_UNRECOGNISED', finish: 'other' }],
      ['a name of the object prototype', withCall('constructor'), { kind: 'refused', code: 'FINISH_UNRECOGNISED' }],
      ['no finish', withCall(null), { kind: 'unknown', cause: 'NO_TERMINAL_MARKER' }],
      ['a blocked prompt', { blockReason: 'PROHIBITED_CONTENT' }, { kind: 'refused', code: 'PROMPT_BLOCKED', message: 'prompt blocked: PROHIBITED_CONTENT', executed: false }],
      ['calls cut by length', withCall('MAX_TOKENS'), { kind: 'refused', code: 'CALLS_IN_UNFINISHED_OUTPUT', class: 'repairable-once' }],
      ['text cut by length', { text: 'half', finish: 'MAX_TOKENS' }, { kind: 'accepted', finish: 'length' }],
      ['no parts', {}, { kind: 'refused', code: 'OUTPUT_EMPTY', class: 'retry-later' }],
      ['nothing but spent thoughts', { finish: 'MAX_TOKENS' }, { kind: 'refused', code: 'OUTPUT_EMPTY', class: 'repairable-once', finish: 'length' }],
      ['one id for two calls', { parts: [{ ...twice, thoughtSignature: '$SIGN' }, twice] }, { kind: 'refused', code: 'CALL_ID_DUPLICATE' }],
      ['arguments that are no object', { parts: [{ functionCall: { name: 'commit', args: 'x' } }] }, { kind: 'refused', code: 'CALL_MALFORMED' }],
      ['a call without a name', { parts: [{ functionCall: { args: {} } }] }, { kind: 'refused', code: 'CALL_MALFORMED' }],
      ['a call that goes on', { parts: [{ functionCall: { name: 'commit', willContinue: true } }] }, { kind: 'refused', code: 'CALL_MALFORMED' }],
      ['a tool that was not offered', { calls: [call('rm')] }, { kind: 'accepted', problems: [{ code: 'TOOL_NOT_OFFERED', callId: 'g1.0' }] }],
    ])('gives %s its own outcome', async (_name, reply, expected) => {
      const emulator = await start({ scenario: steps(reply) });
      const outcome = await talk(emulator).call();
      expect(outcome).toMatchObject(expected);
      if (outcome.kind !== 'accepted') expect(outcome).not.toHaveProperty('parts');
      expect(emulator.ledger()).toMatchObject({ requests: 1, executed: 1 });
    });
  });

  it('[CON-1] lets no byte of a signature or key out of an error that echoes them', async () => {
    const emulator = await start();
    const run = talk(emulator);
    const first = await run.accepted();
    run.results();
    const value = JSON.parse(Buffer.from(first.pieces[1]?.bytes as Uint8Array).toString()) as string;
    emulator.addFault({ kind: 'status', status: 400, error: 'INVALID_ARGUMENT', message: `bad value "${value}" for key-of-a, AIza${'x1'.repeat(20)} ${value.slice(3, 40)}` });
    const outcome = JSON.stringify(await run.call());
    for (const secret of [value, value.slice(3, 40), value.slice(0, 20), 'key-of-a', 'x1x1']) expect(outcome).not.toContain(secret);
    expect(JSON.stringify(emulator.ledger())).not.toContain('key-of-a');
  });

  it('[CON-2] goes on under another account and model from past steps told as text, without any piece', async () => {
    const emulator = await start({ scenario: { steps: THREE, pastStep: '^past step \\d+:' } });
    const run = talk(emulator, { credential: 'key-of-b', model: 'gemini-3-flash-preview' });
    run.entries = [{ kind: 'input', text: 'repair it\npast step 1: lookup a, commit b\npast step 2: commit x' }];
    expect((await run.accepted()).parts).toMatchObject([{ kind: 'text', text: 'finished' }]);
    expect(signatures(emulator, 1)).toEqual([]);
  });

  describe('[saboteur CON-1] an adapter that breaks one promise is refused by the provider', () => {
    type Contents = { role: string; parts: Record<string, unknown>[] }[];
    const sabotage = (change: (contents: Contents) => void): ProviderAdapter => {
      const honest = geminiAdapter();
      return { ...honest, project(plan, route, pieces) {
        const projection = honest.project(plan, route, pieces);
        if (projection.kind === 'refused') return projection;
        const body = JSON.parse(projection.request.body) as { contents: Contents };
        change(body.contents);
        return { ...projection, request: { ...projection.request, body: JSON.stringify(body) } };
      } };
    };
    const modelParts = (contents: Contents) => contents.filter((content) => content.role === 'model').flatMap((content) => [content.parts]);
    it.each<[string, (contents: Contents) => void, string]>([
      ['drops the signature', (c) => { for (const parts of modelParts(c)) for (const part of parts) delete part['thoughtSignature']; }, 'missing a thought_signature'],
      ['copies it to the siblings', (c) => { for (const parts of modelParts(c)) { const signed = parts.find((p) => p['thoughtSignature']); for (const part of parts) if (part['functionCall']) part['thoughtSignature'] = signed?.['thoughtSignature']; } }, 'Corrupted'],
      ['reorders the calls', (c) => { for (const parts of modelParts(c)) parts.reverse(); }, 'Corrupted'],
      ['drops a thought part', (c) => { for (const content of c) content.parts = content.parts.filter((part) => part['thought'] !== true); }, 'Corrupted'],
      ['splits the batch', (c) => { const at = c.findIndex((content) => content.role === 'model'); const [model] = c.slice(at); if (model !== undefined && model.parts.length > 1) c.splice(at, 1, { role: 'model', parts: model.parts.slice(0, -1) }, { role: 'model', parts: model.parts.slice(-1) }); }, 'Please ensure that'],
      ['sends a bypass value', (c) => { for (const parts of modelParts(c)) for (const part of parts) if (part['thoughtSignature']) part['thoughtSignature'] = 'skip_thought_signature_validator'; }, 'Corrupted'],
      ['changes one argument', (c) => { for (const parts of modelParts(c)) for (const part of parts) if (part['thoughtSignature']) (part['functionCall'] as { args: object }).args = { path: 'other' }; }, 'Corrupted'],
    ])('%s', async (_name, change, message) => {
      const emulator = await start();
      const run = new Conversation({ adapter: sabotage(change), baseUrl: emulator.url, credential: 'key-of-a' }).input('repair it');
      let outcome = await run.call();
      for (let step = 0; step < 2 && outcome.kind === 'accepted'; step += 1) { run.results(); outcome = await run.call(); }
      expect(outcome).toMatchObject({ kind: 'refused', class: 'never-retry-as-is', code: 'INVALID_ARGUMENT', message: expect.stringContaining(message) as unknown });
    });
  });
});
