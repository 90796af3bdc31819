import { describe, expect, it } from '@jest/globals';
import { statusCode, type Status } from './status.js';

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
