import { describe, expect, it } from '@jest/globals';
import { tail, theOne } from './names.js';

const runs = ['0a1b2c3d-1', '0a1b2c3d-2', '0a1bffff-3', '0a1b'];
const one = (given: string, names = runs): string => theOne(given, names, 'run', './n17q runs lists them');

describe('a name', () => {
  it('may be whole, or a beginning that one thing has', () => {
    expect([one('0a1bf'), one('0a1b2c3d-2'), one('0a1b')]).toEqual(['0a1bffff-3', '0a1b2c3d-2', '0a1b']);
  });
  it('that several things begin with lists them', () => {
    expect(() => one('0a1b2')).toThrow('0a1b2 may be 2 runs, give more of the name: 0a1b2c3d-1, 0a1b2c3d-2.');
  });
  it('that is nowhere says where to look, and that very short ones are not taken', () => {
    expect(() => one('ffff')).toThrow('There is no run ffff: ./n17q runs lists them.');
    expect(() => one('0a')).toThrow('There is no run 0a (a short name has at least 4 characters): ./n17q runs lists them.');
  });
  it('may be an end of at least six characters, as ids of one moment begin alike', () => {
    const ids = ['approval-019ae3f0-7000-aaaa00000001', 'approval-019ae3f0-7000-bbbb00000002'];
    expect([theOne('000002', ids, 'approval', 'look', 'approval'), theOne(tail(ids[0] as string), ids, 'approval', 'look')]).toEqual([ids[1], ids[0]]);
    expect(() => theOne('00001', ids, 'approval', 'look')).toThrow('There is no approval 00001');
    expect([tail('r1'), tail('0190-0000-1111')]).toEqual(['r1', '000-1111']);
  });
  it('is found without its kind, too, and shown without control characters', () => {
    expect(theOne('0a1b', ['effect-0a1b2', 'effect-0c'], 'effect', 'look', 'effect')).toBe('effect-0a1b2');
    expect(() => one('a\u001b[2Jbcd')).toThrow('a<1b>[2Jbcd');
  });
});
