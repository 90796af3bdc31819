/**
 * Makes the server hold exactly what the topology says. Run by the deploy step as the `provisioner`, never by a service.
 * It does not delete: consumers that nobody asked for are reported.
 *
 * 1. A repeat changes nothing and reports no drift.
 * 2. What the server kept is read back: an accepted field that it dropped is a failure, never silence.
 * 3. Only fields of the table are sent, and the table holds only what 2.10 knows.
 *
 * Rows: SVC-1, RUN-4.
 */
import { failpoint } from '@n17q/platform';
import { NatsError, type ConsumerConfig, type JetStreamManager, type StreamConfig } from 'nats';
import type { Bus } from './connection.js';
import { BusFault, messageOf } from './faults.js';
import { CONSUMERS, STREAM } from './topology.js';

export interface Drift { readonly asset: string; readonly field: string; readonly wanted: unknown; readonly found: unknown }

export interface ProvisionReport {
  readonly created: readonly string[];
  readonly updated: readonly string[];
  /** Differences found before anything was changed; a missing asset is no drift. */
  readonly drift: readonly Drift[];
  /** Consumers on the stream that the table does not know. */
  readonly unexpected: readonly string[];
}

export interface ProvisionOptions { readonly replicas?: number; readonly streamBytesMax?: number }

type Fields = Readonly<Record<string, unknown>>;
interface Asset {
  readonly name: string;
  readonly wanted: Fields;
  read(): Promise<Fields | undefined>;
  create(): Promise<unknown>;
  update(): Promise<unknown>;
}

const NOT_FOUND = new Set([10059, 10014]);
const isMissing = (error: unknown): boolean => error instanceof NatsError && NOT_FOUND.has(error.api_error?.err_code ?? 0);

async function orMissing<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function differences(asset: string, wanted: Fields, found: Fields): Drift[] {
  return Object.keys(wanted)
    .filter((field) => JSON.stringify(wanted[field]) !== JSON.stringify(found[field]))
    .map((field) => ({ asset, field, wanted: wanted[field], found: found[field] }));
}

// Said even when unwanted: an update starts from what the server has, and a second kind of filter left there would contradict ours.
const NO_FILTERS = { filter_subject: undefined, filter_subjects: undefined } as const;

function assets(jsm: JetStreamManager, options: ProvisionOptions): { stream: Asset; consumers: Asset[] } {
  const wanted: Partial<StreamConfig> = {
    ...STREAM, subjects: [...STREAM.subjects],
    num_replicas: options.replicas ?? STREAM.num_replicas, max_bytes: options.streamBytesMax ?? STREAM.max_bytes,
  };
  const stream: Asset = {
    name: `stream ${STREAM.name}`,
    wanted: wanted as Fields,
    read: async () => (await orMissing(jsm.streams.info(STREAM.name)))?.config as Fields | undefined,
    create: () => jsm.streams.add(wanted),
    update: () => jsm.streams.update(STREAM.name, wanted),
  };
  const consumers = CONSUMERS.map((config): Asset => ({
    name: `consumer ${config.durable_name}`,
    wanted: { ...NO_FILTERS, ...config },
    read: async () => (await orMissing(jsm.consumers.info(STREAM.name, config.durable_name)))?.config as Fields | undefined,
    create: () => jsm.consumers.add(STREAM.name, { ...config } as ConsumerConfig),
    update: () => jsm.consumers.update(STREAM.name, config.durable_name, { ...NO_FILTERS, ...config } as ConsumerConfig),
  }));
  return { stream, consumers };
}

interface Findings { created: string[]; updated: string[]; drift: Drift[] }

async function settle(asset: Asset, findings: Findings): Promise<void> {
  const before = await asset.read();
  const drift = before === undefined ? [] : differences(asset.name, asset.wanted, before);
  findings.drift.push(...drift);
  if (before !== undefined && drift.length === 0) return;
  try {
    await (before === undefined ? asset.create() : asset.update());
  } catch (error) {
    throw new BusFault('PROVISIONING_FAILED', `${asset.name}: the server refused it: ${messageOf(error)}`, true, { cause: error });
  }
  (before === undefined ? findings.created : findings.updated).push(asset.name);
  const kept = (await asset.read()) ?? {};
  const dropped = differences(asset.name, asset.wanted, kept);
  if (dropped.length > 0) {
    const list = dropped.map((d) => `${d.field} wanted ${JSON.stringify(d.wanted)}, kept ${JSON.stringify(d.found)}`).join('; ');
    throw new BusFault('FIELD_DROPPED', `${asset.name}: the server did not keep what it accepted: ${list}`, true);
  }
}

async function unexpectedConsumers(jsm: JetStreamManager): Promise<string[]> {
  const known = new Set(CONSUMERS.map((c) => c.durable_name));
  const found: string[] = [];
  for await (const info of jsm.consumers.list(STREAM.name)) if (!known.has(info.name)) found.push(info.name);
  return found;
}

const manager = (bus: Bus): Promise<JetStreamManager> => bus.nc.jetstreamManager({ checkAPI: false });

/** Creates or updates the stream, then the consumers, and reads back. A crash in between is repaired by a repeat. */
export async function provision(bus: Bus, options: ProvisionOptions = {}): Promise<ProvisionReport> {
  const jsm = await manager(bus);
  const { stream, consumers } = assets(jsm, options);
  const findings: Findings = { created: [], updated: [], drift: [] };
  await settle(stream, findings);
  failpoint('provision.after-stream-before-consumer');
  for (const consumer of consumers) await settle(consumer, findings);
  return { ...findings, unexpected: await unexpectedConsumers(jsm) };
}

/** What `provision` would find, without changing anything; assets that do not exist are in `missing`. */
export async function inspectProvisioning(bus: Bus, options: ProvisionOptions = {}): Promise<{ readonly missing: readonly string[]; readonly drift: readonly Drift[]; readonly unexpected: readonly string[] }> {
  const jsm = await manager(bus);
  const { stream, consumers } = assets(jsm, options);
  const missing: string[] = [];
  const drift: Drift[] = [];
  for (const asset of [stream, ...consumers]) {
    const found = await asset.read();
    if (found === undefined) missing.push(asset.name);
    else drift.push(...differences(asset.name, asset.wanted, found));
  }
  return { missing, drift, unexpected: missing.includes(stream.name) ? [] : await unexpectedConsumers(jsm) };
}
