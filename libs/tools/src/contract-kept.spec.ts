import { expect, it } from '@jest/globals';
import { MemoryArtifactStore } from '@n17q/artifacts';
import type { EffectContract, Json, ToolMapping } from '@n17q/domain';
import { connectorFor, type ConnectorSurroundings } from './connectors.js';
import { Workspaces } from './workspace/workspaces.js';

const around: ConnectorSurroundings = { workspaces: new Workspaces(new MemoryArtifactStore(), '/nowhere'), isolation: { isolation: 'none', why: 'asked for by the test' }, credentials: () => ({}) };
/** Nobody listens there: what gets as far as a connection says so with another cause. */
const HTTP = { baseUrl: 'http://127.0.0.1:1', method: 'POST', path: '/things' };
const asked: string[] = [];
const cause = async (kind: ToolMapping['connector']['kind'], config: Json, contract: EffectContract): Promise<string> => {
  const c = connectorFor({ connector: { kind, config }, contract, target: 't', schemaDigest: 'd' }, around);
  const o = await c.dispatch({ effect: 'e', attempt: 'a', idempotencyKey: 'k', args: { version: '1' }, target: 't', timeoutMs: 1_000, outputBytesMax: 1_000, beforeFirstByte: () => { asked.push(kind); return false; }, workspace: { tenant: 't', at: {} as never } });
  return 'cause' in o ? o.cause : o.kind;
};
const keyed: EffectContract = { kind: 'keyed', keyLifeMs: 60_000 };
const idempotent: EffectContract = { kind: 'idempotent', precondition: 'version' };

it.each<[string, ToolMapping['connector']['kind'], Json, EffectContract]>([
  ['a keyed service without a header for the key', 'http', HTTP, keyed], ['a contained service', 'http', HTTP, { kind: 'contained' }],
  ['an idempotent service that is not told what to compare', 'http', HTTP, idempotent], ['an idempotent service that is told something else', 'http', { ...HTTP, precondition: { header: 'if-match', argument: 'other' } }, idempotent],
  ['a keyed command', 'command', { command: ['true'] }, keyed], ['an idempotent command', 'command', { command: ['true'] }, idempotent],
])('[EFF-4] sends nothing under a contract that its mapping cannot keep: %s', async (_what, kind, config, contract) => {
  expect(await cause(kind, config, contract)).toBe('CONTRACT_NOT_POSSIBLE');
  expect(asked).toEqual([]);
});
it.each<[string, Json, EffectContract]>([['keyed', { ...HTTP, keyHeader: 'idempotency-key' }, keyed], ['idempotent', { ...HTTP, precondition: { header: 'if-match', argument: 'version' } }, idempotent], ['neither', HTTP, { kind: 'neither' }], ['read-only', HTTP, { kind: 'read-only' }]])('[EFF-4] goes on under one that it can keep: %s', async (_what, config, contract) => {
  expect(await cause('http', config, contract)).toBe('ECONNREFUSED');
});
