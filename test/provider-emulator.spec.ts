import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const MAIN = resolve('libs/testing/dist/provider-emulator/main.js');
const TOKEN = 'control-token-of-this-test';

describe('provider emulator as a process', () => {
  let folder = '';
  const children: ChildProcessWithoutNullStreams[] = [];
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'n17q-emulator-')); });
  afterEach(async () => {
    await Promise.all(children.splice(0).map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }));
    await rm(folder, { recursive: true, force: true });
  });

  function run(args: readonly string[], env: Record<string, string> = { N17Q_EMULATOR_CONTROL_TOKEN: TOKEN, N17Q_EMULATOR_SIGNING_KEY: 'a key that stays' }): ChildProcessWithoutNullStreams {
    const child = spawn(process.execPath, [MAIN, ...args], { env });
    children.push(child);
    return child;
  }
  async function listening(child: ChildProcessWithoutNullStreams): Promise<string> {
    const [line] = await once(createInterface(child.stdout), 'line') as [string];
    const said = JSON.parse(line) as { event: string; port: number };
    expect(said.event).toBe('listening');
    return `http://127.0.0.1:${said.port}`;
  }

  it('takes back, after its own restart, what it signed before', async () => {
    await writeFile(join(folder, 'accounts.json'), '{"a":"key-a"}');
    await writeFile(join(folder, 'scenario.mjs'), 'export const next = ({ outputs }) => (outputs === 0 ? { calls: [{ tool: "f" }] } : { text: "end" });');
    const args = ['--accounts', join(folder, 'accounts.json'), '--scenario', join(folder, 'scenario.mjs'), '--strict', 'account,model,prefix,frame', '--no-call-ids'];
    const post = async (url: string, contents: object[]) => {
      const res = await fetch(`${url}/v1beta/models/gemini-3-pro-preview:generateContent`, { method: 'POST', headers: { 'x-goog-api-key': 'key-a' }, body: JSON.stringify({ contents }) });
      return { status: res.status, body: await res.json() as { candidates: { content: { parts: { text?: string }[] } }[] } };
    };
    const first = run(args);
    const user = { role: 'user', parts: [{ text: 'go' }] };
    const model = (await post(await listening(first), [user])).body.candidates[0]?.content as object;
    first.kill('SIGKILL');
    const url = await listening(run(args));
    const response = { role: 'user', parts: [{ functionResponse: { name: 'f', response: { result: 'ok' } } }] };
    expect(await post(url, [user, model, response])).toMatchObject({ status: 200, body: { candidates: [{ content: { parts: [{ text: 'end' }] } }] } });
    const ledger = await (await fetch(`${url}/control/ledger`, { headers: { authorization: `Bearer ${TOKEN}` } })).json();
    expect(ledger).toMatchObject({ requests: 1, executed: 1, refused: 0 });
  });

  it('stops with one sentence when it has no control token', async () => {
    const child = run(['--accounts', 'x', '--script', 'y'], {});
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => { said += chunk.toString(); });
    const [code] = await once(child, 'close') as [number];
    expect([code, said]).toEqual([2, 'Set N17Q_EMULATOR_CONTROL_TOKEN.\n']);
  });
});
