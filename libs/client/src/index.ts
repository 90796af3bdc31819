export { N17qClient, type Document, type IfRevision, type Keyed, type WaitOptions } from './client.js';
export { N17qGap, N17qProblem, N17qTimeout, N17qUnreachable } from './errors.js';
export type { EventsOptions } from './events.js';
export type { ClientOptions } from './transport.js';
