export { startWorldEmulator, WORLD_REPLIES, type WorldEmulator, type WorldEmulatorOptions, type WorldMode, type WorldReply } from './world-emulator.js';
export { contentDigest, type LedgerEntry, type LedgerView } from './ledger.js';
export { ledgerOf, ledgerUntil, releaseWorld, setWorldMode } from './world-client.js';
export { startWorldProcess, type WorldProcess } from './world-process.js';
