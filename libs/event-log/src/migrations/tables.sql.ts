/**
 * Tables of the store, format version 1.
 *
 * T1. `events` is append-only: no role but the owner may write it, and triggers refuse UPDATE, DELETE and TRUNCATE to the owner too.
 * T2. `streams` has no index on a column that changes, so that every append is a heap-only update.
 * T3. A row of `checkpoints` cannot exist without the event that sealed it (foreign key); the append function keeps the other direction.
 * T4. Payloads are text: the exact canonical bytes are what was digested. jsonb would normalise them.
 *
 * Rows: RUN-1, SEAL-2, SVC-4.
 */
/** What a row of windows began to count at, for the window that holds now. A row from a later one is the current one: the clock stepped back (windows.ts, W2). */
export const OPENED = (row: string, now: string): string => `greatest(${row}.window_start, ${now} - ${now} % ${row}.every_ms)`;
const USED = (row: string, now: string): string => `case when ${row}.window_start = ${OPENED(row, now)} then ${row}.used else 0 end`;
/** What runs may draw of one dimension: of what the account holds, as much as every window of the tenant's still lets through. `least` passes over null. */
export const DRAWABLE = (tenant: string, dimension: string, now: string): string => `greatest(0, least(
  coalesce((select a.balance from n17q.accounts a where a.tenant = ${tenant} and a.dimension = ${dimension}), 0),
  (select min(w.most - ${USED('w', now)}) from n17q.windows w where w.tenant = ${tenant} and w.dimension = ${dimension})))`;
/** Of a row of needs: whether what it waits for is there. Only a wait for the tenant's budget (`budget:<dimension>:<least>`) can be unmet when it is due. */
export const WAIT_COVERED = (row: string, now: string): string => `case when ${row}.waits_for like 'budget:%' then
  ${DRAWABLE(`${row}.tenant`, `split_part(${row}.waits_for, ':', 2)`, now)} >= split_part(${row}.waits_for, ':', 3)::bigint else true end`;

