import { describe, expect, it } from '@jest/globals';
import { EVENT_SCHEMAS } from './event-schemas.js';

const put = (change: object, contract: object = {}): unknown => ({
  tools: [{
    name: 'put', description: 'd', server: 's', schema: { type: 'object', required: ['version'], properties: { version: { type: 'string' } } }, schemaDigest: '0'.repeat(64), mappingRevision: 1,
    contract: { kind: 'idempotent', precondition: 'version', ...contract }, scopeFields: [], target: 't', connector: { kind: 'http', config: { precondition: { header: 'if-match', argument: 'version' } } },
    timeoutMs: 1, argumentBytesMax: 1, outputBytesMax: 1, dataClass: 'public', costUsdMicros: 0, ...change,
  }],
});
const accepts = (v: unknown): boolean => EVENT_SCHEMAS['registry.published'].safeParse(v).success;

describe('the mapping of an idempotent tool', () => {
  it('[TOOL-1] [EFF-4] is published when every attempt carries its precondition', () => {
    expect(accepts(put({}))).toBe(true);
    expect(accepts(put({ connector: { kind: 'mcp', config: {} } }))).toBe(true);
  });
  it.each([
    ['the schema does not require it', put({ schema: { type: 'object', properties: { version: {} } } })], ['the schema says nothing', put({ schema: null })],
    ['the connector does not send it', put({ connector: { kind: 'http', config: {} } })], ['the connector sends another argument', put({ connector: { kind: 'http', config: { precondition: { header: 'if-match', argument: 'etag' } } } })],
    ['none is named', put({}, { precondition: undefined })],
  ])('[TOOL-1] [EFF-4] is refused where %s', (_why, document) => expect(accepts(document)).toBe(false));
});

describe('the mapping of a keyed tool', () => {
  const keyed = (kind: string, config: object): unknown => put({ contract: { kind: 'keyed', keyLifeMs: 1000 }, connector: { kind, config } });
  it.each([['http', { keyHeader: 'idempotency-key' }], ['mcp', { key: { meta: 'n17q/key' } }]])('[TOOL-1] [EFF-4] is published when every attempt carries its key: %s', (kind, config) => expect(accepts(keyed(kind, config))).toBe(true));
  it.each([['http', {}], ['http', { key: { meta: 'x' } }], ['mcp', {}], ['mcp', { keyHeader: 'x' }], ['command', { keyHeader: 'x' }], ['workspace', { key: 'x' }]])('[TOOL-1] [EFF-4] is refused where nothing would carry it: %s %j', (kind, config) => expect(accepts(keyed(kind, config))).toBe(false));
});

it('[TOOL-1] a connector that is not there is refused by its name, with those that are', () => {
  const said = (kind: unknown) => EVENT_SCHEMAS['registry.published'].safeParse(put({ connector: { kind, config: {} } })).error?.issues.map((i) => [i.path.join('/'), i.message]);
  expect(said('smtp')).toEqual([['tools/0/connector/kind', 'there is no connector smtp here; there are http, mcp, command, workspace']]);
  expect(said('x'.repeat(10_000))?.[0]?.[1]?.length).toBeLessThan(200);
  expect(said(7)?.[0]?.[1]).toBe('one of http, mcp, command, workspace');
});
