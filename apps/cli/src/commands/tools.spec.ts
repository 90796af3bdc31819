import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { digestOf, EVENT_SCHEMAS } from '@n17q/contracts';
import { codingTools, mappingFaults, type ServerDraft } from '@n17q/tools';
import { besideOthers, isStackTool } from '../stack/stack-tools.js';
import { requireFreeNames, withoutTools, withTools } from './registry.js';
import { byName, toolsIn } from './tool-file.js';
import { adviceOn, draftTools, notesOf } from './tools.js';

const tools = codingTools({ isolation: { isolation: 'none', why: 'test' }, testCommand: ['true'], ticketsUrl: 'http://127.0.0.1:9' });
const [first] = tools as [typeof tools[0]];
const silent = { json: false, step: () => undefined, answer: () => undefined };

describe('n17q tool', () => {
  it('[TOOL-1] publishing adds tools, puts those of the same name in their place with a higher revision, and takes none away', () => {
    const changed = { ...first, description: 'another', mappingRevision: 1 };
    const next = withTools(tools, [changed, { ...first, name: 'new_one' }], 7);
    expect(next.map((t) => t.name).sort()).toEqual([...tools.map((t) => t.name), 'new_one'].sort());
    expect(next.find((t) => t.name === first.name)).toEqual({ ...changed, mappingRevision: 2 });
    expect(next.find((t) => t.name === 'new_one')?.mappingRevision).toBe(8); // above whatever an earlier tool of that name had
  });

  it('[CTX-6] notes about a server colour nothing and stay on one line', () => {
    const d: ServerDraft = { server: 's', protocol: 'p', tools: [{ mapping: { ...first, name: 'a' }, notes: ['one\u001b[31m\ntwo'] }], notes: ['\u202eb'] };
    for (const n of notesOf(d)) expect(n).toMatch(/^[\x20-\x7e]+$/);
  });

  it.each([
    [[], {}, 'where the server is'], [['x'], { url: 'http://a' }, 'where the server is'], [[], { url: 'ftp://a' }, 'http:// or https://'], [['x'], { env: ['lower=1'] }, 'NAME=VALUE'],
    [['x'], { credential: 'a' }, '--secret'], [[], { url: 'http://a', env: ['A=1'] }, '--credential'], [[], { url: 'http://a', credential: '../x' }, 'no name of a credential'],
  ])('[SEC-4] a draft of %j with %j is asked for wrongly', async (command, words, says) => {
    await expect(draftTools('n', command, words, silent)).rejects.toMatchObject({ name: 'Trouble', message: expect.stringContaining(says) });
  });
});

const FILES_SERVER = { server: 'files', connector: { kind: 'mcp' as const, config: {} } };
describe('a publication', () => {
  const read = tools.find((t) => t.name === 'read_file') as typeof first;
  it('[TOOL-1] is refused where it would take the name of another server\'s tool, with who has it and both ways out', () => {
    const clash = { ...read, ...FILES_SERVER };
    expect(() => requireFreeNames(tools, [clash, { ...clash, name: 'other' }], [], 'f.json')).toThrow(/^Nothing was published: read_file is provided by workspace \(workspace\) now\..*--prefix.*publish f\.json --replace read_file$/u);
    expect(() => requireFreeNames(tools, [{ ...read, connector: FILES_SERVER.connector }], [], 'f.json')).toThrow('read_file'); // the server's name alone is a claim
    expect(() => requireFreeNames(tools, [clash], ['read_file'], 'f.json')).not.toThrow();
    expect(() => requireFreeNames(tools, [{ ...read, description: 'new words' }], [], 'f.json')).not.toThrow();
    expect(() => requireFreeNames(tools, [clash], ['read_file', 'zzz'], 'f.json')).toThrow(/--replace names zzz/u);
  });
  it('[TOOL-1] a tool that took the place of the stack\'s is a person\'s', () => {
    expect(tools.map((t) => [t.name, isStackTool(t)])).toEqual(tools.map((t) => [t.name, true]));
    expect(isStackTool({ ...read, ...FILES_SERVER })).toBe(false);
    expect(isStackTool({ ...read, name: 'mine' })).toBe(false);
    const [theirs, mine] = [{ ...read, ...FILES_SERVER }, { ...read, ...FILES_SERVER, name: 'mine' }];
    expect(besideOthers(tools, [first, theirs, mine])).toEqual([...tools.filter((t) => t.name !== 'read_file'), theirs, mine]);
  });
});

