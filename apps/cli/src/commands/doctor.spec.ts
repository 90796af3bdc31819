import { describe, expect, it } from '@jest/globals';
import { examinationText, readerUrlOf } from './doctor.js';

const looked = { streams: 3, events: 20, checkpoints: 4, contents: 5, findings: [] };

describe('doctor', () => {
  it('looks in the role that only reads, whoever owns the database', () => {
    expect(readerUrlOf(undefined, '127.0.0.1:5001', 'p/w')).toBe('postgres://n17q_reader:p%2Fw@127.0.0.1:5001/n17q');
    expect(readerUrlOf('', '127.0.0.1:5001', 'pw')).toBe('postgres://n17q_reader:pw@127.0.0.1:5001/n17q');
    expect(readerUrlOf('postgres://owner:secret@db:5432/mine', '127.0.0.1:5001', 'pw')).toBe('postgres://n17q_reader:pw@db:5432/mine');
  });
  it('says in one sentence when there is nothing to look at, or no way to it', () => {
    expect(() => readerUrlOf(undefined, undefined, 'pw')).toThrow('The stack is not running: ./n17q up starts it.');
    expect(() => readerUrlOf('mysql://x', undefined, 'pw')).toThrow('N17Q_DATABASE_URL must be a URL that begins with postgres:// or postgresql://.');
  });
  it('[SVC-5] says what it looked at, and that nothing is wrong', () => {
    expect(examinationText('local', looked)).toBe('local: 20 events in 3 streams, 4 checkpoints, 5 contents looked at\nNothing is wrong.');
  });
  it('[SVC-5] names each thing that is wrong with its stream, in one line that a terminal can take', () => {
    const text = examinationText('local', { ...looked, findings: [{ stream: 'run/a', check: 'chain', wrong: true, words: 'two\nlines\u001b[2J' }, { stream: 'run/b', check: 'contents', wrong: false, words: 'gone' }] as never });
    expect(text.split('\n').slice(1)).toEqual(['! run/a chain: two lines<1b>[2J', '  run/b contents: gone', 'Something is wrong. Nothing was changed.']);
  });
});
