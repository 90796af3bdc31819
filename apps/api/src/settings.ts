/** What the api needs to be told. Secrets and tokens have no defaults. Rows: SEC-1. */
import { busUser, numberSetting, optionalSetting, setting, type Settings } from '@n17q/reactor';

export interface ApiSettings {
  readonly natsUrl: string;
  readonly natsPassword: string;
  readonly natsUser: { readonly user?: string };
  readonly databaseUrl: string;
  readonly artifactsDir: string;
  readonly scratchDir: string;
  readonly host: string;
  /** 0: the system chooses. */
  readonly port: number;
  readonly tokensFile: string;
  /** The secret behind tools' capabilities for receipts; undefined: none is taken. */
  readonly receiptKey: string | undefined;
  readonly allowLocalRepos: boolean;
  readonly catchUpMs: number;
  readonly heartbeatMs: number;
  readonly streamPollMs: number;
  readonly logLevel: string;
}

export const apiSettings = (s: Settings): ApiSettings => ({
  natsUrl: setting(s, 'N17Q_NATS_URL', 'where the bus is'),
  natsUser: busUser(s),
  natsPassword: setting(s, 'N17Q_NATS_PASSWORD', 'the bus password of api'),
  databaseUrl: setting(s, 'N17Q_API_DATABASE_URL', 'the database, in the role n17q_api'),
  artifactsDir: setting(s, 'N17Q_ARTIFACTS_DIR', 'the folder of large contents'),
  scratchDir: setting(s, 'N17Q_SCRATCH_DIR', 'a folder for things that may vanish'),
  host: optionalSetting(s, 'N17Q_API_HOST') ?? '127.0.0.1',
  port: numberSetting(s, 'N17Q_API_PORT', 0, 0, 65_535),
  tokensFile: setting(s, 'N17Q_API_TOKENS_FILE', 'a JSON file with the list of { token, tenant, person }'),
  receiptKey: optionalSetting(s, 'N17Q_RECEIPT_KEY'),
  allowLocalRepos: optionalSetting(s, 'N17Q_ALLOW_LOCAL_REPOS') === '1',
  catchUpMs: numberSetting(s, 'N17Q_API_CATCH_UP_MS', 30_000, 100, 3_600_000),
  heartbeatMs: numberSetting(s, 'N17Q_API_HEARTBEAT_MS', 15_000, 50, 600_000),
  streamPollMs: numberSetting(s, 'N17Q_API_STREAM_POLL_MS', 1_000, 20, 60_000),
  logLevel: optionalSetting(s, 'N17Q_LOG_LEVEL') ?? 'info',
});
