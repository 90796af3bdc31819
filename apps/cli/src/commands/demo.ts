import { join } from 'node:path';
import { putUnfinishedAside } from '../demo/unfinished.js';
import { givenRepo, sampleRepo } from '../demo/repo.js';
import { runDemo } from '../demo/run-demo.js';
import type { Finding } from '../demo/verdict.js';
import { needGit } from '../stack/git-there.js';
import { claimFolder, dataDir, placesIn } from '../stack/places.js';
import { isSupervised, readState } from '../stack/state.js';
import { line, table } from '../terminal/plain.js';
import { errorText, Trouble } from '../trouble.js';
import type { Output } from './output.js';

const verdictText = (findings: readonly Finding[]): string => table(findings.map((f) => [f.ok ? 'ok   ' : 'WRONG', f.what, line(f.found, 200)]));

export async function demoCommand(o: { readonly repo?: string; readonly testCmd?: string }, out: Output): Promise<void> {
  if (o.repo === undefined && o.testCmd !== undefined) throw new Trouble('Give --repo PATH beside --test-cmd: the sample repository has its own tests.', true);
  // the demo kills services and removes accounts: no run of the user may be near
  const at = join(claimFolder(dataDir()), 'demo-stack');
  if (isSupervised(readState(placesIn(at, {}).state))) throw new Trouble(`The stack of an earlier demo runs in ${at}: N17Q_DATA_DIR=${at} ./n17q down stops it.`);
  needGit();
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1); // asked twice: whatever it started ends with it
      stop.abort();
      out.step('Interrupted: stopping what was started; once more ends it at once.');
    });
  }
  const { repo, testCmd } = o;
  if (repo !== undefined) await givenRepo(repo, testCmd); // wrong arguments are said before anything starts
  const aside = putUnfinishedAside(at);
  if (aside !== undefined) out.step(`The last demo did not come to its end; what it left is now in ${aside}.`);
  const outcome = await runDemo({ places: placesIn(at, {}), repo: (dir) => (repo === undefined ? sampleRepo(dir) : givenRepo(repo, testCmd)), say: out.step, signal: stop.signal });
  const wrong = outcome.findings.filter((f) => !f.ok);
  out.answer({ ...outcome, ok: wrong.length === 0, dataDir: at }, () => [
    '', `What happened, from ledgers and log (${outcome.seconds.toFixed(1)} s):`, verdictText(outcome.findings), '',
    wrong.length === 0 ? 'Everything is as it should be.' : `${wrong.length} of these ${wrong.length === 1 ? 'is' : 'are'} wrong.`,
    `The demo stopped all that it had started; its data is in ${at}. What to try next:`,
    `  export N17Q_DATA_DIR=${at} N17Q_API_PORT=0   # what follows is about the demo's stack, not about yours`,
    table([
      [`  ./n17q up`, 'start the demo\'s stack again, with the run in it'],
      [`  ./n17q status`, 'what runs, and what is wrong'],
      [`  ./n17q runs`, 'all runs'],
      [`  ./n17q show ${outcome.run}`, 'this run; --events for all of them'],
      [`  ./n17q diff ${outcome.run.slice(0, 8)}`, 'what it changed; output: what was said'],
      [`  ./n17q finding RUN EFFECT --happened --evidence FILE`, 'settle an effect that no look can settle'],
      [`  ./n17q down`, 'stop it'],
    ]),
    '  unset N17Q_DATA_DIR N17Q_API_PORT   # back to your own stack',
  ].join('\n'));
  process.exitCode = wrong.length === 0 ? 0 : 1;
  if (wrong.length > 0) process.stderr.write(errorText(`the demo found wrong: ${wrong.map((f) => f.what).join('; ')}`, 1));
}
