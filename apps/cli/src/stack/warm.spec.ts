import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildKey, warmCompileCache } from './warm.js';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'n17q-warm-'));
  for (const dir of ['apps/one/dist', 'apps/unbuilt', 'libs/two/dist', 'cache']) mkdirSync(join(root, dir), { recursive: true });
  for (const built of ['apps/one', 'libs/two']) writeFileSync(join(root, built, 'dist', '.tsbuildinfo'), '');
});
afterAll(() => { rmSync(root, { recursive: true, force: true }); });

describe('the compile cache of the services', () => {
  it('is warm until a build changes something, in any project', async () => {
    const key = buildKey(root);
    writeFileSync(join(root, 'cache', 'warm.json'), key);
    expect(await warmCompileCache(root, join(root, 'cache'), [])).toBe('warm already');
    utimesSync(join(root, 'libs', 'two', 'dist', '.tsbuildinfo'), 1, 1);
    expect(buildKey(root)).not.toBe(key);
  });

  it('says that it failed when a program cannot be loaded, leaves no mark, and throws nothing', async () => {
    const cache = join(root, 'other');
    expect(await warmCompileCache(root, cache, [join(root, 'not-there.js')])).toBe('failed');
    expect(existsSync(join(cache, 'warm.json'))).toBe(false);
    expect(await warmCompileCache(join(root, 'nowhere'), cache, [])).toBe('failed');
  });
});
