import { startReactor, type ServiceStart } from '@n17q/reactor';
import { sealRun } from './seal-run.js';

export const start: ServiceStart = (settings) => startReactor({ service: 'checkpoint-sealer', build: ({ log }) => sealRun(log) }, settings);
