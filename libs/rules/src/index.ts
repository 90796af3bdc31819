export { compileRules, type Compiled, type RuleFault } from './compile.js';
