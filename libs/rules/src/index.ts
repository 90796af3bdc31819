export { compileRules, rulesFrom, NO_PERMIT, type Compiled } from './compile.js';
export { diffRules, type RuleDiff, type RuleDifference } from './diff.js';
export { ALLOW_ALL, askFor, forbidTools, literal } from './first-rules.js';
export type { RuleFault } from './fault.js';
export { POLICIES_MAX, TEXT_BYTES_MAX } from './policies.js';
export { describeSchema } from './schema.js';
