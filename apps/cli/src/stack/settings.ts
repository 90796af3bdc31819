/** What the caller's environment says about the local stack. Wrong settings are one sentence each (exit code 2). */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { BUS_USERS, type BusUser } from '@n17q/bus';
import type { ProviderAccount } from '@n17q/domain';
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { jsonIn, urlOf } from './forms.js';
import type { Places } from './places.js';
import { accountsFrom } from './providers-file.js';
import type { Secrets } from './secrets.js';

export const API_PORT = 7417;

export interface GivenServers { readonly natsUrl: string; readonly ownerUrl: string; readonly busUser?: string; readonly busPasswords: Readonly<Record<BusUser, string>> }
export interface StackSettings {
  /** Undefined: the stack starts its own. */
  readonly given: GivenServers | undefined;
  readonly apiPort: number;
  /** 0: the server chooses. */
  readonly natsPort: number;
  readonly postgresPort: number;
  readonly testCommand: readonly string[] | undefined;
  /** The same as it was given. */
  readonly testCommandLine: string | undefined;
  readonly ticketsUrl: string | undefined;
  readonly accounts: readonly ProviderAccount[];
  /** For all services: their tuning, as the caller set it. */
  readonly tuning: Readonly<Record<string, string>>;
}

const TUNING = ['N17Q_SWEEP_MS', 'N17Q_SWEEP_OLDER_MS', 'N17Q_LOG_LEVEL', 'N17Q_RUNS_AT_ONCE', 'N17Q_GENERATION_TIMEOUT_MS', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_TRACES_EXPORTER'] as const;

function port(env: NodeJS.ProcessEnv, name: string, or: number): number {
  const v = env[name];
  if (v === undefined || v === '') return or;
  if (!/^\d{1,5}$/.test(v) || Number(v) > 65_535) throw new Trouble(`${name} must be a port from 0 to 65535, not "${v}".`, true);
  return Number(v);
}

/**
 * Both servers of the caller, or none. Bus credentials: N17Q_NATS_PASSWORDS_FILE (JSON, bus user → password, one user per service); else user and
 * password of the URL, for all services alike; else the stack's own passwords, for a server that was configured with them or asks for none.
 */
function givenServers(env: NodeJS.ProcessEnv, secrets: Secrets): GivenServers | undefined {
  const nats = env['N17Q_NATS_URL'] || undefined;
  const database = env['N17Q_DATABASE_URL'] || undefined;
  if (nats === undefined && database === undefined) return undefined;
  if (nats === undefined || database === undefined) throw new Trouble(`Set ${nats === undefined ? 'N17Q_NATS_URL' : 'N17Q_DATABASE_URL'} too, or unset the other: the stack uses both of your servers or starts both itself.`, true);
  urlOf('N17Q_DATABASE_URL', database, ['postgres:', 'postgresql:']);
  const at = urlOf('N17Q_NATS_URL', nats.split(',')[0] as string, ['nats:', 'tls:']);
  const natsUrl = nats.replaceAll(/\/\/[^@/,]*@/gu, '//');
  const file = env['N17Q_NATS_PASSWORDS_FILE'] || undefined;
  if (file !== undefined) return { natsUrl, ownerUrl: database, busPasswords: passwordsFrom(file) };
  if (at.username !== '') {
    const password = decodeURIComponent(at.password);
    if (password === '') throw new Trouble('N17Q_NATS_URL names a user without a password: give one, or N17Q_NATS_PASSWORDS_FILE.', true);
    return { natsUrl, ownerUrl: database, busUser: decodeURIComponent(at.username), busPasswords: Object.fromEntries(BUS_USERS.map((u) => [u, password])) as Record<BusUser, string> };
  }
  return { natsUrl, ownerUrl: database, busPasswords: secrets.bus };
}

function passwordsFrom(file: string): Record<BusUser, string> {
  const read = jsonIn(file, 'N17Q_NATS_PASSWORDS_FILE') as Partial<Record<BusUser, unknown>> | null;
  const missing = BUS_USERS.filter((u) => typeof read?.[u] !== 'string' || read[u] === '');
  if (missing.length > 0) throw new Trouble(`${file} has no password of ${missing.join(', ')}: each bus user needs one.`, true);
  return read as Record<BusUser, string>;
}

/** Program and arguments out of one line, as a person types it: words, and words in quotes. No shell is involved. */
export function wordsOf(commandLine: string): readonly string[] {
  const words = [...commandLine.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/gu)].map((m) => m[1] ?? m[2] ?? m[3] ?? '');
  if (words.length === 0) throw new Trouble('The test command is empty: give a program and its arguments.', true);
  return words;
}

/** The test command of this start: N17Q_TEST_CMD; where that is not set, the one of the start before. Set and empty: none. */
export const testCommandLine = (places: Places, env: NodeJS.ProcessEnv = process.env): string | undefined =>
  (env['N17Q_TEST_CMD'] ?? (existsSync(places.testCommand) ? readFileSync(places.testCommand, 'utf8') : '')).trim() || undefined;

export function rememberTestCommand(places: Places, commandLine: string | undefined): void {
  writeFileSync(`${places.testCommand}.new`, `${commandLine ?? ''}\n`, { mode: 0o600 });
  renameSync(`${places.testCommand}.new`, places.testCommand);
}

/** What is set now and a running stack does not go by, in one sentence; undefined: nothing. */
export function ignoredSettings(running: { readonly testCommand?: string | null; readonly apiUrl: string | null }, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const test = env['N17Q_TEST_CMD'];
  const apiPort = env['N17Q_API_PORT'] ?? '';
  const ignored = [
    ...(test === undefined || test.trim() === (running.testCommand ?? '') ? [] : [`N17Q_TEST_CMD (it has ${running.testCommand == null ? 'none' : `"${line(running.testCommand, 100)}"`})`]),
    ...(apiPort === '' || apiPort === '0' || running.apiUrl === null || new URL(running.apiUrl).port === apiPort ? [] : [`N17Q_API_PORT (it listens on ${new URL(running.apiUrl).port})`]),
  ];
  return ignored.length === 0 ? undefined : `The stack was running already and does not go by ${ignored.join(' and ')}: run ./n17q down, then ./n17q up with what is set now.`;
}

export function stackSettings(places: Places, secrets: Secrets, env: NodeJS.ProcessEnv = process.env): StackSettings {
  const test = testCommandLine(places, env);
  const tickets = env['N17Q_TICKETS_URL'] || undefined;
  return {
    given: givenServers(env, secrets), apiPort: port(env, 'N17Q_API_PORT', API_PORT), natsPort: port(env, 'N17Q_NATS_PORT', 0), postgresPort: port(env, 'N17Q_POSTGRES_PORT', 0),
    testCommand: test === undefined ? undefined : wordsOf(test), testCommandLine: test,
    ticketsUrl: tickets === undefined ? undefined : urlOf('N17Q_TICKETS_URL', tickets, ['http:', 'https:']).href.replace(/\/$/u, ''),
    accounts: accountsFrom(places.providers, (env['N17Q_PROVIDERS_FILE'] ?? '') !== ''),
    tuning: Object.fromEntries(TUNING.flatMap((n) => (env[n] === undefined || env[n] === '' ? [] : [[n, env[n]]]))),
  };
}
