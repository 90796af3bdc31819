export { EMULATED_MODELS, ProviderEmulator, startProviderEmulator, type EmulatedModel, type ProviderEmulatorOptions } from './emulator.js';
export { ERRORS as PROVIDER_ERRORS, type Phrasing } from './answers.js';
export type { Fault as ProviderFault } from './faults.js';
export type { Strictness } from './judge.js';
export type { LedgerEntry as ProviderLedgerEntry, LedgerView as ProviderLedgerView } from './ledger.js';
export type { PastReply, Scenario, ScenarioModule, ScenarioRequest, Script, ScriptedCall, ScriptedReply, Step, When } from './scenario.js';
