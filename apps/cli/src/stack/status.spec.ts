import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordProcess } from '@n17q/platform';
import { statusText } from '../commands/status.js';
import { writeState, type Part } from './state.js';
import { statusCode, statusOf, type Status } from './status.js';

const part = { name: 'api', state: 'ready', pid: 1, since: '', version: '1', restarts: 0 };
const running: Status = { stack: 'running', mode: 'separate', version: '1', since: '', apiUrl: null, parts: [part], silent: false, problems: [], notes: [] };

describe('the exit code of status', () => {
  it.each<readonly [string, Status, number]>([
    ['0 when everything runs', running, 0],
    ['0 when something was started again, and is well', { ...running, parts: [{ ...part, restarts: 2 }], problems: ['api was started again'] }, 0],
    ['3 when nothing runs', { ...running, stack: 'stopped', parts: [] }, 3],
    ['4 while it starts', { ...running, stack: 'starting' }, 4],
    ['4 when a part is gone', { ...running, parts: [part, { ...part, state: 'gone' }] }, 4],
    ['4 when the API is silent', { ...running, silent: true }, 4],
    ['4 when something is left without a supervisor', { ...running, stack: 'stopped' }, 4],
  ])('is %s', (_what, s, code) => { expect(statusCode(s)).toBe(code); });
});

describe('a part that is being started again', () => {
  let dir: string;
  beforeAll(() => { dir = mkdtempSync(join(tmpdir(), 'n17q-status-')); });
  afterAll(() => { rmSync(dir, { recursive: true, force: true }); });

  it('has no process and no age: neither its supervisor\'s nor the dead one\'s', async () => {
    const file = join(dir, 'stack.json');
    const self = recordProcess(process.pid, 'SIGTERM');
    const at = '2026-01-01T00:00:00.000Z';
    const api: Part = { name: 'api', kind: 'service', process: self, state: 'restarting', since: at, version: '1', restarts: 1, log: 'api.err' };
    writeState(file, { supervisor: self, mode: 'separate', phase: 'ready', step: 'ready', startedAt: at, version: '1', apiUrl: null, testCommand: null, notes: [], parts: [api, { ...api, name: 'policy-gate', state: 'ready' }] });
    const s = await statusOf(file, async () => undefined);
    expect(s.parts.map((p) => [p.name, p.pid, p.since])).toEqual([['api', null, null], ['policy-gate', process.pid, at]]);
    expect(statusText(s, [])).toMatch(/api +restarting +no process {2,}1/u);
  });
});
