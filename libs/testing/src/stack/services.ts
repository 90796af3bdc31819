/**
 * Which services make a stack, where their programs lie, and which settings each of them gets: no more than it needs.
 *
 * S1. A service hears only its own bus password, and only the secrets of its own trade (law: one user and one role per service).
 *
 * Rows: SVC-1, SVC-4, SEC-4.
 */
import { fileURLToPath } from 'node:url';
import type { BusUser } from '@n17q/bus';
import type { ServiceName } from '@n17q/domain';
import type { RoleUrls } from '@n17q/event-log';

/** In the order of starting; stopping goes the other way round. */
export const STACK_SERVICES: readonly ServiceName[] = ['event-store', 'checkpoint-sealer', 'policy-gate', 'context-compiler', 'provider-gateway', 'effect-reconciler', 'api'];

/** Everything that the services of one stack are told. */
export interface Site {
  readonly natsUrl: string;
  readonly busPasswords: Readonly<Record<BusUser, string>>;
  /** When the server gives all of them one user: its name. */
  readonly busUser?: string;
  readonly databases: RoleUrls;
  readonly artifactsDir: string;
  readonly scratchDir: string;
  /** One file per provider account. */
  readonly credentialsDir: string;
  /** One file per tool credential. */
  readonly toolCredentialsDir: string;
  /** 64 hex digits. */
  readonly continuationKey: string;
  readonly scopeKey: string;
  /** Behind the capabilities under which tools hand in receipts; absent: none is handed out. */
  readonly receiptKey?: string;
  /** JSON: [{token, tenant, person}]. */
  readonly tokensFile: string;
  /** 0: the system chooses. */
  readonly apiPort: number;
  /** Where Node keeps what it compiled: a third of a service's start. Absent: nowhere. */
  readonly compileCacheDir?: string;
  /** Settings for all services, such as N17Q_SWEEP_MS. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The built program of a service: `main` runs it as a process, `index` exports `start(settings)`. */
export const serviceProgram = (service: ServiceName, which: 'main' | 'index'): string =>
  fileURLToPath(new URL(`../../../../apps/${service}/dist/${which}.js`, import.meta.url));

const receipts = (s: Site): Readonly<Record<string, string>> => (s.receiptKey === undefined ? {} : { N17Q_RECEIPT_KEY: s.receiptKey });

const OWN: { readonly [S in ServiceName]: (s: Site) => Readonly<Record<string, string>> } = {
  'event-store': (s) => ({ N17Q_DATABASE_URL: s.databases.store }),
  'checkpoint-sealer': (s) => ({ N17Q_ARTIFACTS_DIR: s.artifactsDir }),
  'context-compiler': (s) => ({ N17Q_ARTIFACTS_DIR: s.artifactsDir }),
  'policy-gate': () => ({}),
  'effect-reconciler': (s) => ({ N17Q_ARTIFACTS_DIR: s.artifactsDir, N17Q_SCRATCH_DIR: s.scratchDir, N17Q_SCOPE_KEY: s.scopeKey, N17Q_TOOL_CREDENTIALS_DIR: s.toolCredentialsDir, N17Q_ALLOW_TOOL_SERVERS: '1', ...receipts(s), ...(s.receiptKey === undefined || s.apiPort === 0 ? {} : { N17Q_RECEIPT_URL: `http://127.0.0.1:${s.apiPort}/v1/receipts` }) }),
  'provider-gateway': (s) => ({ N17Q_ARTIFACTS_DIR: s.artifactsDir, N17Q_CREDENTIALS_DIR: s.credentialsDir, N17Q_CONTINUATION_KEY: s.continuationKey }),
  api: (s) => ({ N17Q_API_DATABASE_URL: s.databases.api, N17Q_ALLOW_LOCAL_REPOS: '1', N17Q_ARTIFACTS_DIR: s.artifactsDir, N17Q_SCRATCH_DIR: s.scratchDir, N17Q_API_TOKENS_FILE: s.tokensFile, N17Q_API_HOST: '127.0.0.1', N17Q_API_PORT: String(s.apiPort), ...receipts(s) }),
};

/**
 * For Node itself, read from the environment of a process. Most of what a service allocates are messages, which lie outside the JavaScript heap and are let go with
 * the young generation: with a small one they are let go early, and the allocator finds their places again instead of asking for more.
 * Not for the store: there it made one append in a hundred wait two to three times as long.
 */
const NODE_OPTIONS = '--max-semi-space-size=2';

export const settingsOf = (service: ServiceName, s: Site): Readonly<Record<string, string>> => ({
  ...s.settings, ...(service === 'event-store' ? {} : { NODE_OPTIONS }), ...(s.compileCacheDir === undefined ? {} : { NODE_COMPILE_CACHE: s.compileCacheDir }), N17Q_NATS_URL: s.natsUrl, N17Q_NATS_PASSWORD: s.busPasswords[service], ...(s.busUser === undefined ? {} : { N17Q_NATS_USER: s.busUser }), ...OWN[service](s), // keeps S1
});
