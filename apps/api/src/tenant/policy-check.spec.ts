import { describe, expect, it } from '@jest/globals';
import { digestOf } from '@n17q/contracts';
import type { RegistryDocument, ToolMapping } from '@n17q/domain';
import { requireRegistry } from './policy-check.js';

const schema = { type: 'object' };
const tool = (change: Partial<ToolMapping> = {}): ToolMapping => ({
  name: 'pay', description: 'd', server: 's', schema, schemaDigest: digestOf(schema), mappingRevision: 3, contract: { kind: 'keyed', keyLifeMs: 60_000 }, scopeFields: [], target: 'bank',
  connector: { kind: 'http', config: { baseUrl: 'https://a.example', method: 'POST', path: '/', keyHeader: 'idempotency-key' } }, timeoutMs: 1000, argumentBytesMax: 1000, outputBytesMax: 1000, dataClass: 'internal', costUsdMicros: 0, ...change,
});
const of = (...tools: ToolMapping[]): RegistryDocument => ({ tools });
const moved: ToolMapping['connector'] = { kind: 'http', config: { baseUrl: 'https://b.example', method: 'POST', path: '/', keyHeader: 'idempotency-key' } };

describe('a registry that is published over another', () => {
  it.each<[string, Partial<ToolMapping>]>([['another address', { connector: moved }], ['another address and an older revision', { connector: moved, mappingRevision: 2 }], ['an older revision alone', { mappingRevision: 2 }], ['another target', { target: 'other' }], ['another class of data', { dataClass: 'public' }]])('[TOOL-4] [APP-2] [EFF-4] is refused where a mapping has %s under no greater revision', (_what, change) => {
    expect(() => requireRegistry(of(tool(change)), null, of(tool()))).toThrow(expect.objectContaining({ code: 'MALFORMED', message: expect.stringContaining('mappingRevision') }));
  });
  it('[TOOL-4] stands where nothing changed, where what changed has a greater revision, and for another tool', () => {
    expect(() => requireRegistry(of(tool()), null, of(tool()))).not.toThrow();
    expect(() => requireRegistry(of(tool({ mappingRevision: 4 })), null, of(tool()))).not.toThrow();
    expect(() => requireRegistry(of(tool({ connector: moved, mappingRevision: 4 })), null, of(tool()))).not.toThrow();
    expect(() => requireRegistry(of(tool(), tool({ name: 'other', connector: moved })), null, of(tool()))).not.toThrow();
    expect(() => requireRegistry(of(tool({ connector: moved })), null, null)).not.toThrow();
  });
  it('[TOOL-1] [EFF-4] is refused with each place where a mapping can never work, and not for one that is in force already', () => {
    const never = tool({ name: 'never', contract: { kind: 'contained' }, scopeFields: ['zzz'], schema: { type: 'object', properties: {} }, schemaDigest: digestOf({ type: 'object', properties: {} }) });
    expect(() => requireRegistry(of(tool(), never), null, null)).toThrow(expect.objectContaining({ code: 'MALFORMED', facts: { path: '/tools/1/contract' }, message: expect.stringMatching(/\/tools\/1\/contract: .*never contained; \/tools\/1\/scopeFields\/0: zzz is no argument/) }));
    expect(() => requireRegistry(of(tool(), never), null, of(never))).not.toThrow();
  });
});
