import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { geminiAccount, profilesOf } from '@n17q/testing';
import { accountsFrom, changeAccounts } from '../stack/providers-file.js';
import { addProvider, withAccount } from './providers.js';

const [a, b] = [geminiAccount('a', 'http://127.0.0.1:9', ['gemini-2.5-pro']), geminiAccount('b', 'http://127.0.0.1:9', ['gemini-3-pro-preview', 'gemini-2.5-flash'])];
let dir: string;
beforeAll(() => { dir = mkdtempSync(join(tmpdir(), 'n17q-providers-')); });
afterAll(() => { rmSync(dir, { recursive: true, force: true }); });

describe('model accounts', () => {
  it('are added with a name and models, and what is missing is said in that order', async () => {
    const out = { json: false, step: () => undefined, answer: () => { throw new Error('it answered'); } };
    await expect(addProvider(undefined, {}, out)).rejects.toThrow('Name the account and its models: ./n17q provider add ACCOUNT --model NAME');
    await expect(addProvider('mine', {}, out)).rejects.toThrow('Name the models of the account mine with --model');
  });
  it('come last when they are new, and keep their place when they change', () => {
    expect(withAccount({ accounts: [], preference: [] }, a)).toEqual(profilesOf([a]));
    expect(withAccount(profilesOf([a]), b)).toEqual(profilesOf([a, b]));
    const changed = geminiAccount('a', 'http://127.0.0.1:10', ['gemini-2.5-flash', 'gemini-2.5-pro']);
    expect(withAccount(profilesOf([a, b]), changed)).toEqual(profilesOf([changed, b]));
  });

  it('are added to and taken from the file, which keeps everything else and is its owner\'s', () => {
    const file = join(dir, 'providers.json');
    changeAccounts(file, (all) => [...all, { account: 'a', models: ['gemini-2.5-pro'] }]);
    expect(accountsFrom(file, false).map((x) => x.account)).toEqual(['a']);
    writeFileSync(file, JSON.stringify({ comment: 'mine', accounts: [{ account: 'a', models: ['gemini-2.5-pro'], scope: 's' }] }));
    changeAccounts(file, (all) => [...all, { account: 'b', models: ['gemini-2.5-flash'] }]);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ comment: 'mine', accounts: [{ account: 'a', models: ['gemini-2.5-pro'], scope: 's' }, { account: 'b', models: ['gemini-2.5-flash'] }] });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('that cannot be are refused in one sentence, and leave the file alone', () => {
    const file = join(dir, 'wrong.json');
    writeFileSync(file, '{"accounts": 3}');
    expect(() => changeAccounts(file, (all) => all)).toThrow('must hold {"accounts"');
    expect(readFileSync(file, 'utf8')).toBe('{"accounts": 3}');
    writeFileSync(file, '{"accounts": [{"account": "Big", "models": ["gemini-2.5-pro"]}]}');
    expect(() => accountsFrom(file, false)).toThrow('an account has a name of lower-case letters and digits, and its models.');
    writeFileSync(file, '{"accounts": [{"account": "x", "models": ["none"]}]}');
    expect(() => accountsFrom(file, false)).toThrow('the model "none" is not known');
  });
});
