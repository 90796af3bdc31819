import { describe, expect, it } from '@jest/globals';
import { codingTools, type ServerDraft } from '@n17q/tools';
import { draftTools, notesOf, withTools } from './tools.js';

const tools = codingTools({ isolation: { isolation: 'none', why: 'test' }, testCommand: ['true'], ticketsUrl: 'http://127.0.0.1:9' });
const [first] = tools as [typeof tools[0]];
const silent = { json: false, step: () => undefined, answer: () => undefined };

describe('n17q tool', () => {
  it('[TOOL-1] publishing adds tools, puts those of the same name in their place with a higher revision, and takes none away', () => {
    const changed = { ...first, description: 'another', mappingRevision: 1 };
    const next = withTools(tools, [changed, { ...first, name: 'new_one' }]);
    expect(next.map((t) => t.name).sort()).toEqual([...tools.map((t) => t.name), 'new_one'].sort());
    expect(next.find((t) => t.name === first.name)).toEqual({ ...changed, mappingRevision: 2 });
    expect(next.find((t) => t.name === 'new_one')?.mappingRevision).toBe(1);
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
