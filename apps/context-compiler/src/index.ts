import { startReactor, type ServiceStart } from '@n17q/reactor';
import { compileRun } from './compile-run.js';

export const start: ServiceStart = (settings) => startReactor({ service: 'context-compiler', build: ({ log }) => compileRun(log) }, settings);
