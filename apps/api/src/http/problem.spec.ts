import { describe, expect, it } from '@jest/globals';
import { GitTrouble } from '@n17q/tools';
import { problemOf } from './problem.js';

const error = (message: string, more: object = {}): Error => Object.assign(new Error(message), more);

describe('what a caller hears of trouble that passes', () => {
  it.each([
    ['a database that is starting', error('the database system is starting up', { code: '57P03' })],
    ['one that was shut down, behind the mapper\'s error', error('terminating', { driverError: error('terminating connection', { code: '57P01' }) })],
    ['a connection that broke', error('Connection terminated unexpectedly')],
    ['a port where nobody listens', error('', { errors: [error('connect ECONNREFUSED ::1:1', { code: 'ECONNREFUSED' })] })],
  ])('[RUN-4] says of %s that the store is restarting; of a request that asked for something, that it may have been taken in', (_what, e) => {
    expect([problemOf(e, true).code, problemOf(e).code]).toEqual(['STORE_UNREACHABLE', 'OUTCOME_UNKNOWN']);
    expect(problemOf(e, true).detail).toMatch(/^The store is restarting: .* try again/u);
  });
  it('keeps a defect a defect', () => {
    for (const e of [error('duplicate key', { code: '23505' }), error('syntax error', { driverError: error('syntax error', { code: '42601' }) }), new TypeError('x is not a function'), 'text', null]) expect(problemOf(e ?? {}, true).code).toBe('DEFECT');
  });
  it('says in one sentence that git is needed, where it does not start', () => {
    expect(problemOf(new GitTrouble('clone', 'ENOENT', ''))).toMatchObject({ code: 'NOT_READY', detail: expect.stringMatching(/^git is needed .*install git/u) });
    expect(problemOf(new GitTrouble('clone', 128, 'fatal')).code).toBe('DEFECT');
  });
});
