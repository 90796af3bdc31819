export { openReader, type ReadContent, type StoreReader } from './reader.js';
export { fitBus, fitDatabase, type BusToFit, type FittedDatabase } from './servers.js';
export { serviceProgram, settingsOf, STACK_SERVICES, type Site } from './services.js';
export { startStack, type Stack, type StackService, type StartStackOptions } from './stack.js';
export { createRun, FIRST_ALLOWANCE, FIRST_POLICY, geminiAccount, OPERATOR_ROLES, profilesOf, publishDocuments, RUN_BUDGET, type NewRun, type TenantDocuments } from './tenant.js';
