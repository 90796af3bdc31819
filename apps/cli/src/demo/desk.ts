/** The demo's person at the desk: sets the tenant up, asks for the run, reads the answers; all over the API, as anybody would. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FolderArtifactStore } from '@n17q/artifacts';
import { N17qClient } from '@n17q/client';
import type { ProfilesDocument, RunId, TenantId } from '@n17q/domain';
import { RUN_BUDGET, type TenantDocuments } from '@n17q/testing';
import type { Places } from '../stack/places.js';
import type { Supervised } from '../stack/supervisor.js';

export interface Desk {
  documents(d: TenantDocuments): Promise<void>;
  profiles(p: ProfilesDocument): Promise<void>;
  removeAccount(account: string): Promise<void>;
  createRun(goal: string, repo: string): Promise<RunId>;
  /** Everything that the API says of the tenant and the run, each answer as text. */
  answers(run: RunId): Promise<readonly string[]>;
  /** Readable contents outside the store's tables. */
  outside(): Promise<readonly Buffer[]>;
}

const PAGE = 50;

export function openDesk(o: { readonly stack: Supervised; readonly places: Places; readonly tenant: TenantId; readonly token: string; readonly keys: Readonly<Record<string, string>> }): Desk {
  for (const [account, key] of Object.entries(o.keys)) writeFileSync(join(o.places.credentials, account), key, { mode: 0o600 });
  const said: string[] = [];
  // every answer is kept as the text that came over the wire, before anything reads it
  const listening: typeof fetch = async (input, init) => {
    const res = await fetch(input, init);
    said.push(`${[...res.headers].map(([k, v]) => `${k}: ${v}`).join('\n')}\n${await res.clone().text()}`);
    return res;
  };
  const client = new N17qClient({ baseUrl: o.stack.apiUrl, token: o.token, fetch: listening });
  const artifacts = new FolderArtifactStore(o.places.artifacts);
  return {
    documents: async (d) => {
      if (d.policy !== undefined) await client.publish('policy', d.policy);
      if (d.registry !== undefined) await client.publish('registry', d.registry);
      if (d.roles !== undefined) await client.publish('roles', d.roles);
      if (d.allowance !== undefined) await client.grantAllowance({ amounts: d.allowance, reason: 'the demo' });
    },
    profiles: async (p) => { await client.publish('profiles', p); },
    removeAccount: async (account) => { await client.removeAccount(account); },
    createRun: async (goal, repo) => (await client.createRun({ goal, title: 'The demo: a coding run', repo, budget: RUN_BUDGET })).run as RunId,
    answers: async (run) => {
      await client.listRuns();
      await client.run(run);
      await client.diff(run);
      for (const topic of ['policy', 'registry', 'profiles', 'roles'] as const) await client.document(topic);
      for (let after: number | null = 0; after !== null; ) ({ next: after } = await client.eventsPage(run, { after, limit: PAGE }));
      return said;
    },
    outside: async () => {
      const found: Buffer[] = [];
      for await (const { ref } of artifacts.list(o.tenant)) if (ref.class !== 'continuation') found.push(await artifacts.get(o.tenant, ref.commitment));
      return found;
    },
  };
}
