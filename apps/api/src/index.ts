import type { ServiceStart } from '@n17q/reactor';
import { startApi } from './start-api.js';

export const start = startApi satisfies ServiceStart;
export type { ApiRunning } from './start-api.js';
export { migrateApi } from './read-model/migrations.js';
