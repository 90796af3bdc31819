import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { N17qProblem } from '@n17q/client';
import { refusalText, said } from './api.js';
import { madeText, runCommand } from './runs.js';
import { given } from './words-given.js';

const setup = { providers: '/d/providers.json', credentials: '/d/keys' };
const nowhere = { json: false, step: () => undefined, answer: () => { throw new Error('it answered'); } };

describe('run', () => {
  const before = { ...process.env };
  beforeEach(() => { Object.assign(process.env, { N17Q_API_URL: 'http://127.0.0.1:1', N17Q_API_TOKEN: 'a-token' }); });
  afterEach(() => { process.env = { ...before }; });

  it.each(['', '   ', '\n\t'])('refuses the goal %j before it asks anybody', async (goal) => {
    await expect(runCommand(goal, {}, nowhere)).rejects.toMatchObject({ message: 'The goal is empty: say in words what you want.', exitCode: 2 });
  });
  it('refuses a title that says nothing or too much', async () => {
    await expect(runCommand('a goal', { title: ' ' }, nowhere)).rejects.toThrow('The title is empty');
    await expect(runCommand('a goal', { title: 'x'.repeat(301) }, nowhere)).rejects.toThrow('The title has 301 characters, at most 300 are taken');
    await expect(runCommand('a goal', { title: 'a\nb' }, nowhere)).rejects.toThrow('The title is one line');
  });
  it('says so when the API does not answer', async () => {
    await expect(runCommand('a goal', {}, nowhere)).rejects.toThrow(/^The API does not answer \(.*\): check N17Q_API_URL\.$/u);
  });
  it('says that the run waits when there is no model, and how to configure one', () => {
    const text = madeText('r1', 0, setup);
    expect(text).toContain('No model account is configured, so the run waits for one. ./n17q provider add ACCOUNT --model NAME --key-stdin < KEYFILE adds one to /d/providers.json, and its key to /d/keys; what waits then goes on by itself');
    expect(madeText('r1', 0, null)).toContain('PUT /v1/tenant/profiles');
    expect(madeText('r1', 2, setup, true)).toMatch(/no test command, so the model gets no tool that runs tests: .*N17Q_TEST_CMD=/u);
    expect(madeText('r1', 2, setup)).toBe('Run r1 is in the log. ./n17q show r1 says what it does.');
  });
});

describe('what the API refuses', () => {
  it('is said with what to do', () => {
    expect(refusalText('UNAUTHENTICATED', 'Send a token')).toContain('correct N17Q_API_TOKEN');
    expect(refusalText('MALFORMED', '/title: no line breaks.')).toBe('What was given has not the form that is needed: /title: no line breaks. Correct it and run the command again.');
    expect(refusalText('TOO_LARGE', 'A body is at most 1048576 bytes.')).toBe('What was given is too large for one request (A body is at most 1048576 bytes): give a part of it, or a text that says where the whole is.');
    expect(refusalText('ILLEGAL', 'The run has ended\u001b[2J.')).toBe('The run has ended<1b>[2J.');
  });
});

describe('exit codes', () => {
  it('are 2 for what cannot be taken whatever the state, and 1 for what cannot be done now', async () => {
    const problem = (code: string) => said(() => Promise.reject(new N17qProblem({ type: 't', title: 't', status: 400, code, detail: 'd' } as never, undefined)));
    for (const [code, exitCode] of [['MALFORMED', 2], ['RULES_BROKEN', 2], ['TOO_LARGE', 2], ['ILLEGAL', 1], ['NOT_FOUND', 1]] as const) await expect(problem(code)).rejects.toMatchObject({ exitCode });
  });
});

describe('a text that somebody gives', () => {
  it('is taken as it is, unless it is empty, too long, or half', () => {
    expect(given('note', ' x ')).toBe(' x ');
    expect(() => given('note', 'x'.repeat(200_001))).toThrow('The note has 200001 characters, at most 200000 are taken');
    expect(() => given('note', 'x\ud800')).toThrow('half a character');
  });
});
