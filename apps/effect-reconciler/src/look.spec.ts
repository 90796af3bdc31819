import { describe, expect, it } from '@jest/globals';
import type { Effect, RegistryDocument, ToolMapping } from '@n17q/domain';
import { toolToAsk } from './look.js';

const tool = (name: string, change: Partial<ToolMapping> = {}): ToolMapping => ({
  name, description: 'd', server: 's', schema: {}, schemaDigest: 'd', mappingRevision: 1, contract: { kind: 'queryable', query: { absenceFinalAfterMs: 10_000 } }, scopeFields: [], target: name,
  connector: { kind: 'http', config: {} }, timeoutMs: 1000, argumentBytesMax: 1000, outputBytesMax: 1000, dataClass: 'internal', costUsdMicros: 0, ...change,
});
const pin = (registryRevision: number) => ({ registryRevision, mappingRevision: 1, server: 's', schemaDigest: 'd' });
const effect = (migrated: Effect['migrated'] = null): Pick<Effect, 'tool' | 'mapping' | 'migrated' | 'scope'> => ({ tool: 'old', mapping: pin(1), migrated, scope: { target: 'old', fields: {} } });
const toNew: Effect['migrated'] = { tool: 'new', mapping: pin(2), contract: { kind: 'queryable', query: { absenceFinalAfterMs: 10_000 } } };
const history: readonly RegistryDocument[] = [{ tools: [tool('old')] }, { tools: [tool('new')] }];
const at = (revision: number) => Promise.resolve(history[revision - 1] ?? null);
const asked = (tools: readonly ToolMapping[], e = effect()) => toolToAsk({ revision: 3, document: { tools } }, e, at);

describe('whom a look asks', () => {
  it('[POL-5, TOOL-3] is the tool as it is today, with whatever was mended in it, while it is the same tool at the same target', async () => {
    const mended = tool('old', { mappingRevision: 2, timeoutMs: 5000 });
    expect(await asked([mended])).toBe(mended);
    const chosen = tool('new', { mappingRevision: 2, timeoutMs: 5000 });
    expect(await asked([chosen], effect(toNew))).toBe(chosen);
  });
  it.each([['removed', []], ['of another server', [tool('old', { server: 'x' })]], ['of another schema', [tool('old', { schemaDigest: 'x' })]], ['at another target', [tool('old', { target: 'x' })]]] as const)('[TOOL-3, TOOL-4, TOOL-5] is the tool that was pinned where today\'s is %s', async (_how, tools) => {
    expect(await asked(tools)).toBe(history[0]?.tools[0]);
  });
  it.each([['removed', []], ['of another server', [tool('new', { server: 'x' })]], ['at another target', [tool('new', { target: 'x' })]]] as const)('[TOOL-3, EFF-5] is the tool that a person named, as it was then, where today\'s of that name is %s', async (_how, tools) => {
    expect(await asked(tools, effect(toNew))).toBe(history[1]?.tools[0]);
  });
  it('[TOOL-3, EFF-5] is nobody where the registry no longer tells', async () => expect(await asked([], { ...effect(), mapping: pin(9) })).toBeUndefined());
});
