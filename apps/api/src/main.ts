import { runMain } from '@n17q/reactor';
import { start } from './index.js';

await runMain('api', start);
