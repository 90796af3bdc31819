import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { placesIn } from './places.js';
import { ignoredSettings, rememberTestCommand, testCommandLine } from './settings.js';

let dir: string;
beforeAll(() => { dir = mkdtempSync(join(tmpdir(), 'n17q-settings-')); });
afterAll(() => { rmSync(dir, { recursive: true, force: true }); });

describe('the test command', () => {
  it('is what is set, else that of the start before; set and empty, none', () => {
    const p = placesIn(dir, {});
    expect(testCommandLine(p, {})).toBeUndefined();
    rememberTestCommand(p, 'npm test');
    expect([testCommandLine(p, {}), testCommandLine(p, { N17Q_TEST_CMD: 'make check' }), testCommandLine(p, { N17Q_TEST_CMD: '' })]).toEqual(['npm test', 'make check', undefined]);
    rememberTestCommand(p, undefined);
    expect(testCommandLine(p, {})).toBeUndefined();
  });
});

describe('settings that a running stack does not go by', () => {
  const running = { testCommand: 'npm test', apiUrl: 'http://127.0.0.1:7417' };
  it.each([{}, { N17Q_TEST_CMD: 'npm test', N17Q_API_PORT: '7417' }, { N17Q_API_PORT: '0' }, { N17Q_API_PORT: '' }])('are none with %j', (env) => {
    expect(ignoredSettings(running, env)).toBeUndefined();
  });
  it('are named, with what it has instead and how to change it', () => {
    expect(ignoredSettings(running, { N17Q_TEST_CMD: 'make', N17Q_API_PORT: '8000' })).toBe('The stack was running already and does not go by N17Q_TEST_CMD (it has "npm test") and N17Q_API_PORT (it listens on 7417): run ./n17q down, then ./n17q up with what is set now.');
    expect(ignoredSettings({ ...running, testCommand: null }, { N17Q_TEST_CMD: 'make' })).toContain('N17Q_TEST_CMD (it has none)');
    expect(ignoredSettings(running, { N17Q_TEST_CMD: '' })).toContain('N17Q_TEST_CMD (it has "npm test")');
  });
});
