export { openSandbox, spawnService, until, type OpenSandboxOptions, type Sandbox, type ServiceHandle, type SpawnServiceOptions, type UntilOptions } from './sandbox/index.js';
export { startProxy, type Direction, type ProxyCounts, type TcpProxy } from './tcp-proxy/index.js';
