import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MemoryArtifactStore } from '@n17q/artifacts';
import { digestOf } from '@n17q/contracts';
import type { ToolMapping } from '@n17q/domain';
import { KEY_META, startMcpWorld, TICKET_SCHEMA, type McpWorld } from '@n17q/testing';
import type { ConnectorOutcome } from '@n17q/tools';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectors } from './connectors.js';

let dir = '';
let world: McpWorld;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'n17q-connectors-'));
  await mkdir(join(dir, 'credentials'));
  await writeFile(join(dir, 'credentials', 'tickets'), 'the-secret\n');
  world = await startMcpWorld({ ledgerPath: join(dir, 'ledger.jsonl') });
});
afterAll(async () => {
  await world?.close();
  await rm(dir, { recursive: true, force: true });
});

const mapping = (change: Partial<ToolMapping> = {}): ToolMapping => ({
  name: 'file_ticket', description: 'files', server: 'tickets', target: 'tickets', schema: TICKET_SCHEMA, schemaDigest: digestOf(TICKET_SCHEMA), mappingRevision: 1, contract: { kind: 'neither' }, scopeFields: [],
  connector: { kind: 'mcp', config: { transport: 'http', url: world.url, tool: 'file_ticket', credential: 'tickets', key: { meta: KEY_META } } },
  timeoutMs: 5_000, argumentBytesMax: 1_000, outputBytesMax: 10_000, dataClass: 'internal', costUsdMicros: 0, ...change,
});
const made = (settings: Record<string, string> = {}) => connectors({ N17Q_SCRATCH_DIR: join(dir, 'scratch'), N17Q_TOOL_CREDENTIALS_DIR: join(dir, 'credentials'), ...settings }, new MemoryArtifactStore());
const dispatch = async (of: (t: ToolMapping) => unknown, t: ToolMapping): Promise<ConnectorOutcome> => {
  const c = of(t) as { dispatch: (r: object) => Promise<ConnectorOutcome> };
  return c.dispatch({ effect: 'e', attempt: 'a', idempotencyKey: 'key-1', args: { title: 'one' }, target: t.target, timeoutMs: 5_000, outputBytesMax: 10_000, beforeFirstByte: () => true });
};

it('[TOOL-4] [TOOL-1] takes a mapping with another contract or schema for another tool, and one that is the same for the same', async () => {
  const of = await made();
  expect(of(mapping())).toBe(of(mapping()));
  expect(await dispatch(of, mapping())).toMatchObject({ kind: 'observed', ok: true });
  expect(await dispatch(of, mapping({ schemaDigest: digestOf({ type: 'object' }) }))).toEqual({ kind: 'not-sent', cause: 'SCHEMA_CHANGED' });
  world.setMode({ annotations: { destructiveHint: true } });
  expect(await dispatch(of, mapping({ contract: { kind: 'read-only' } }))).toEqual({ kind: 'not-sent', cause: 'ANNOTATIONS_STRICTER' });
  expect(world.ledger().accepted).toBe(1);
});

it('[SEC-4] starts servers only where the operator allows it, and reads credentials by name at each call', async () => {
  const stdio = mapping({ connector: { kind: 'mcp', config: { transport: 'stdio', command: [process.execPath, '-e', ''], tool: 'file_ticket', credentials: { TOKEN: 'absent' } } } });
  expect(await dispatch(await made(), stdio)).toEqual({ kind: 'not-sent', cause: 'STARTING_SERVERS_NOT_ALLOWED' });
  expect(await dispatch(await made({ N17Q_ALLOW_TOOL_SERVERS: '1' }), stdio)).toEqual({ kind: 'not-sent', cause: 'CREDENTIAL_UNAVAILABLE' });
});