export const TABLES = `
create table n17q.store (
  one boolean primary key default true check (one),
  incarnation uuid not null default gen_random_uuid(),
  format_version integer not null
);
insert into n17q.store (format_version) values (1);

-- The head row of a lane is mutex and position counter in one: positions drawn under its lock follow commit order and have no holes.
-- One lane: its lock also orders everything that runs share (accounts, tenant streams, scopes). More lanes need a new format.
create table n17q.lanes (
  lane smallint primary key check (lane = 0),
  next_position bigint not null
);
insert into n17q.lanes (lane, next_position) values (0, 1);

-- recent: hashes of the last append ids, newest first; finds a reused id without an index.
create table n17q.streams (
  tenant text not null,
  stream text not null,
  revision integer not null,
  head text not null,
  recent bigint[] not null,
  created_at bigint not null,
  primary key (tenant, stream)
) with (fillfactor = 70);

-- Ids and digests in binary; who wakes only where somebody does; the usual meta not at all. The predecessor's digest is its own row's.
create table n17q.events (
  position bigint not null,
  recorded_at bigint not null,
  revision integer not null,
  lane smallint not null,
  schema_version smallint not null,
  event_id uuid not null,
  append_id uuid not null,
  tenant text not null,
  stream text not null,
  type text not null,
  wake text,
  digest bytea not null,
  request_digest bytea,
  data text not null,
  meta text,
  trace text,
  primary key (tenant, stream, revision)
);
create unique index events_by_position on n17q.events (lane, position);

create table n17q.contents (
  tenant text not null,
  commitment text not null,
  stream text,
  class text not null,
  media text not null,
  bytes bigint not null,
  state text not null check (state in ('pending', 'complete', 'erased')),
  salt bytea,
  body bytea,
  primary key (tenant, commitment),
  check (state <> 'erased' or (salt is null and body is null))
);
-- The stream first: an index that began with the tenant could be chosen, while the table is small, for what is looked up by commitment.
create index contents_of_stream on n17q.contents (stream, tenant);

-- body: manifest and changed sections, compressed (section-pack.ts), with the text of the checkpoint of cut \`base\` as dictionary.
-- holds: the first eight bytes of the digests of the sections that are in it.
create table n17q.checkpoints (
  tenant text not null,
  stream text not null,
  cut integer not null,
  checkpoint text not null,
  version integer not null,
  sealed_revision integer not null,
  manifest_digest text not null,
  base integer,
  holds bigint[] not null,
  body bytea not null,
  primary key (tenant, stream, cut),
  foreign key (tenant, stream, sealed_revision) references n17q.events (tenant, stream, revision)
);

-- The newest only. A cache: it may be deleted at any moment and costs reads then.
create table n17q.snapshots (
  tenant text not null,
  stream text not null,
  revision integer not null,
  fold_schema text not null,
  state text not null,
  primary key (tenant, stream)
) with (fillfactor = 70);

create table n17q.open_effects (
  tenant text not null,
  effect text not null,
  stream text not null,
  tool text not null,
  target text not null,
  fields jsonb not null,
  kind text not null,
  stage text not null,
  generation text not null,
  primary key (tenant, effect)
);
create index open_effects_by_target on n17q.open_effects (tenant, target);

create table n17q.needs (
  tenant text not null,
  stream text not null,
  service text not null,
  reason text not null,
  due_at bigint not null,
  waits_for text,
  primary key (tenant, stream, service, reason)
);
create index needs_by_due on n17q.needs (service, due_at);
create index needs_by_waiting on n17q.needs (tenant, split_part(waits_for, ':', 1)) where waits_for is not null;

create table n17q.accounts (
  tenant text not null,
  dimension text not null,
  balance bigint not null check (balance >= 0),
  primary key (tenant, dimension)
);

-- Limits of a tenant per window (windows.ts). used: drawn in the window that began at window_start; the row moves on with the first draw in a later one.
create table n17q.windows (
  tenant text not null,
  dimension text not null,
  every_ms bigint not null check (every_ms > 0),
  most bigint not null check (most >= 0),
  window_start bigint not null,
  used bigint not null check (used >= 0),
  primary key (tenant, dimension, every_ms)
);
-- What each stream drew in the window that the row of windows counts: so much of it may come back there.
create table n17q.window_draws (
  tenant text not null,
  dimension text not null,
  every_ms bigint not null,
  stream text not null,
  drawn bigint not null check (drawn >= 0),
  primary key (tenant, dimension, every_ms, stream)
);

create table n17q.relay (
  lane smallint primary key references n17q.lanes,
  owner text not null,
  lease_until bigint not null,
  epoch bigint not null,
  cursor_position bigint not null
);
insert into n17q.relay (lane, owner, lease_until, epoch, cursor_position) values (0, '', 0, 0, 0);

-- Runs that lost acknowledged events to a failover or restore. A row stays, with the event that shows it, so that the same loss is not raised again after
-- somebody looked.
create table n17q.suspects (
  tenant text not null,
  stream text not null,
  event_id text not null,
  why text not null,
  since bigint not null,
  cleared_by text,
  primary key (tenant, stream)
);

create function n17q.refuse_rewriting() returns trigger language plpgsql as $$
begin
  raise exception 'events are append-only: % is refused', tg_op using errcode = 'insufficient_privilege';
end $$;
create trigger events_are_append_only before update or delete or truncate on n17q.events
  for each statement execute function n17q.refuse_rewriting();

alter table n17q.checkpoints alter column body set storage external;

-- lz4 where the server was built with it
do $$
begin
  alter table n17q.events alter column data set compression lz4;
  alter table n17q.contents alter column body set compression lz4;
  alter table n17q.snapshots alter column state set compression lz4;
exception when feature_not_supported then
  raise notice 'this server has no lz4; its default compression is used';
end $$;
`;
