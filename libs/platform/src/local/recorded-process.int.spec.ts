import { describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isRecordedAlive, recordProcess, stopRecorded } from './recorded-process.js';

describe('a recorded process', () => {
  it('is found and stopped by a later command, also while paused; a repeat finds it gone', async () => {
    const child = spawn('sleep', ['600'], { stdio: 'ignore', detached: true });
    await once(child, 'spawn');
    const record = JSON.parse(JSON.stringify(recordProcess(child.pid ?? 0, 'SIGTERM'))) as ReturnType<typeof recordProcess>;
    expect(isRecordedAlive(record)).toBe(true);
    process.kill(record.pid, 'SIGSTOP');
    expect(isRecordedAlive(record)).toBe(true);
    expect(await stopRecorded(record, 5_000)).toBe('stopped');
    expect(await stopRecorded(record, 5_000)).toBe('gone');
  });

  it('is killed when it does not listen', async () => {
    const child = spawn('/bin/sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 600; done'], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
    await once(child.stdout, 'data');
    const record = recordProcess(child.pid ?? 0, 'SIGTERM');
    expect(await stopRecorded(record, 100)).toBe('killed');
    expect(isRecordedAlive(record)).toBe(false);
  });

  it('is not mistaken for a stranger under the same id', async () => {
    const record = { ...recordProcess(process.pid, 'SIGTERM'), startedAt: 'another time' };
    expect(isRecordedAlive(record)).toBe(false);
    expect(await stopRecorded(record, 100)).toBe('gone'); // or this test would have ended here
  });
});
