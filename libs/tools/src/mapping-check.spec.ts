import { describe, expect, it } from '@jest/globals';
import { digestOf } from '@n17q/contracts';
import type { EffectContract, Json, ToolMapping } from '@n17q/domain';
import { codingTools } from './builtin.js';
import { mappingFaults } from './mapping-check.js';

const schema = { type: 'object', properties: { id: { type: 'string' }, version: { type: 'string' }, rest: { type: 'object' } }, required: ['version'] };
const HTTP = { baseUrl: 'http://127.0.0.1:9', method: 'POST', path: '/things' };
const MCP = { transport: 'http', url: 'http://127.0.0.1:9/mcp', tool: 'put' };
const tool = (kind: string, config: Json, change: Partial<ToolMapping> = {}): ToolMapping => ({
  name: 'put', description: 'd', server: 's', schema, schemaDigest: digestOf(schema), mappingRevision: 1, contract: { kind: 'neither' }, scopeFields: [], target: 't', connector: { kind: kind as never, config },
  timeoutMs: 1, argumentBytesMax: 1, outputBytesMax: 1, dataClass: 'internal', costUsdMicros: 0, ...change,
});
const contract = (c: EffectContract): Partial<ToolMapping> => ({ contract: c });
const QUERYABLE: EffectContract = { kind: 'queryable', query: { absenceFinalAfterMs: null } };
const KEYED: EffectContract = { kind: 'keyed', keyLifeMs: 60_000 };

describe('a mapping that can never work', () => {
  it.each<[what: string, ToolMapping, path: string, says: RegExp]>([
    ['http without its address', tool('http', { url: 'http://a', method: 'POST' }), '/connector/config/baseUrl', /needed/],
    ['http, contained', tool('http', HTTP, contract({ kind: 'contained' })), '/contract', /never contained/],
    ['http, keyed without a header', tool('http', HTTP, contract(KEYED)), '/contract', /keyHeader/],
    ['http, asked nowhere', tool('http', HTTP, contract(QUERYABLE)), '/connector/config/query', /query \{path\}/],
    ['a path with an unknown argument', tool('http', { ...HTTP, path: '/things/{zzz}' }), '/connector/config/path', /\{zzz\} is no argument of the schema; it names id, version, rest/],
    ['a path with an object', tool('http', { ...HTTP, path: '/things/{rest}' }), '/connector/config/path', /text or a number/],
    ['a path with no placeholder', tool('http', { ...HTTP, path: '/things/{thing-id}' }), '/connector/config/path', /letters, digits/],
    ['a query with another placeholder', tool('http', { ...HTTP, query: { path: '/things/{id}?key={key}' } }), '/connector/config/query/path', /only placeholder/],
    ['a precondition that no call has', tool('http', { ...HTTP, precondition: { header: 'if-match', argument: 'etag' } }), '/connector/config/precondition/argument', /etag/],
    ['mcp, contained', tool('mcp', MCP, contract({ kind: 'contained' })), '/contract', /never contained/],
    ['mcp, keyed without a place', tool('mcp', MCP, contract(KEYED)), '/contract', /needs key/],
    ['mcp, asked nowhere', tool('mcp', MCP, contract(QUERYABLE)), '/connector/config/query', /keyArgument/],
    ['mcp, a key that the caller must give', tool('mcp', { ...MCP, key: { argument: 'version' } }, contract(KEYED)), '/connector/config/key/argument', /every call would be refused/],
    ['mcp, started without a command', tool('mcp', { transport: 'stdio', tool: 'put' }), '/connector/config/command', /needed/],
    ['command, keyed', tool('command', { command: ['true'] }, contract(KEYED)), '/contract', /never keyed/],
    ['command, queryable', tool('command', { command: ['true'] }, contract(QUERYABLE)), '/contract', /cannot be asked/],
    ['command, empty', tool('command', { command: [] }), '/connector/config/command', /./],
    ['a write that is called read-only', tool('workspace', { operation: 'write', readOnly: false }, { ...contract({ kind: 'read-only' }), schema: { type: 'object' } }), '/contract', /changes the workspace/],
    ['a read without a path', tool('workspace', { operation: 'read', readOnly: true }, contract({ kind: 'read-only' })), '/schema', /needs the argument path/],
    ['a connector that is not there', tool('smtp', {}), '/connector/kind', /no connector smtp here; there are http, mcp, command, workspace/],
    ['a scope by no argument', tool('http', HTTP, { scopeFields: ['id', 'customer'] }), '/scopeFields/1', /customer is no argument/],
    ['a source of no argument', tool('http', HTTP, { source: { identity: 'customer/{zzz}', required: false } }), '/source/identity', /\{zzz\}/],
    ['arguments that are no object', tool('http', HTTP, { schema: { type: 'string' } }), '/schema', /are an object/],
  ])('[TOOL-1] [EFF-4] is told with its place: %s', (_what, t, path, says) => {
    expect(mappingFaults(t)).toEqual(expect.arrayContaining([{ path, problem: expect.stringMatching(says) }]));
  });

  it.each<[what: string, ToolMapping]>([
    ['every contract of http', tool('http', { ...HTTP, path: '/things/{id}', keyHeader: 'idempotency-key', query: { path: '/things?key={key}' } }, { contract: { ...KEYED, query: { absenceFinalAfterMs: null } }, scopeFields: ['id'], source: { identity: 'thing/{id}', required: true } })],
    ['an idempotent one', tool('http', { ...HTTP, method: 'PUT', precondition: { header: 'if-match', argument: 'version' } }, contract({ kind: 'idempotent', precondition: 'version' }))],
    ['an MCP tool with a key', tool('mcp', { ...MCP, key: { meta: 'key' }, query: { tool: 'find', keyArgument: 'k' } }, contract({ ...KEYED, query: { absenceFinalAfterMs: null } }))],
    ['an open schema', tool('http', HTTP, { schema: { type: 'object', properties: {}, additionalProperties: true }, scopeFields: ['anything'] })],
    ['a schema that does not show its arguments', tool('http', HTTP, { schema: { type: 'object' }, scopeFields: ['anything'] })],
  ])('[TOOL-1] is not seen in %s', (_what, t) => {
    expect(mappingFaults(t)).toEqual([]);
  });

  it('[TOOL-1] is none of those that come with the stack', () => {
    for (const isolation of [{ isolation: 'none', why: 'test' }, { isolation: 'namespaces', as: 'user' }] as const)
      for (const t of codingTools({ isolation, testCommand: ['true'], ticketsUrl: 'http://127.0.0.1:9' })) expect([t.name, mappingFaults(t)]).toEqual([t.name, []]);
  });
});
