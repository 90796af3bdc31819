import { describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from './process-tree.js';
import { unwatchDirectory, unwatchProcess, watchDirectory, watchProcess } from './watchdog.js';

// The promise is about a parent that dies without a word, so the parent here is a process of its own, whose
// watchdog is fed by hand with the same lines as ours: the script under test is the real one.
const PARENT = `
  const { spawn } = require('node:child_process');
  const quiet = (seconds) => spawn('sleep', [seconds], { detached: true, stdio: 'ignore' });
  const [kept, freed] = [quiet('600'), quiet('600')];
  const dog = spawn('/bin/sh', ['-c', process.argv[1]], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/' });
  process.kill(kept.pid, 'SIGSTOP');
  dog.stdin.write('+pid ' + kept.pid + '\\n+pid ' + freed.pid + '\\n+dir ' + process.argv[2] + '\\n+dir ' + process.argv[3] + '\\n-pid ' + freed.pid + '\\n-dir ' + process.argv[3] + '\\n', () => {
    process.stdout.write([kept.pid, freed.pid, dog.pid].join(' ') + '\\n');
  });
  setInterval(() => undefined, 1000);
`;

async function gone(condition: () => boolean, what: string): Promise<void> {
  const deadlineMs = performance.now() + 15_000;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error(`still there: ${what}`);
    await delay(20);
  }
}

describe('the watchdog', () => {
  it('ends what is listed, stopped or not, and nothing else, when the parent dies by SIGKILL', async () => {
    const { WATCHDOG_SCRIPT } = await import('./watchdog.js');
    const base = mkdtempSync(join(tmpdir(), 'n17q-dog-test-'));
    const [doomed, spared] = [join(base, 'n17q-doomed dir'), join(base, 'n17q-spared')];
    mkdirSync(doomed);
    mkdirSync(spared);
    const parent = spawn(process.execPath, ['-e', PARENT, WATCHDOG_SCRIPT, doomed, spared], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pids = await new Promise<number[]>((resolve) => parent.stdout.once('data', (line: Buffer) => resolve(line.toString().trim().split(' ').map(Number))));
    const [kept = 0, freed = 0, dog = 0] = pids;
    try {
      expect([kept, freed, dog].map(isAlive)).toEqual([true, true, true]);
      parent.kill('SIGKILL');
      await gone(() => !isAlive(kept), 'the listed process');
      await gone(() => !isAlive(dog), 'the watchdog');
      expect(isAlive(freed)).toBe(true);
      expect([existsSync(doomed), existsSync(spared)]).toEqual([false, true]);
    } finally {
      for (const pid of [kept, freed, dog]) if (pid > 0 && isAlive(pid)) process.kill(pid, 'SIGKILL');
      rmSync(base, { recursive: true, force: true });
    }
  }, 30_000);

  it('takes no folder that is not named as ours', () => {
    expect(() => watchDirectory('/home/somebody')).toThrow('not a folder of ours');
    expect(() => watchDirectory('/tmp/n17q-x\n/home')).toThrow('not a folder of ours');
  });

  it('forgets what is taken back, in any order and more than once', () => {
    watchDirectory('/tmp/n17q-never-made');
    unwatchDirectory('/tmp/n17q-never-made');
    unwatchDirectory('/tmp/n17q-never-made');
    watchProcess(2_000_000_000);
    unwatchProcess(2_000_000_000);
  });
});
