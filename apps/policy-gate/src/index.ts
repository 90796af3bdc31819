import { startReactor, type ServiceStart } from '@n17q/reactor';
import { judgeRun } from './judge-run.js';

export const start: ServiceStart = (settings) => startReactor({ service: 'policy-gate', build: ({ log }) => judgeRun(log) }, settings);
