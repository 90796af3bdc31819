import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { begun, finished, putUnfinishedAside } from './unfinished.js';

let dir: string;
beforeAll(() => { dir = mkdtempSync(join(tmpdir(), 'n17q-unfinished-')); });
afterAll(() => { rmSync(dir, { recursive: true, force: true }); });

describe('a demo before this one', () => {
  it('is put aside when it did not come to its end, and left where it is when it did', () => {
    const at = join(dir, 'demo-stack');
    expect(putUnfinishedAside(at)).toBeUndefined();
    for (const mark of ['first', 'second']) {
      mkdirSync(join(at, 'demo'), { recursive: true });
      writeFileSync(join(at, mark), '');
      begun(at);
      expect(putUnfinishedAside(at)).toBe(`${at}-unfinished`);
      expect(existsSync(at)).toBe(false);
      expect(readdirSync(`${at}-unfinished`).toSorted()).toEqual(['demo', mark]);
    }
    mkdirSync(join(at, 'demo'), { recursive: true });
    begun(at);
    finished(at);
    expect(putUnfinishedAside(at)).toBeUndefined();
    expect(existsSync(at)).toBe(true);
  });
});
