import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder, makePlaces, placesIn } from './places.js';

let dir: string;
beforeAll(() => { dir = mkdtempSync(join(tmpdir(), 'n17q-places-')); });
afterAll(() => { chmodSync(dir, 0o700); rmSync(dir, { recursive: true, force: true }); });

describe('the places of a stack', () => {
  it('are made with everything above them, and again without harm', () => {
    const p = placesIn(join(dir, 'a', 'b', 'c'), {});
    makePlaces(p);
    makePlaces(p);
    expect([p.logs, p.credentials].map((d) => statSync(d).isDirectory())).toEqual([true, true]);
    expect(statSync(p.data).mode & 0o777).toBe(0o711);
    expect(statSync(p.credentials).mode & 0o777).toBe(0o700);
  });

  it('are refused at once, in one sentence, below a file', () => {
    const file = join(dir, 'file');
    writeFileSync(file, '');
    expect(() => makePlaces(placesIn(join(file, 'data'), {}))).toThrow(`${file} is not a folder: choose another one with N17Q_DATA_DIR.`);
    expect(() => makePlaces(placesIn(file, {}))).toThrow(`${file} is not a folder`);
  });

  // Linux says ENOENT here, as if the parent were missing; other systems have no such folder and say why they make none
  it('are refused at once where the system makes no folder', () => {
    expect(() => makePlaces(placesIn('/proc/nope/data', {}))).toThrow(/^The folder \/proc\S* cannot be made \(E[A-Z]+\): choose a place where you may write with N17Q_DATA_DIR\.$/u);
  });

  it('are refused in a git repository and among the files of others, and nothing is left there', () => {
    const [repo, work] = [join(dir, 'repo'), join(dir, 'work')];
    mkdirSync(join(repo, '.git'), { recursive: true });
    mkdirSync(work);
    writeFileSync(join(work, 'thesis.txt'), 'mine');
    expect(() => makePlaces(placesIn(repo, {}))).toThrow(`${repo} is a git repository`);
    expect(() => makePlaces(placesIn(work, {}))).toThrow(`${work} holds something that is not n17q's (thesis.txt): choose a new or empty folder with N17Q_DATA_DIR.`);
    expect([readdirSync(repo), readdirSync(work)]).toEqual([['.git'], ['thesis.txt']]);
  });

  it('are taken where a person has put accounts and keys before the first start, and ignore themselves', () => {
    const data = join(dir, 'prepared');
    mkdirSync(join(data, 'credentials', 'providers'), { recursive: true });
    mkdirSync(join(data, 'cache'));
    writeFileSync(join(data, 'providers.json'), '{}');
    makePlaces(placesIn(data, {}));
    expect(readFileSync(join(data, '.gitignore'), 'utf8')).toMatch(/^\*$/mu);
    writeFileSync(join(data, 'secrets.json'), '{}');
    writeFileSync(join(data, 'core.1234'), ''); // whatever comes to lie beside the secrets later
    makePlaces(placesIn(data, {}));
  });

  it('name the setting of the folder that cannot be', () => {
    writeFileSync(join(dir, 'keys'), '');
    expect(() => makePlaces(placesIn(join(dir, 'd'), { N17Q_CREDENTIALS_DIR: join(dir, 'keys', 'x') }))).toThrow('N17Q_CREDENTIALS_DIR');
    expect(() => makeFolder(join(dir, 'keys'), 0o700, 'N17Q_X')).toThrow('N17Q_X');
  });
});
