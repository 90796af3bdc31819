import { runMain } from '@n17q/reactor';
import { start } from './index.js';

await runMain('effect-reconciler', start);
