/** What the emulated model says in the demo: it works with tools, files one ticket, looks once more, and ends only under another model. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FIXTURE_BUG, type Script, type ScriptedCall, type ScriptedReply } from '@n17q/testing';

export const ACCOUNTS = { first: 'studio-a', second: 'studio-b' } as const;
export const MODELS = { first: 'gemini-3-pro-preview', second: 'gemini-3-flash-preview' } as const;
export const NOTE = 'N17Q-NOTE.md';
/** The request before which the gateway is killed: the one that follows the result of the step after the ticket. */
export const KILLED_BEFORE_REQUEST = 8;

const call = (tool: string, args: ScriptedCall['args'] = {}, thought?: string): ScriptedReply => ({ calls: [{ tool, args }], ...(thought === undefined ? {} : { thought }) });
const ticket = (title: string, body: string): ScriptedReply => call('file_ticket', { project: 'ledger', title, body }, 'People should know of this.');

function script(work: readonly ScriptedReply[], last: string): Script {
  return {
    steps: [
      { when: { model: MODELS.second }, reply: { thought: 'The story so far says that it is done.', text: last } },
      ...work.map((reply) => ({ reply })),
    ],
    otherwise: call('list_files'), // the first model never says that it is done
  };
}

/** Mends the bug of the sample repository in `repo`. */
export function fixtureScript(repo: string): Script {
  const mended = readFileSync(join(repo, FIXTURE_BUG.path), 'utf8').replace(FIXTURE_BUG.wrong, FIXTURE_BUG.right);
  return script([
    call('list_files', {}, 'First, what is there?'),
    call('read_file', { path: 'test/invoice.test.js' }, 'The test says what is expected.'),
    call('read_file', { path: FIXTURE_BUG.path }),
    call('write_file', { path: FIXTURE_BUG.path, content: mended }, 'Cents are truncated where they should be rounded.'),
    call('run_tests'),
    ticket('Tax per line is rounded now', `The tax of a line was truncated to whole cents; ${FIXTURE_BUG.path} rounds it.`),
    call('read_file', { path: FIXTURE_BUG.path }, 'Once more, to be sure.'),
    call('list_files', { prefix: 'src/' }),
  ], 'The failing test passes, and a ticket says what was changed.');
}

/** Works in any repository: reads a file, leaves a note, runs the tests. */
export const genericScript = (file: string): Script => script([
  call('list_files', {}, 'First, what is there?'),
  call('read_file', { path: file }),
  call('write_file', { path: NOTE, content: '# A note\n\nWritten by a run, in its own copy of the repository.\n' }),
  call('read_file', { path: NOTE }),
  call('run_tests'),
  ticket('A note was left', `A run added ${NOTE} to its copy of the repository.`),
  call('read_file', { path: NOTE }, 'Once more, to be sure.'),
  call('list_files', { prefix: 'N17Q' }),
], 'The note is written, the tests were run, and a ticket says so.');
