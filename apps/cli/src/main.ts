/** `n17q …`: every command, its words and its exit codes: 0 done, 1 it could not be done, 2 it was asked for wrongly. */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { program } from './program.js';
import { ROOT } from './stack/places.js';
import { errorText, sentenceOf, Trouble } from './trouble.js';

process.stdout.on('error', (e: NodeJS.ErrnoException) => { if (e.code === 'EPIPE') process.exit(0); }); // the reader has seen enough

enableCompileCache(join(ROOT, '.data', 'cache', 'node'));

try {
  if (process.argv.length === 2) program().outputHelp();
  else await program().parseAsync(process.argv);
} catch (e) {
  if (e instanceof CommanderError) process.exitCode = e.exitCode === 0 ? 0 : 2; // commander has said what was wrong
  else {
    process.exitCode = e instanceof Trouble ? e.exitCode : 1;
    process.stderr.write(errorText(sentenceOf(e), process.exitCode));
  }
}
