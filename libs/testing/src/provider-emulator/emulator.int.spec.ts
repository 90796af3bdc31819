import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../sandbox/index.js';
import { startProviderEmulator, type ProviderEmulator, type ProviderEmulatorOptions } from './emulator.js';

interface Part { text?: string; thought?: boolean; thoughtSignature?: string; functionCall?: { id?: string; name: string; args?: object }; functionResponse?: { id?: string; name: string; response: object } }
interface Content { role: string; parts: Part[] }
interface Answer { status: number; body: { candidates?: { content: Content }[]; error?: { code: number; status: string; message: string; details?: { reason?: string }[] } } }

const user = (text: string): Content => ({ role: 'user', parts: [{ text }] });
const two = { calls: [{ tool: 'lookup', args: { path: 'a' } }, { tool: 'commit' }] };

describe('provider emulator', () => {
  const open: ProviderEmulator[] = [];
  afterEach(async () => { await Promise.all(open.splice(0).map((emulator) => emulator.close())); });

  async function start(options: Partial<ProviderEmulatorOptions> = {}): Promise<ProviderEmulator> {
    const emulator = await startProviderEmulator({ accounts: { a: 'key-a' }, scenario: { steps: [{ reply: two }], otherwise: { text: 'end' } }, callIds: false, ...options });
    open.push(emulator);
    return emulator;
  }
  async function post(emulator: ProviderEmulator, body: object | string, { key = 'key-a', model = 'gemini-3-pro-preview' } = {}): Promise<Answer> {
    const res = await fetch(`${emulator.url}/v1beta/models/${model}:generateContent`, {
      method: 'POST', headers: key === '' ? {} : { 'x-goog-api-key': key }, body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: res.status, body: await res.json() as Answer['body'] };
  }
  const answers = (model: Content): Content => ({ role: 'user', parts: model.parts.flatMap((part) => (part.functionCall === undefined ? [] : [{ functionResponse: { name: part.functionCall.name, response: { result: 'ok' } } }])) });
  /** The first turn up to its results. */
  async function turn(emulator: ProviderEmulator): Promise<[Content, Content, Content]> {
    const model = (await post(emulator, { contents: [user('hi')] })).body.candidates?.[0]?.content as Content;
    return [user('hi'), model, answers(model)];
  }
  const edit = (content: Content, at: number, change: (part: Part) => Part): Content => ({ ...content, parts: content.parts.map((part, i) => (i === at ? change(part) : part)) });

  it('signs the first call alone, and takes the turn back with its sibling unsigned', async () => {
    const emulator = await start();
    const contents = await turn(emulator);
    expect(contents[1].parts.map((part) => part.thoughtSignature !== undefined)).toEqual([true, false]);
    expect((await post(emulator, { contents })).status).toBe(200);
    expect(emulator.ledger()).toMatchObject({ requests: 2, executed: 2, refused: 0, byAccountAndModel: { 'a/gemini-3-pro-preview': { requests: 2, executed: 2 } } });
  });

  /** Without the signature on its first part. */
  const bare = (content: Content): Content => edit(content, 0, (part) => Object.fromEntries(Object.entries(part).filter(([name]) => name !== 'thoughtSignature')));

  type Change = (contents: [Content, Content, Content]) => unknown[];
  const signature = (value: string): Change => ([u, m, r]) => [u, edit(m, 0, (part) => ({ ...part, thoughtSignature: value })), r];
  const altered: Change = ([u, m, r]) => [u, edit(m, 0, (part) => ({ ...part, thoughtSignature: `${(part.thoughtSignature as string)[0] === 'A' ? 'B' : 'A'}${(part.thoughtSignature as string).slice(1)}` })), r];
  const missing: Change = ([u, m, r]) => [u, bare(m), r];
  it.each<[string, Change, string, string?]>([
    ['a missing signature', missing, 'Function call is missing a thought_signature in functionCall parts.', 'Unable to submit request because function call `default_api:lookup` in the 2. content block is missing a `thought_signature`.'],
    ['its place', missing, '`default_api:lookup` , position 2.'],
    ['an altered signature', altered, 'Corrupted thought signature.', 'Thought signature is not valid.'],
    ['a signature that is no base64', signature('{}'), "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed"],
    ['a bypass value', signature('skip_thought_signature_validator'), 'Corrupted thought signature.'],
    ['a signature on another part', ([u, m, r]) => [u, edit(m, 1, (part) => ({ ...part, thoughtSignature: m.parts[0]?.thoughtSignature as string })), r], 'Corrupted thought signature.'],
    ['one response for two calls', ([u, m, r]) => [u, m, { ...r, parts: r.parts.slice(1) }], 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'],
    ['responses in two contents', ([u, m, r]) => [u, m, ...r.parts.map((part) => ({ ...r, parts: [part] }))], 'Please ensure that the number of function response parts is equal'],
    ['responses twice', ([u, m, r]) => [u, m, r, r], 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'],
    ['a history that begins with a call', ([, m, r]) => [m, r], 'Please ensure that function call turn comes immediately after a user turn'],
    ['calls in two contents', ([u, m, r]) => [u, ...m.parts.map((part) => ({ ...m, parts: [part] })), r], 'Please ensure that'],
    ['calls without responses', ([u, m]) => [u, m, user('and?')], 'Please ensure that the number of function response parts'],
    ['a response to another function', ([u, m, r]) => [u, m, edit(r, 0, () => ({ functionResponse: { name: 'other', response: {} } }))], 'Please ensure that the number of function response parts'],
    ['an end with the model', ([u]) => [u, { role: 'model', parts: [{ text: 'x' }] }], 'Please ensure that single turn requests end with a user role'],
    ['no contents', () => [], 'contents is not specified'],
    ['no parts', () => [{ role: 'user', parts: [] }], 'must not be empty'],
    ['a part with two data fields', () => [{ role: 'user', parts: [{ text: 'x', functionCall: { name: 'y' } }] }], "required oneof field 'data'"],
    ['an unknown field of a part', () => [{ role: 'user', parts: [{ text: 'x', colour: 1 }] }], 'Unknown name "colour" at \'contents[0].parts[0]\''],
    ['an unknown role', () => [{ role: 'assistant', parts: [{ text: 'x' }] }], 'Please use a valid role: user, model.'],
  ])('refuses %s with the documented sentence', async (_name, change, message, cloud = '') => {
    const emulator = await start();
    const contents = change(await turn(emulator));
    expect(await post(emulator, { contents })).toMatchObject({ status: 400, body: { error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining(message) as unknown } } });
    if (cloud !== '') {
      emulator.setErrors({ phrasing: 'cloud', wrap: true });
      expect(await post(emulator, { contents })).toMatchObject({ status: 400, body: [{ error: { message: expect.stringContaining(cloud) as unknown } }] });
    }
    expect(emulator.ledger().executed).toBe(1);
  });

  it('wants every step of the current turn signed, and none of an earlier turn', async () => {
    const emulator = await start({ scenario: [{ reply: { calls: [{ tool: 'lookup' }] } }, { reply: { calls: [{ tool: 'lookup' }] } }, { reply: { text: 'end' } }, { reply: { text: 'more' } }] });
    const [u, first, r] = await turn(emulator);
    const second = (await post(emulator, { contents: [u, first, r] })).body.candidates?.[0]?.content as Content;
    const status = async (contents: Content[], model?: string): Promise<number> => (await post(emulator, { contents }, model === undefined ? {} : { model })).status;
    expect(await status([u, first, r, second, r])).toBe(200);
    expect(await status([u, bare(first), r, second, r])).toBe(400);
    expect(await status([u, first, r, bare(second), r])).toBe(400);
    expect(await status([u, bare(first), r, bare(second), r, { role: 'model', parts: [{ text: 'end' }] }, user('next')])).toBe(200);
    expect(await status([u, bare(first), r, bare(second), r], 'gemini-2.5-pro')).toBe(200);
  });

  it.each([
    ['no key', { contents: [user('x')] }, { key: '' }, 403, 'PERMISSION_DENIED'],
    ['a wrong key', { contents: [user('x')] }, { key: 'other' }, 400, 'INVALID_ARGUMENT'],
    ['an unknown model', { contents: [user('x')] }, { model: 'gemini-9' }, 404, 'NOT_FOUND'],
    ['a model named like the prototype', { contents: [user('x')] }, { model: 'constructor' }, 404, 'NOT_FOUND'],
    ['an unknown field', { contents: [user('x')], previous_response_id: 'x' }, {}, 400, 'INVALID_ARGUMENT'],
    ['no JSON', '{', {}, 400, 'INVALID_ARGUMENT'],
    ['a list', '[]', {}, 400, 'INVALID_ARGUMENT'],
    ['a function without a legal name', { contents: [user('x')], tools: [{ functionDeclarations: [{ name: '1x' }] }] }, {}, 400, 'INVALID_ARGUMENT'],
    ['an overflow', { contents: [user('x'.repeat(5_000_000))] }, {}, 400, 'INVALID_ARGUMENT'],
  ] as const)('refuses %s and executes nothing', async (_name, body, options, status, name) => {
    const emulator = await start();
    expect(await post(emulator, body, options)).toMatchObject({ status, body: { error: { code: status, status: name } } });
    expect(emulator.ledger()).toMatchObject({ requests: 1, executed: 0, refused: 1 });
  });

  it('reads snake_case as the provider does', async () => {
    const emulator = await start();
    const [u, m, r] = await turn(emulator);
    const snake = JSON.stringify({ contents: [u, m, r], system_instruction: { parts: [{ text: 's' }] }, generation_config: {} })
      .replaceAll('functionCall', 'function_call').replaceAll('functionResponse', 'function_response').replaceAll('thoughtSignature', 'thought_signature');
    expect((await post(emulator, snake)).status).toBe(200);
  });

  it('allows a bypass value only if told so, and notes it', async () => {
    const emulator = await start({ bypassAllowed: true });
    const contents = signature('skip_thought_signature_validator')(await turn(emulator));
    expect((await post(emulator, { contents })).status).toBe(200);
    expect(emulator.ledger().entries.map((entry) => entry.bypassed)).toEqual([false, true]);
  });

  it('says so when a scenario has no reply, and executes nothing', async () => {
    const emulator = await start({ scenario: [] });
    expect(await post(emulator, { contents: [user('x')] })).toMatchObject({ status: 500, body: { error: { message: expect.stringContaining('no reply at position 0') as unknown } } });
    expect(emulator.ledger().executed).toBe(0);
  });

  it('asks a scenario module with the conversation and what was executed', async () => {
    const emulator = await start({ scenario: { next: (request, history) => ({ text: `${request.latest.text}/${request.outputs}/${history.length}/${request.tools.join()}` }) } });
    const contents = [user('one')];
    const ask = async () => (await post(emulator, { contents, tools: [{ functionDeclarations: [{ name: 'f' }] }] })).body.candidates?.[0]?.content as Content;
    expect((await ask()).parts[0]?.text).toBe('one/0/0/f');
    contents.push(await ask(), user('two'));
    expect((await ask()).parts[0]?.text).toBe('two/1/2/f');
  });

  it('chooses steps by what the latest content says before it chooses by position', async () => {
    const emulator = await start({ scenario: [{ reply: { text: 'first' } }, { when: { contains: 'budget' }, reply: { text: 'money' } }, { when: { resultOf: 'lookup', position: 1 }, reply: { text: 'looked' } }] });
    const say = async (contents: Content[]) => (await post(emulator, { contents })).body.candidates?.[0]?.content.parts[0]?.text;
    expect([await say([user('x')]), await say([user('x')]), await say([user('the budget')])]).toEqual(['first', 'first', 'money']);
    expect(await say([user('x'), { role: 'model', parts: [{ text: 'first' }] }, user('budget')])).toBe('money');
  });

  describe('control', () => {
    const control = async (emulator: ProviderEmulator, what: string, body?: object, token = 'tok') => {
      const [method, path] = what.split(' ') as [string, string];
      const res = await fetch(`${emulator.url}/control/${path}`, { method, headers: { authorization: `Bearer ${token}` }, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
      return { status: res.status, body: await res.json() as Record<string, unknown> };
    };
    it('obeys its token alone, and nobody when it has none', async () => {
      const emulator = await start({ controlToken: 'tok' });
      expect((await control(emulator, 'GET ledger', undefined, 'key-a')).status).toBe(401);
      expect((await control(emulator, 'GET ledger')).body).toMatchObject({ requests: 0 });
      expect((await control(await start(), 'GET ledger', undefined, 'undefined')).status).toBe(401);
    });
    it('adds and removes accounts, changes scenario and strictness, injects faults, holds and releases', async () => {
      const emulator = await start({ controlToken: 'tok' });
      await control(emulator, 'POST accounts', { name: 'b', key: 'key-b' });
      const body = { contents: [user('x')] };
      expect((await post(emulator, body, { key: 'key-b' })).status).toBe(200);
      expect((await control(emulator, 'DELETE accounts/b')).body).toEqual({ removed: true });
      expect((await post(emulator, body, { key: 'key-b' })).status).toBe(403);
      await control(emulator, 'PUT scenario', { steps: [{ reply: { text: 'new' } }] });
      await control(emulator, 'POST faults', { fault: { kind: 'status', status: 429 } });
      expect((await post(emulator, body)).status).toBe(429);
      await control(emulator, 'POST faults', { fault: { kind: 'hold' } });
      const held = post(emulator, body);
      await until(async () => ((await control(emulator, 'GET held')).body['held'] as number[]).length === 1, { what: 'a held answer', withinMs: 4_000 });
      expect((await control(emulator, 'GET ledger')).body).toMatchObject({ executed: 2 });
      expect((await control(emulator, 'POST release', {})).body).toEqual({ released: 1 });
      expect((await held).body.candidates?.[0]?.content.parts[0]?.text).toBe('new');
      expect((await control(emulator, 'GET requests/1/body')).body).toEqual({ body: JSON.stringify(body) });
      expect((await control(emulator, 'PUT strict', { account: true })).status).toBe(200);
      expect((await control(emulator, 'POST nonsense', {})).status).toBe(404);
      expect((await control(emulator, 'POST faults', { fault: { kind: 'earthquake' } })).status).toBe(404);
    });
  });
});
