import { describe, expect, it } from '@jest/globals';
import { CONTRACT_FIELDS, CONTRACT_KINDS, type ToolMapping } from '@n17q/domain';
import fc from 'fast-check';
import { checkArguments, parseArguments, validateArguments } from './arguments.js';
import { boundedText, HeadAndTail } from './bounded-text.js';
import { codingTools } from './builtin.js';
import { connectorFor } from './connectors.js';
import { MemoryArtifactStore } from '@n17q/artifacts';
import { Workspaces } from './workspace/workspaces.js';

const tools = codingTools({ isolation: { isolation: 'namespaces', as: 'user' }, testCommand: ['node', '--test'], ticketsUrl: 'http://127.0.0.1:9' });
const named = (name: string): ToolMapping => tools.find((t) => t.name === name) as ToolMapping;

describe('the coding tools', () => {
  it('[TOOL-1] each have a schema with its digest, a legal contract, and a connector that takes their configuration', () => {
    const around = { workspaces: new Workspaces(new MemoryArtifactStore(), '/nonexistent'), isolation: { isolation: 'none', why: 'test' } as const, credentials: () => ({}) };
    expect(tools.map((t) => [t.name, t.contract.kind, t.connector.kind])).toEqual([
      ['list_files', 'read-only', 'workspace'], ['read_file', 'read-only', 'workspace'], ['write_file', 'contained', 'workspace'], ['run_tests', 'contained', 'command'], ['file_ticket', 'queryable', 'http'],
    ]);
    for (const t of tools) {
      expect(CONTRACT_KINDS).toContain(t.contract.kind);
      const fields = CONTRACT_FIELDS[t.contract.kind];
      for (const f of fields.required) expect(t.contract).toHaveProperty(f);
      expect(Object.keys(t.contract).filter((k) => k !== 'kind').every((k) => [...fields.required, ...fields.allowed].includes(k as never))).toBe(true);
      expect(t.schemaDigest).toMatch(/^[0-9a-f]{64}$/);
      expect(connectorFor(t, around).kind).toBe(t.connector.kind);
      expect(connectorFor(t, around).query !== undefined).toBe(t.contract.query !== undefined);
      for (const f of t.scopeFields) expect((t.schema as { properties: object }).properties).toHaveProperty(f);
    }
    expect(new Set(tools.map((t) => t.schemaDigest)).size).toBe(tools.length);
  });

  it('[EFF-4] run_tests is not called contained where nothing can be contained', () => {
    const [runTests] = codingTools({ isolation: { isolation: 'none', why: 'test' }, testCommand: ['true'], ticketsUrl: 'http://127.0.0.1:9' }).filter((t) => t.name === 'run_tests');
    expect(runTests?.contract).toEqual({ kind: 'neither' });
  });

  it('[TOOL-1] a connector refuses a configuration that says read-only of a write', () => {
    const around = { workspaces: new Workspaces(new MemoryArtifactStore(), '/nonexistent'), isolation: { isolation: 'none', why: 'test' } as const, credentials: () => ({}) };
    expect(() => connectorFor({ ...named('write_file'), connector: { kind: 'workspace', config: { operation: 'write', readOnly: true } } }, around)).toThrow();
    expect(() => connectorFor({ ...named('run_tests'), connector: { kind: 'command', config: { command: [] } } }, around)).toThrow();
    expect(() => connectorFor({ ...named('run_tests'), connector: { kind: 'command', config: { command: ['x'], mounts: [{ from: '/a/../etc', at: '/x' }] } } }, around)).toThrow();
  });
});

describe('arguments', () => {
  it.each(['', ' ', '\n'])('[EFF-1] an empty buffer %j is not an empty object', (text) => {
    expect(parseArguments(named('run_tests').schema, text)).toMatchObject({ kind: 'refused', code: 'ARGUMENTS_EMPTY' });
    expect(parseArguments(named('run_tests').schema, '{}')).toEqual({ kind: 'valid', args: {} });
  });
  it('[EFF-1] a cut buffer is refused', () => {
    expect(parseArguments(named('read_file').schema, '{"path":"src/ma')).toMatchObject({ kind: 'refused', code: 'ARGUMENTS_NOT_JSON' });
  });
  it.each([
    ['read_file', {}, 'path'], ['read_file', { path: 7 }, 'path'], ['read_file', { path: 'a', mode: 'raw' }, 'mode'], ['read_file', null, ''], ['read_file', [], ''],
    ['file_ticket', { project: 'p', title: '', body: '' }, 'title'], ['run_tests', { filter: 'x' }, 'filter'],
  ] as const)('[EFF-1] %s with %j is refused, and the reason names the place', (name, args, place) => {
    const checked = checkArguments(named(name).schema, args as never);
    expect(checked).toMatchObject({ kind: 'refused', code: 'ARGUMENTS_INVALID' });
    expect((checked as { reason: string }).reason).toContain(place);
    expect(validateArguments(named(name), args as never)).toEqual({ ok: false, issues: (checked as { reason: string }).reason });
  });
  it('[CTX-6] a key that a schema does not name is refused also where the schema forgets to forbid it', () => {
    const schema = { type: 'object', properties: { a: { type: 'object', properties: { b: { type: 'string' } } } } };
    expect(checkArguments(schema, { a: { b: 'x' } }).kind).toBe('valid');
    expect(checkArguments(schema, { a: { b: 'x', approve: true } }).kind).toBe('refused');
    expect(checkArguments(schema, { a: {}, tools: [] }).kind).toBe('refused');
  });
  it('[EFF-1] gives valid arguments back as they were, without defaults or coercion', () => {
    const args = { project: 'ledger', title: 'Cents are lost', body: '' };
    expect(checkArguments(named('file_ticket').schema, args)).toEqual({ kind: 'valid', args });
    expect(validateArguments(named('file_ticket'), args)).toEqual({ ok: true, value: args });
  });
});

describe('bounded text', () => {
  it('[CTX-6] never exceeds its bound, keeps head and tail, and counts what it left out', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), fc.integer({ min: 80, max: 600 }), (text, max) => {
      const bounded = boundedText(text, max);
      const bytes = Buffer.byteLength(text);
      if (bytes <= max) return bounded === text;
      return Buffer.byteLength(bounded) <= max && bounded.includes('bytes left out');
    }));
  });
  it('[CTX-6] the same chunks cut elsewhere give the same text', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), fc.integer({ min: 1, max: 120 }), (bytes, sizes, max) => {
      const whole = new HeadAndTail(max);
      whole.add(Buffer.from(bytes));
      const cut = new HeadAndTail(max);
      for (let i = 0, n = 0; i < bytes.length; n++) { const size = sizes[n % sizes.length] as number; cut.add(Buffer.from(bytes.subarray(i, i + size))); i += size; }
      return whole.text() === cut.text() && whole.bytes === cut.bytes;
    }));
  });
});
