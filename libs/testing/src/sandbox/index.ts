export { openSandbox, type OpenSandboxOptions, type Sandbox } from './sandbox.js';
export { spawnService, type ServiceHandle, type SpawnServiceOptions } from './service.js';
export { until, type UntilOptions } from './until.js';
