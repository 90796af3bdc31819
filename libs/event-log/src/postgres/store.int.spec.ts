import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { openSandbox, type Sandbox } from '@n17q/testing';
import { STORE_CASES } from '../conformance/index.js';
import { migrate } from '../migrations/migrate.js';
import { roles } from '../migrations/roles.js';
import { PostgresEventStore } from './store.js';

const passwords = { store: 'store-role-password', api: 'api-role-password-1', reader: 'reader-role-password' };

describe('the event store on Postgres', () => {
  let sandbox: Sandbox;
  const stores: PostgresEventStore[] = [];
  beforeAll(async () => {
    sandbox = await openSandbox({ postgres: true });
    const owner = await sandbox.database();
    await migrate(owner);
    const { store: url } = await roles(owner, passwords);
    stores.push(await PostgresEventStore.open({ url }), await PostgresEventStore.open({ url, writers: 2, batchMax: 4 }));
  }, 60_000);
  afterAll(async () => {
    await Promise.all(stores.map((s) => s.close()));
    await sandbox?.close();
  });

  for (const c of STORE_CASES) it(`[${c.rows.join(', ')}] ${c.title}`, () => c.run(stores[0] as PostgresEventStore), 30_000);
  for (const c of STORE_CASES) it(`[${c.rows.join(', ')}] with two writers and small batches, ${c.title}`, () => c.run(stores[1] as PostgresEventStore), 30_000);
});
