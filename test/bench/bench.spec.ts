import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

interface Line { readonly what: string; readonly value: string; readonly ratio?: number }
const ROOT = resolve('.');
/** What a bench must say, and how bad it may be before something is broken rather than slow: the machine may be busy with other tests. */
const SANE: readonly (readonly [RegExp, ((ratio: number) => boolean) | null])[] = [
  [/^P: single-row inserts/, null], [/^pgbench/, null], [/^fdatasync/, null],
  [/^Batcher alone: 300-byte/, (r) => r > 0.05], [/^Batcher alone: events of governed turns/, (r) => r > 0.02], [/^Guard and batcher .*300-byte/, null], [/^Guard and batcher .*turns/, null],
  [/^Through the service: 300-byte/, (r) => r > 0.01], [/^Through the service: events of governed turns/, (r) => r > 0.005],
  [/^Appends per commit/, (r) => r > 4], // one commit per append would be 1
  [/^p99 at half/, (r) => r < 500], [/^64 runs that draw on one account/, (r) => r > 0.15], [/^Store process after many runs/, null],
  [/^Governed tool turn alone, all services in one process/, null], [/^16 runs at once, all services in one process/, null], [/^Governed tool turn alone, each service a process/, null], [/^16 runs at once, each service a process/, null],
  [/^The same in commits .*in one process/, null], [/^The same for each 1,000 commits .*in one process/, null], [/^The same in commits .*each service a process/, null], [/^The same for each 1,000 commits .*each service a process/, null],
  [/^Rules of a gate decision, .*: allowed/, (r) => r < 50], [/^Rules of a gate decision, .*: refused/, (r) => r < 100],
  [/^Appends of a turn with 8 calls/, (r) => r < 3],
  [/^Resident after .*: event-store/, (r) => r < 2.5], [/^Resident after .*: checkpoint-sealer/, (r) => r < 2.5], [/^Resident after .*: policy-gate/, (r) => r < 2.5],
  [/^Resume of /, (r) => r < 8], [/^Stored per new byte .*: values/, (r) => r < 9], [/^Stored per new byte .*: on disk/, (r) => r < 14],
];

describe('the bench', () => {
  it('measures every line in one quick run, and nothing is out of all proportion', () => {
    const ran = spawnSync(process.execPath, ['test/bench/run.mjs', '--quick'], { cwd: ROOT, encoding: 'utf8', timeout: 540_000, killSignal: 'SIGTERM' });
    if (ran.status !== 0) throw new Error(`the bench ended with ${String(ran.status ?? ran.signal)}:\n${ran.stderr.slice(-3000)}`);
    const file = ran.stdout.trim().split('\n').at(-1) ?? '';
    const { lines } = JSON.parse(readFileSync(file, 'utf8')) as { readonly lines: readonly Line[] };
    for (const [what, sane] of SANE) {
      const line = lines.find((l) => what.test(l.what));
      expect([String(what), line?.value]).toEqual([String(what), expect.stringMatching(/\S/)]);
      if (sane !== null) expect([String(what), line?.ratio, sane(line?.ratio ?? Number.NaN)]).toEqual([String(what), line?.ratio, true]);
    }
  }, 600_000);
});
