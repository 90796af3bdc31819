import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { openSandbox, type Sandbox } from '@n17q/testing';
import { appended } from '../conformance/case.js';
import { draft, newRun, newTenant } from '../conformance/draft.js';
import { PostgresEventStore } from '../postgres/store.js';
import { checkSchema, migrate } from './migrate.js';
import { roles, type RoleUrls } from './roles.js';
import { STEPS } from './steps.js';

const passwords = { store: 'store-role-p@ss:word', api: 'api-role-password-1', reader: 'reader-role-password' };

describe('the schema and its roles', () => {
  let sandbox: Sandbox;
  let owner: string;
  let urls: RoleUrls;
  beforeAll(async () => {
    sandbox = await openSandbox({ postgres: true });
    owner = await sandbox.database();
  }, 60_000);
  afterAll(async () => sandbox?.close());

  const as = async (url: string, sql: string): Promise<pg.QueryResult> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return await client.query(sql);
    } finally {
      await client.end();
    }
  };

  it('[SVC-4] refuses to work before the migrations, applies them once though two run at a time, and never by itself', async () => {
    await expect(checkSchema(owner)).rejects.toMatchObject({ code: 'SCHEMA_MISSING' });
    await expect(PostgresEventStore.open({ url: owner })).rejects.toMatchObject({ code: 'SCHEMA_MISSING' });
    const both = await Promise.all([migrate(owner), migrate(owner)]);
    expect(both.map((b) => b.length).toSorted((a, b) => a - b)).toEqual([0, STEPS.length]);
    expect(await migrate(owner)).toEqual([]);
    expect((await checkSchema(owner)).incarnation).toMatch(/^[0-9a-f-]{36}$/);
    await as(owner, `update n17q.store set format_version = 2`);
    await expect(checkSchema(owner)).rejects.toMatchObject({ code: 'FORMAT_UNKNOWN' });
    await as(owner, `update n17q.store set format_version = 1`);
  }, 60_000);

  it('[SVC-4] gives each role what it needs, as often as it is asked', async () => {
    await expect(roles(owner, { ...passwords, api: passwords.store })).rejects.toBeInstanceOf(TypeError);
    await expect(roles(owner, { ...passwords, api: 'short' })).rejects.toBeInstanceOf(TypeError);
    await roles(owner, { ...passwords, reader: 'another-password-first' });
    urls = await roles(owner, passwords);
    const store = await PostgresEventStore.open({ url: urls.store });
    appended(await store.append(await draft(store, newTenant(), newRun())));
    await store.close();
    await as(urls.api, 'create table n17q_api.seen (id int); drop table n17q_api.seen');
    expect((await as(urls.reader, 'select * from n17q.events')).rowCount).toBe(1);
  }, 60_000);

  it('[RUN-1, SVC-4] lets no run-time role rewrite, remove or add events, nor reach beyond its own', async () => {
    for (const url of [urls.store, urls.reader, urls.api]) {
      for (const sql of [
        `update n17q.events set data = '{}'`, 'delete from n17q.events', 'truncate n17q.events', `insert into n17q.events select * from n17q.events`, 'drop table n17q.events', 'alter table n17q.events disable trigger all',
        'delete from n17q.checkpoints', `update n17q.streams set revision = 0`, `update n17q.accounts set balance = 1`, `select n17q.apply_extra('t', 's', '{}', 0)`, 'update n17q.windows set most = 1000', 'delete from n17q.window_draws', `update n17q.store set format_version = 9`,
      ]) await expect(as(url, sql)).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|25006)$/) });
    }
    await expect(as(urls.api, 'select 1 from n17q.events')).rejects.toMatchObject({ code: '42501' });
    await expect(as(urls.reader, `select * from n17q.append_batch(0::smallint, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 'f', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`)).rejects.toMatchObject({ code: '42501' });
    await expect(as(urls.store, 'create table n17q.mine (id int)')).rejects.toMatchObject({ code: '42501' });
  }, 60_000);

  it('[RUN-1] refuses rewriting of events even to their owner', async () => {
    for (const sql of [`update n17q.events set data = '{}'`, 'delete from n17q.events', 'truncate n17q.events cascade']) await expect(as(owner, sql)).rejects.toThrow('append-only');
    expect((await as(owner, 'select 1 from n17q.events')).rowCount).toBe(1);
  }, 60_000);

  it('[SEAL-2] holds no checkpoint without the event that seals it', async () => {
    await expect(as(owner, `insert into n17q.checkpoints values ('t', 'run/x', 1, 'c', 1, 2, 'd', null, '{}', '')`)).rejects.toMatchObject({ code: '23503' });
  }, 30_000);
});
