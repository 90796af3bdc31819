/**
 * Gives the local tenant its documents. What a person published later stays, until the configuration that `up` reads is changed.
 *
 * D1. A document is published when it differs from the one that `up` published last, and never because of anything else.
 * D2. Tools that a person registered stay, whatever `up` publishes: it replaces its own alone, and none that a person's has taken the place of.
 *
 * Rows: TOOL-1.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { connectBus } from '@n17q/bus';
import { digestOf } from '@n17q/contracts';
import { tenantStream, type TenantId, type ToolMapping } from '@n17q/domain';
import { BusStore } from '@n17q/event-log';
import { FIRST_ALLOWANCE, FIRST_POLICY, OPERATOR_ROLES, profilesOf, publishDocuments, type Site, type TenantDocuments } from '@n17q/testing';
import { codingTools, probeIsolation } from '@n17q/tools';
import type { StackSettings } from './settings.js';
import { besideOthers } from './stack-tools.js';

export const LOCAL_TENANT = 'local' as TenantId;
const NOWHERE = 'http://127.0.0.1:9';

async function documentsOf(s: StackSettings): Promise<TenantDocuments> {
  const tools = codingTools({ isolation: await probeIsolation(), testCommand: s.testCommand ?? ['false'], ticketsUrl: s.ticketsUrl ?? NOWHERE })
    .filter((t) => (t.name !== 'run_tests' || s.testCommand !== undefined) && (t.name !== 'file_ticket' || s.ticketsUrl !== undefined));
  return { policy: FIRST_POLICY, registry: { tools }, roles: OPERATOR_ROLES, profiles: profilesOf(s.accounts), allowance: FIRST_ALLOWANCE };
}

function seededBefore(file: string): Readonly<Record<string, string>> {
  if (!existsSync(file)) return {};
  return JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, string>>;
}

async function registered(store: BusStore): Promise<readonly ToolMapping[]> {
  const view = await store.decisionView({ tenant: LOCAL_TENANT, stream: tenantStream('registry'), afterRevision: 2_147_483_647, targets: [] });
  const published = view.tenant.find((d) => d.stream === tenantStream('registry'))?.event;
  return published?.type === 'registry.published' ? published.data.tools : [];
}

/** `storeIncarnation`: a database that was made anew has no documents, whatever the file says. */
export async function seedTenant(site: Site, settings: StackSettings, file: string, storeIncarnation: string): Promise<void> {
  const wanted = await documentsOf(settings);
  const before = seededBefore(file);
  const digests = Object.fromEntries(Object.entries(wanted).map(([k, v]) => [k, digestOf(v)]));
  const known = before['incarnation'] === storeIncarnation ? before : {};
  const changed = Object.fromEntries(Object.entries(wanted).filter(([k]) => known[k] !== digests[k])) as TenantDocuments; // keeps D1
  if (Object.keys(changed).length === 0) return;
  const bus = await connectBus({ service: 'api', url: site.natsUrl, password: site.busPasswords.api, signal: AbortSignal.timeout(20_000), ...(site.busUser === undefined ? {} : { user: site.busUser }) });
  try {
    const store = new BusStore(bus, 'api');
    const registry = changed.registry && { tools: besideOthers(changed.registry.tools, await registered(store)) }; // keeps D2
    await publishDocuments(store, LOCAL_TENANT, { ...changed, ...(registry && { registry }) });
  } finally {
    await bus.close();
  }
  writeFileSync(`${file}.new`, `${JSON.stringify({ ...digests, incarnation: storeIncarnation }, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
