export { openSandbox, spawnService, until, type OpenSandboxOptions, type Sandbox, type ServiceHandle, type SpawnServiceOptions, type UntilOptions } from './sandbox/index.js';
export { startProxy, type Direction, type ProxyCounts, type TcpProxy } from './tcp-proxy/index.js';
export {
  CHECKS, HistoryRecorder, judgeHistory, type AppendCall, type AppendIntent, type AppendOperation, type FinalRow, type HistoryOperation, type JudgeOptions, type Judgement,
  type ReadCall, type ReadOperation, type SeenEvent, type SeenRow, type Violation,
} from './history/index.js';
