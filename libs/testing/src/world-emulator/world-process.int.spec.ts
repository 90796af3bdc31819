import { afterAll, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HttpConnector } from '@n17q/tools';
import { dispatchRequest, TICKET_TARGET } from './connector-conformance.js';
import { ledgerOf, ledgerUntil } from './world-client.js';
import { startWorldProcess, type WorldProcess } from './world-process.js';

const started: WorldProcess[] = [];
let dir = '';
afterAll(async () => {
  for (const p of started) await p.kill();
  if (dir !== '') await rm(dir, { recursive: true, force: true });
});

it('[EFF-3] the world killed while it holds a reply: the caller says unknown, and the acceptance is in the ledger of the next start', async () => {
  expect(existsSync(fileURLToPath(new URL('../../dist/world-emulator/main.js', import.meta.url)))).toBe(true); // built first
  dir = await mkdtemp(join(tmpdir(), 'n17q-world-'));
  const start = async (mode: { reply: 'hold' | 'normal' }): Promise<WorldProcess> => {
    const p = await startWorldProcess({ ledgerPath: join(dir, 'ledger.jsonl'), token: 'control', mode });
    started.push(p);
    return p;
  };
  const first = await start({ reply: 'hold' });
  const connect = (url: string): HttpConnector =>
    new HttpConnector({ baseUrl: url, method: 'POST', path: '/tickets', keyHeader: 'idempotency-key', query: { path: '/tickets?key={key}' }, finalRefusals: [422] }, TICKET_TARGET, () => ({}));
  const request = dispatchRequest();
  const pending = connect(first.url).dispatch(request);
  await ledgerUntil(first.url, 'control', (l) => l.accepted === 1, 10_000);
  await first.kill();
  expect((await pending).kind).toBe('unknown');
  const second = await start({ reply: 'normal' });
  expect((await ledgerOf(second.url, 'control')).acceptedPerKey).toEqual({ [request.idempotencyKey]: 1 });
  expect(await connect(second.url).query?.({ ...request })).toMatchObject({ kind: 'happened', count: 1 });
  await second.stop();
}, 30_000);
