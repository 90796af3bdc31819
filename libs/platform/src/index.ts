export { httpOnce, type OnceOutcome, type OnceRequest } from './http-once.js';
export { FAILPOINTS, failpoint, type Failpoint } from './failpoints.js';
