/** `warm-main.js FILE…`: imports each, so that Node's compile cache has them, and ends without running anything. */
import { flushCompileCache } from 'node:module';
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) await import(pathToFileURL(file).href);
flushCompileCache();
process.exit(0); // what was imported may have left timers
