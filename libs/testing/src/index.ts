export { openSandbox, spawnService, until, type OpenSandboxOptions, type Sandbox, type ServiceHandle, type SpawnServiceOptions, type UntilOptions } from './sandbox/index.js';
export { startProxy, type Direction, type ProxyCounts, type TcpProxy } from './tcp-proxy/index.js';
export {
  CHECKS, HistoryRecorder, judgeHistory, type AppendCall, type AppendIntent, type AppendOperation, type FinalRow, type HistoryOperation, type JudgeOptions, type Judgement,
  type ReadCall, type ReadOperation, type SeenEvent, type SeenRow, type Violation,
} from './history/index.js';
export {
  EMULATED_MODELS, PROVIDER_ERRORS, ProviderEmulator, startProviderEmulator,
  type EmulatedModel, type PastReply, type Phrasing, type ProviderEmulatorOptions, type ProviderFault, type ProviderLedgerEntry, type ProviderLedgerView,
  type Scenario, type ScenarioModule, type ScenarioRequest, type Script, type ScriptedCall, type ScriptedReply, type Step, type Strictness, type When,
} from './provider-emulator/index.js';
export * from './world-emulator/index.js';
export * from './mcp-world/index.js';
export { FIXTURE_BUG, FIXTURE_REPO_FILES, makeFixtureRepo } from './fixture-repo.js';
export * from './stack/index.js';