describe('a removal', () => {
  const mine = { ...first, ...FILES_SERVER, name: 'mine' };
  it('[TOOL-1] [TOOL-3] takes away what is named, all or nothing, and no tool of the stack', () => {
    const now = [...tools, mine];
    expect(withoutTools(now, ['mine'], isStackTool)).toEqual(tools);
    expect(() => withoutTools(now, ['mine', 'nosuch'], isStackTool)).toThrow(/^Nothing was removed: the registry has no nosuch\./u);
    expect(() => withoutTools(now, ['mine', 'read_file'], isStackTool)).toThrow(/^Nothing was removed: read_file is a tool of the stack itself/u);
  });
});

describe('a file of tools', () => {
  const folder = mkdtempSync(join(tmpdir(), 'n17q-tool-file-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'f.json');
  const read = (text: string) => { writeFileSync(file, text); return toolsIn(file); };
  it.each([
    ['null', 'holds null'], ['[]', 'holds an array'], ['7', 'holds a number'], ['', 'is empty'], ['{', 'is not JSON'], ['{}', 'no list "tools"'], ['{"tools":[]}', 'names no tools'], ['{"tools":[null]}', 'The 1st entry'],
    ['{"tools":[{"name":"a"},{"name":7}]}', 'The 2nd entry'], ['{"tools":[{"name":"a"},{"name":"a"}]}', 'two tools named a'], ['{"tools":[{"name":"a"}],"more":1}', 'has more beside'], [JSON.stringify({ tools: [{ name: 'a', description: 'x'.repeat(3_000_000) }] }), 'at most 1048576 are taken'],
  ])('[TOOL-1] of the kind %# is refused before anything is asked, with what to do', (text, says) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ exitCode: 2, message: expect.stringContaining(says) }));
    expect(() => read(text)).toThrow(/: (a file of tools is|give one|leave out)/u);
  });
  it('[TOOL-1] as the documentation has one can be published', () => {
    const [, example = ''] = /```json\n([^`]+)```/u.exec(readFileSync(new URL('../../../../docs/tools.md', import.meta.url), 'utf8')) ?? [];
    expect(read(example).flatMap((t) => mappingFaults(t))).toEqual([]);
    expect(EVENT_SCHEMAS['registry.published'].safeParse({ tools: read(example) }).error).toBeUndefined();
  });
  it('[TOOL-1] that is not there is named', () => { expect(() => toolsIn(join(folder, 'absent'))).toThrow(/absent cannot be read \(ENOENT\)/u); });
  it('[TOOL-1] may leave the digest of a schema out, and one that it says stays as it is said', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    expect(read(JSON.stringify({ tools: [{ name: 'a', schema }, { name: 'b', schema, schemaDigest: 'said', mappingRevision: 4 }] }))).toMatchObject([{ schemaDigest: digestOf(schema), mappingRevision: 1 }, { schemaDigest: 'said', mappingRevision: 4 }]);
  });
  it('[TOOL-1] what is wrong with a mapping is told by its tool\'s name', () => {
    const names = [{ name: 'a' }, { name: 'b' }];
    expect(byName('/tools/1/description: too long; /tools/0/connector/config/path: {z} is unknown; /tools/9/x: y; /tools/0: two', names)).toBe('tool b: /description: too long; tool a: /connector/config/path: {z} is unknown; /tools/9/x: y; tool a: two');
  });
});

it.each([['ECONNREFUSED', /start the server, or correct --url/u], ['STATUS_401', /--credential/u], ['STATUS_404', /\/mcp/u], ['CONNECT_TIMEOUT', /streamable HTTP/u]])('[TOOL-5] says what to do when a server at an address cannot be asked: %s', (what, says) => {
  expect(adviceOn(what, { transport: 'http', url: 'http://127.0.0.1:9' })).toMatch(says);
});
it('[TOOL-5] a server that ends, one that is no program, and a tool that is not offered are told with what to do', async () => {
  await expect(draftTools('n', [process.execPath, '-e', 'process.exit(3)'], {}, silent)).rejects.toThrow(/^The server cannot be asked \([A-Z_]+\).*(run it by itself|is an MCP server)/u);
  await expect(draftTools('n', ['/nowhere/at-all'], {}, silent)).rejects.toThrow(/correct the command after --/u);
}, 30_000);
