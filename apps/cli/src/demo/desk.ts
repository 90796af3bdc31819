/** The demo's person at the desk: sets the tenant up, asks for the run, and reads the answers. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FolderArtifactStore } from '@n17q/artifacts';
import { connectBus } from '@n17q/bus';
import type { ProfilesDocument, RunId, TenantId } from '@n17q/domain';
import { BusStore } from '@n17q/event-log';
import { createRun, publishDocuments, type TenantDocuments } from '@n17q/testing';
import { Workspaces } from '@n17q/tools';
import type { Places } from '../stack/places.js';
import type { Supervised } from '../stack/supervisor.js';

export interface Desk {
  documents(d: TenantDocuments): Promise<void>;
  profiles(p: ProfilesDocument): Promise<void>;
  createRun(goal: string, repo: string): Promise<RunId>;
  /** Waits for nothing that is in work any more. */
  settled(run: RunId): Promise<void>;
  /** Everything that the API says of the run, as text. */
  answers(run: RunId): Promise<readonly string[]>;
  /** Readable contents outside the store's tables. */
  outside(): Promise<readonly Buffer[]>;
  close(): Promise<void>;
}

export async function openDesk(o: { readonly stack: Supervised; readonly places: Places; readonly tenant: TenantId; readonly token: string; readonly keys: Readonly<Record<string, string>> }): Promise<Desk> {
  for (const [account, key] of Object.entries(o.keys)) writeFileSync(join(o.places.credentials, account), key, { mode: 0o600 });
  const bus = await connectBus({ service: 'api', url: o.stack.site.natsUrl, password: o.stack.site.busPasswords.api });
  const store = new BusStore(bus, 'api');
  const artifacts = new FolderArtifactStore(o.places.artifacts);
  return {
    documents: (d) => publishDocuments(store, o.tenant, d),
    profiles: (p) => publishDocuments(store, o.tenant, { profiles: p }),
    createRun: async (goal, repo) => {
      const { workspace } = await new Workspaces(artifacts, o.places.scratch).fromRepo(o.tenant, repo, join(o.places.data, 'demo', 'clone'));
      return createRun(store, o.tenant, { goal, title: 'The demo: a coding run', workspace });
    },
    settled: async () => undefined,
    answers: async () => [],
    outside: async () => {
      const found: Buffer[] = [];
      for await (const { ref } of artifacts.list(o.tenant)) if (ref.class !== 'continuation') found.push(await artifacts.get(o.tenant, ref.commitment));
      return found;
    },
    close: () => bus.close(1_000),
  };
}
void readFileSync;
