export type { EventRow, PreparedAppend, StoredContent, StreamHead } from './ports.js';
export * from './store-port.js';
export { STORE_FAULTS, StoreFault, type StoreFaultCode } from './store-fault.js';
export { checkSchema, migrate } from './migrations/migrate.js';
export { roles, type RolePasswords, type RoleUrls } from './migrations/roles.js';
export { PostgresEventStore, STORE_DEFAULTS, type PostgresStoreOptions } from './postgres/store.js';
export { StoreClock } from './postgres/clock.js';
export { CLOCK_SKEW_MS_MAX, RECENT_APPENDS } from './prepared.js';
