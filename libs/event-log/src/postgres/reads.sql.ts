/** One statement per export. None of them takes a lock; each sees one snapshot. */
import { WAIT_COVERED } from '../migrations/tables.sql.js';
import { EVENT_COLUMNS } from '../row.js';

/** Index: primary key of streams. */
export const HEAD = `select revision, head from n17q.streams where tenant = $1 and stream = $2`;

/** A page of a stream: $3 after revision, $4 events, $5 bytes of data; at least one event. Index: primary key of events, range. */
export const EVENTS_AFTER = `
select ${EVENT_COLUMNS} from (
  select p.*, sum(octet_length(p.data)) over (order by p.revision) - octet_length(p.data) as before
    from (select * from n17q.events where tenant = $1 and stream = $2 and revision > $3 order by revision limit $4) p
) e where e.before < $5 order by e.revision`;

/** Index: events_by_position, range. $2 after position, $3 events, $4 bytes. */
export const EVENTS_BY_POSITION = `
select ${EVENT_COLUMNS} from (
  select p.*, sum(octet_length(p.data)) over (order by p.position) - octet_length(p.data) as before
    from (select * from n17q.events where lane = $1 and position > $2::bigint order by position limit $3) p
) e where e.before < $4 order by e.position`;

const OPEN = (targets: string): string => `select o.* from n17q.open_effects o where o.tenant = $1 and (${targets}::text[] is null or o.target = any(${targets}::text[])) order by o.effect`;
/** Index: open_effects_by_target, or its primary key for all of the tenant. $2 targets or null, $3 limit. */
export const OPEN_EFFECTS = `${OPEN('$2')} limit $3`;

/** What the account holds, and the rows of the tenant's windows. Index: primary keys, ranges. */
const MONEY = `(select coalesce(json_object_agg(a.dimension, a.balance), '{}') from n17q.accounts a where a.tenant = $1) as account,
  (select coalesce(json_agg(json_build_object('everyMs', w.every_ms, 'dimension', w.dimension, 'most', w.most, 'windowStart', w.window_start, 'used', w.used)), '[]') from n17q.windows w where w.tenant = $1) as windows`;

/**
 * Everything that a decision rests on, in one snapshot: one statement. $1 tenant, $2 stream, $3 after revision or null for the snapshot's,
 * $4 events, $5 bytes, $6 fold schema, $7 targets, or null for all, $8 limit of effects, $9 tenant revisions seen, jsonb.
 * \`nothing\` in $10: head, snapshot and tail only. Index: primary keys, open_effects_by_target; the tail is a range of the primary key.
 */
export const VIEW = `
with snap as materialized (
  select revision, state from n17q.snapshots where tenant = $1 and stream = $2 and fold_schema = $6 and $3::integer is null
), start as materialized (select coalesce($3::integer, (select revision from snap), 0) as revision),
page as materialized (
  select p.*, sum(octet_length(p.data)) over (order by p.revision) - octet_length(p.data) as before
    from (select * from n17q.events where tenant = $1 and stream = $2 and revision > (select revision from start) order by revision limit $4) p
)
select
  (select row_to_json(h) from (select revision, head from n17q.streams where tenant = $1 and stream = $2) h) as head,
  (select row_to_json(s) from snap s) as snapshot,
  (select coalesce(json_agg(t order by t.revision), '[]') from (select ${EVENT_COLUMNS} from page e where e.before < $5) t) as tail,
  case when $10::text <> 'nothing' then (select coalesce(json_agg(o), '[]') from (${OPEN('$7')} limit $8) o) end as open,
  case when $10::text <> 'nothing' then (select coalesce(json_agg(json_build_object('stream', s.stream, 'revision', s.revision, 'head', s.head, 'event',
      (select row_to_json(d) from (select ${EVENT_COLUMNS} from n17q.events e where e.tenant = s.tenant and e.stream = s.stream and e.revision = s.revision
         and (($9::jsonb)->>s.stream)::integer is distinct from s.revision) d)) order by s.stream), '[]')
     from n17q.streams s where s.tenant = $1 and s.stream >= 'tenant/' and s.stream < 'tenant0') end as tenant,
  case when $10::text <> 'nothing' then (select row_to_json(m) from (select ${MONEY}) m) end as money,
  exists (select from n17q.suspects z where z.tenant = $1 and z.stream = $2 and z.cleared_by is null) as suspect,
  n17q.now_ms()::text as now`;

export const ACCOUNT = `select ${MONEY}, n17q.now_ms()::text as now`;
/**
 * $3 rows behind the place $4 to $7. What waits for the tenant's budget is due while the balance covers it: what a grant released and others took is not.
 * Index: needs_by_due, a range from $4 on; rows of one due time are sorted.
 */
export const NEEDS_DUE = `
select tenant, stream, service, reason, due_at::text as due_at, waits_for from n17q.needs
 where service = $1 and due_at <= n17q.now_ms() - $2::bigint and (due_at, tenant, stream, reason) > ($4::bigint, $5, $6, $7) and ${WAIT_COVERED('n17q.needs', 'n17q.now_ms()')} order by due_at, tenant, stream, reason limit $3`;
export const NEEDS_OF = `select tenant, stream, service, reason, due_at::text as due_at, waits_for from n17q.needs where tenant = $1 and stream = $2 order by service, reason`;
/** Index: primary key of streams, range. */
export const LIST_RUNS = `select stream, revision, head, created_at::text as created_at from n17q.streams where tenant = $1 and stream >= 'run/' and stream < 'run0' and stream > $2 order by stream limit $3`;
export const CONTENTS = `select commitment, class, media, bytes::text as bytes, state, salt, body from n17q.contents where tenant = $1 and commitment = any($2::text[])`;
const CHECKPOINT = 'checkpoint, version, cut, sealed_revision, manifest_digest';
export const CHECKPOINT_AT = `select ${CHECKPOINT} from n17q.checkpoints where tenant = $1 and stream = $2 and cut = $3`;
/** Index: primary key, backwards. */
export const CHECKPOINT_LATEST = `select ${CHECKPOINT} from n17q.checkpoints where tenant = $1 and stream = $2 order by cut desc limit 1`;
/** The checkpoints of the cuts $3 and all that they rest on. Index: primary key. */
export const PACKS = `
with recursive needed as (
  select cut, base, body from n17q.checkpoints where tenant = $1 and stream = $2 and cut = any($3::integer[])
  union select c.cut, c.base, c.body from needed n join n17q.checkpoints c on c.tenant = $1 and c.stream = $2 and c.cut = n.base
) select cut, base, body from needed`;
/** The newest checkpoint up to the cut $3 that holds a section, by digest. Index: primary key, range; for what no pack says where it is. */
export const SECTION_CUT = `select cut from n17q.checkpoints where tenant = $1 and stream = $2 and cut <= $3 and n17q.digest_head($4) = any(holds) order by cut desc limit 1`;
export const SUSPECTS = `select tenant, stream, event_id, why, since::text as since from n17q.suspects where cleared_by is null order by since limit $1`;
export const MARK_SUSPECT = `select n17q.mark_suspect($1, $2, $3, $4)`;
export const CLEAR_SUSPECT = `select n17q.clear_suspect($1, $2, $3) as cleared`;
export const REGISTER_ARTIFACT = `select n17q.register_artifact($1, $2, $3, $4, $5, $6::bigint, $7, $8::bytea) as state`;
