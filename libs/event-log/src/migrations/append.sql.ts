/**
 * The append: many appends of many streams in one call, one transaction, one commit.
 *
 * Lock: the lane's head row first, then the streams rows (written and required) ordered by tenant and stream. Isolation: READ COMMITTED; every
 * statement after the lane lock sees all that was committed before it was granted. Index: primary keys only.
 *
 * A1. Items take effect in the order given: each is judged against the state that all earlier winners of the batch leave, and none of the
 *     later ones. A stream occurs at most once in a batch.
 * A2. Every expected problem is an outcome of its item; the item then leaves nothing and draws no position. What raises is a defect or a broken server.
 * A3. All checks of an item come before its first write.
 * A4. A repeat is recognised before anything else is judged, so that it gets its first answer whatever has changed since.
 * A5. Of the batch's \`releases\` the needs of all its items are part, whatever their order: an extra look is harmless, a missed one is not.
 * A6. A reused id is found among the last 32 appends of the stream (hashes in the stream's row), and, when the revision differs, among the 256
 *     events after the expected revision. An older reuse at the right revision is accepted as a new append: its bytes were judged at that revision.
 *
 * Rows: RUN-1, RUN-4, SEAL-2, SEAL-3, EFF-6, EFF-7, BUD-2, BUD-5, OPS-2.
 */
import { BALANCE_MAX } from '../prepared.js';
import { DRAWABLE, OPENED, WAIT_COVERED } from './tables.sql.js';

export const APPEND = `
create function n17q.now_ms() returns bigint language sql volatile as $$ select floor(extract(epoch from clock_timestamp()) * 1000)::bigint $$;

create function n17q.digest_head(digest text) returns bigint language sql immutable strict as $$ select ('x' || left(digest, 16))::bit(64)::bigint $$;

-- What is known of an append id in a stream: the outcome 'replayed' or 'id-reused', or null.
create function n17q.find_append(p_tenant text, p_stream text, p_expected integer, p_current integer, p_append_id uuid, p_digest text, p_count integer,
  p_recent boolean, out outcome text, out head text, out recorded_at bigint, out pos bigint, out at_revision integer)
language plpgsql stable as $$
declare first record;
begin
  select e.revision, e.request_digest into first from n17q.events e
   where e.tenant = p_tenant and e.stream = p_stream and e.revision > p_expected and e.revision <= p_expected + 256
     and e.append_id = p_append_id and e.request_digest is not null order by e.revision limit 1;
  if first is null and p_recent then
    select e.revision, e.request_digest into first from n17q.events e
     where e.tenant = p_tenant and e.stream = p_stream and e.revision > p_current - 2048
       and e.append_id = p_append_id and e.request_digest is not null order by e.revision desc limit 1;
  end if;
  if first is null then return; end if;
  at_revision := first.revision;
  if first.request_digest <> decode(p_digest, 'hex') or first.revision <> p_expected + 1 then outcome := 'id-reused'; return; end if;
  outcome := 'replayed';
  select encode(e.digest, 'hex'), e.recorded_at, e.position into head, recorded_at, pos from n17q.events e
   where e.tenant = p_tenant and e.stream = p_stream and e.revision = p_expected + p_count;
end $$;

-- Judges what an item brings beyond its events. Null, or the outcome and its facts. Reads only. What is looked up by key is looked up in a subquery of its
-- own, never joined: a join's plan, made while a table is small, may read all that the tenant has, once for each append.
create function n17q.judge_extra(p_tenant text, p_stream text, x jsonb, p_now bigint, out outcome text, out facts jsonb)
language plpgsql volatile as $$
declare r record; uploads text[]; cited text[];
begin
  if x ? 'scopesFree' then
    select o.effect, o.stream, s.scope into r from jsonb_array_elements(x->'scopesFree') with ordinality as s(scope, at)
      cross join lateral (select e.effect, e.stream from n17q.open_effects e where e.tenant = p_tenant and e.target = s.scope->'scope'->>'target' and e.kind not in ('read-only', 'contained')
        and not exists (select from jsonb_each(s.scope->'scope'->'fields') f where e.fields->f.key <> f.value) -- apart only by a field with two values (scope.ts)
        and not (s.scope->'except' ? e.effect) order by e.effect limit 1) o
     order by s.at, o.effect limit 1;
    if found then outcome := 'scope-busy'; facts := jsonb_build_object('target', r.scope->'scope'->>'target', 'effect', r.effect, 'stream', r.stream); return; end if;
  end if;
  if x ? 'debit' then
    select d.key, d.value, b.balance into r from jsonb_each_text(x->'debit') d
      cross join lateral (select case when d.value::bigint > 0 then ${DRAWABLE('p_tenant', 'd.key', 'p_now')}
        else coalesce((select a.balance from n17q.accounts a where a.tenant = p_tenant and a.dimension = d.key), 0) end as balance) b
     where (d.value::bigint > b.balance and d.value::bigint > 0) or (p_stream = 'tenant/budget' and b.balance - d.value::bigint > ${BALANCE_MAX}) order by d.key limit 1;
    if found and r.value::bigint < 0 then outcome := 'budget-over'; facts := jsonb_build_object('dimension', r.key, 'granted', -r.value::bigint, 'balance', r.balance); return; end if;
    if found then outcome := 'budget-short'; facts := jsonb_build_object('dimension', r.key, 'needed', r.value::bigint, 'balance', r.balance); return; end if;
  end if;
  if x ? 'cites' or x ? 'contents' then
    uploads := array(select u->>'commitment' from jsonb_array_elements(coalesce(x->'contents', '[]')) u);
    cited := array(select distinct v from jsonb_array_elements_text(coalesce(x->'cites', '[]')) v where v <> all(uploads));
    -- one descent of the index for all of them; which one is missing is asked only when one is
    if (select count(*) from n17q.contents k where k.tenant = p_tenant and k.commitment = any(cited) and k.state = 'complete'
           and coalesce(x->'citedAs'->>k.commitment = k.class || ' ' || k.bytes, true)) < cardinality(cited)
       or exists (select from n17q.contents k where k.tenant = p_tenant and k.commitment = any(uploads) and k.state = 'erased') then
      select c.commitment into r from (
          select v as commitment from unnest(cited) v where (select k.state = 'complete' and coalesce(x->'citedAs'->>v = k.class || ' ' || k.bytes, true) from n17q.contents k where k.tenant = p_tenant and k.commitment = v) is not true
          union all select v from unnest(uploads) v where (select k.state from n17q.contents k where k.tenant = p_tenant and k.commitment = v) = 'erased'
        ) c order by c.commitment limit 1;
      outcome := 'content-missing'; facts := jsonb_build_object('commitment', r.commitment); return;
    end if;
  end if;
  if x ? 'checkpoint' then
    if not (array(select n17q.digest_head(k) from jsonb_object_keys(x->'checkpoint'->'held') k) <@
            array(select unnest(c.holds) from n17q.checkpoints c where c.tenant = p_tenant and c.stream = p_stream and c.cut = any(array(select distinct v::integer from jsonb_each_text(x->'checkpoint'->'held') e(k, v)))))
       or x->'checkpoint'->'sought' <> '[]' then
      select m.digest into r from (
          select h.key as digest from jsonb_each_text(x->'checkpoint'->'held') h
           where (select n17q.digest_head(h.key) = any(c.holds) from n17q.checkpoints c where c.tenant = p_tenant and c.stream = p_stream and c.cut = h.value::integer) is not true
          union all select v from jsonb_array_elements_text(x->'checkpoint'->'sought') v
           where not exists (select from n17q.checkpoints c where c.tenant = p_tenant and c.stream = p_stream and n17q.digest_head(v) = any(c.holds))
        ) m order by m.digest limit 1;
      if found then outcome := 'content-missing'; facts := jsonb_build_object('section', r.digest); return; end if;
    end if;
    if (x->'checkpoint'->>'base') is not null and not exists (select from n17q.checkpoints c where c.tenant = p_tenant and c.stream = p_stream and c.cut = (x->'checkpoint'->>'base')::integer) then
      outcome := 'checkpoint-wrong'; facts := jsonb_build_object('base', x->'checkpoint'->'base'); return;
    end if;
    if exists (select from n17q.checkpoints c where c.tenant = p_tenant and c.stream = p_stream and c.cut = (x->'checkpoint'->>'cut')::integer) then
      outcome := 'checkpoint-wrong'; facts := jsonb_build_object('cut', x->'checkpoint'->'cut', 'because', 'this cut is sealed already');
    end if;
  end if;
end $$;

-- Counts in the tenant's windows what a run takes (positive) and gives back (negative). What comes back counts as far as the run drew it in this window.
create function n17q.count_draws(p_tenant text, p_stream text, p_debit jsonb, p_now bigint) returns void
language plpgsql volatile as $$
declare w record; n bigint;
begin
  for w in select v.dimension, v.every_ms, v.window_start, ${OPENED('v', 'p_now')} as opened, (p_debit->>v.dimension)::bigint as wanted
             from n17q.windows v where v.tenant = p_tenant and (p_debit->>v.dimension)::bigint <> 0 loop
    n := w.wanted;
    if n > 0 then
      if w.opened > w.window_start then
        delete from n17q.window_draws d where d.tenant = p_tenant and d.dimension = w.dimension and d.every_ms = w.every_ms;
      end if;
      insert into n17q.window_draws as d (tenant, dimension, every_ms, stream, drawn) values (p_tenant, w.dimension, w.every_ms, p_stream, n)
        on conflict (tenant, dimension, every_ms, stream) do update set drawn = d.drawn + excluded.drawn;
    elsif w.opened = w.window_start then
      n := -least(-n, coalesce((select d.drawn from n17q.window_draws d where d.tenant = p_tenant and d.dimension = w.dimension and d.every_ms = w.every_ms and d.stream = p_stream), 0));
      update n17q.window_draws d set drawn = d.drawn + n where d.tenant = p_tenant and d.dimension = w.dimension and d.every_ms = w.every_ms and d.stream = p_stream;
    else
      continue;
    end if;
    update n17q.windows v set window_start = w.opened, used = case when w.opened > w.window_start then n else v.used + n end
     where v.tenant = p_tenant and v.dimension = w.dimension and v.every_ms = w.every_ms;
  end loop;
end $$;

-- Writes what a winner brings beyond its events, except its checkpoint, which needs the event first.
create function n17q.apply_extra(p_tenant text, p_stream text, x jsonb, p_now bigint) returns void
language plpgsql volatile as $$
begin
  if x ? 'debit' then
    insert into n17q.accounts as a (tenant, dimension, balance)
      select p_tenant, d.key, 0 from jsonb_each_text(x->'debit') d where d.value::bigint <> 0 on conflict do nothing;
    update n17q.accounts a set balance = a.balance - d.value::bigint from jsonb_each_text(x->'debit') d
     where a.tenant = p_tenant and a.dimension = d.key and d.value::bigint <> 0;
    if p_stream <> 'tenant/budget' and exists (select from n17q.windows w where w.tenant = p_tenant) then perform n17q.count_draws(p_tenant, p_stream, x->'debit', p_now); end if;
  end if;
  if x ? 'limits' then
    delete from n17q.windows w where w.tenant = p_tenant and w.every_ms <> all(array(select (l->>'everyMs')::bigint from jsonb_array_elements(x->'limits') l));
    delete from n17q.window_draws d where d.tenant = p_tenant and d.every_ms <> all(array(select (l->>'everyMs')::bigint from jsonb_array_elements(x->'limits') l));
    insert into n17q.windows (tenant, dimension, every_ms, most, window_start, used)
      select p_tenant, m.key, (l->>'everyMs')::bigint, m.value::bigint, 0, 0 from jsonb_array_elements(x->'limits') l, jsonb_each_text(l->'amounts') m
      on conflict (tenant, dimension, every_ms) do update set most = excluded.most;
  end if;
  if x ? 'contents' then
    insert into n17q.contents as k (tenant, commitment, stream, class, media, bytes, state, salt, body)
      select distinct on (u->>'commitment') p_tenant, u->>'commitment', p_stream, u->>'class', u->>'media', (u->>'bytes')::bigint, 'complete', decode(u->>'salt', 'base64'), decode(u->>'body', 'base64')
        from jsonb_array_elements(x->'contents') u
      on conflict (tenant, commitment) do update set state = 'complete', salt = excluded.salt, body = excluded.body where k.state = 'pending';
  end if;
  if x ? 'removeEffects' then
    delete from n17q.open_effects o using jsonb_array_elements_text(x->'removeEffects') v where o.tenant = p_tenant and o.effect = v;
  end if;
  if x ? 'upsertEffects' then
    insert into n17q.open_effects (tenant, effect, stream, tool, target, fields, kind, stage, generation)
      select p_tenant, u->>'effect', p_stream, u->>'tool', u->'scope'->>'target', u->'scope'->'fields', u->>'kind', u->>'stage', u->>'generation' from jsonb_array_elements(x->'upsertEffects') u
      on conflict (tenant, effect) do update set stream = excluded.stream, tool = excluded.tool, target = excluded.target, fields = excluded.fields, kind = excluded.kind, stage = excluded.stage, generation = excluded.generation;
  end if;
  if x ? 'eraseContents' then
    update n17q.contents set state = 'erased', salt = null, body = null where tenant = p_tenant and stream = p_stream;
  end if;
end $$;

-- Arrays named i_ have one entry per item, e_ one per event, n_ one per need, r_ one per need to remove, c_ one per checkpoint; *_item counts items from 1.
create function n17q.append_batch(
  p_lane smallint,
  i_tenant text[], i_stream text[], i_expected integer[], i_append_id uuid[], i_digest text[], i_count integer[], i_previous text[], i_head text[],
  i_recorded_at bigint[], i_valid_until bigint[], i_snapshot text[], i_extra text[], p_fold_schema text,
  e_item integer[], e_offset integer[], e_id uuid[], e_type text[], e_wake text[], e_schema smallint[], e_data text[], e_meta text[], e_trace text[], e_digest text[],
  n_item integer[], n_service text[], n_reason text[], n_due bigint[], n_waits text[],
  r_item integer[], r_service text[], r_reason text[],
  c_item integer[], c_cut integer[], c_checkpoint text[], c_version integer[], c_sealed integer[], c_digest text[], c_base integer[], c_holds text[], c_body text[]
) returns table (item integer, outcome text, revision integer, head text, recorded_at bigint, pos bigint, facts text)
language plpgsql volatile security definer set search_path = n17q, pg_temp as $$
#variable_conflict use_column
declare
  n constant integer := cardinality(i_stream);
  first_position bigint; drawn integer;
  now_ms bigint;
  currents integer[]; heads text[]; known boolean[];
  won boolean[] := array_fill(false, array[cardinality(i_stream)]);
  wins integer := 0; releasing boolean := false;
  extras jsonb[] := array_fill(null::jsonb, array[cardinality(i_stream)]); plain boolean[];
  x jsonb; r record; j integer;
begin
  select l.next_position into strict first_position from lanes l where l.lane = p_lane for update;
  for i in 1..n loop
    if i_extra[i] is not null then extras[i] := i_extra[i]::jsonb; end if;
  end loop;
  perform from streams s
    where (s.tenant, s.stream) in (
      select t.tenant, t.stream from unnest(i_tenant, i_stream) as t(tenant, stream)
      union select i_tenant[t.at], q->>'stream' from unnest(extras) with ordinality as t(extra, at), jsonb_array_elements(t.extra->'requires') q)
    order by s.tenant, s.stream for no key update;
  select array_agg(coalesce(s.revision, 0) order by t.at), array_agg(coalesce(s.head, '') order by t.at), array_agg(coalesce(uuid_hash_extended(t.append_id, 0) = any(s.recent), false) order by t.at)
    into currents, heads, known
    from unnest(i_tenant, i_stream, i_append_id) with ordinality as t(tenant, stream, append_id, at) left join streams s on s.tenant = t.tenant and s.stream = t.stream;
  -- Most items bring contents, references and a checkpoint that are right. They are looked at here in one statement; whoever is not plainly right, or brings
  -- more, is judged by itself in its turn (A1: here nobody sees what another item of the batch writes, so an erasure among them leaves it all to the turns).
  select array_agg(t.extra is not null and not t.extra ?| array['scopesFree', 'debit']
      and not exists (select from jsonb_array_elements_text(t.extra->'cites') v
        where (select k.state = 'complete' and coalesce(t.extra->'citedAs'->>v = k.class || ' ' || k.bytes, true) from contents k where k.tenant = i_tenant[t.at] and k.commitment = v) is not true)
      and not exists (select from jsonb_array_elements(t.extra->'contents') u where (select k.state from contents k where k.tenant = i_tenant[t.at] and k.commitment = u->>'commitment') = 'erased')
      and (not t.extra ? 'checkpoint' or (t.extra->'checkpoint'->'sought' = '[]'
        and array(select n17q.digest_head(h) from jsonb_object_keys(t.extra->'checkpoint'->'held') h) <@
            array(select unnest(c.holds) from checkpoints c where c.tenant = i_tenant[t.at] and c.stream = i_stream[t.at] and c.cut = any(array(select h.value::integer from jsonb_each_text(t.extra->'checkpoint'->'held') h)))
        and (t.extra->'checkpoint'->>'base' is null or exists (select from checkpoints c where c.tenant = i_tenant[t.at] and c.stream = i_stream[t.at] and c.cut = (t.extra->'checkpoint'->>'base')::integer))
        and not exists (select from checkpoints c where c.tenant = i_tenant[t.at] and c.stream = i_stream[t.at] and c.cut = (t.extra->'checkpoint'->>'cut')::integer)))
      order by t.at)
    into plain from unnest(extras) with ordinality as t(extra, at)
   where not exists (select from unnest(extras) e where e ? 'eraseContents');
  now_ms := n17q.now_ms();

  for i in 1..n loop
    item := i; outcome := null; revision := currents[i]; head := null; recorded_at := null; pos := null; facts := null; x := extras[i];
    if currents[i] <> i_expected[i] or known[i] then
      select f.* into r from n17q.find_append(i_tenant[i], i_stream[i], i_expected[i], currents[i], i_append_id[i], i_digest[i], i_count[i], known[i]) f;
      if r.outcome = 'replayed' then
        outcome := 'replayed'; revision := i_expected[i] + i_count[i]; head := r.head; recorded_at := r.recorded_at; pos := r.pos;
      elsif r.outcome is not null then
        outcome := r.outcome; facts := jsonb_build_object('revision', r.at_revision)::text;
      elsif currents[i] <> i_expected[i] then
        outcome := 'conflict';
      end if;
    end if;
    if outcome is null and heads[i] <> i_previous[i] then outcome := 'chain-broken'; end if;
    if outcome is null and abs(i_recorded_at[i] - now_ms) >= 2000 then
      outcome := 'clock-skew'; facts := jsonb_build_object('recordedAt', i_recorded_at[i], 'now', now_ms)::text;
    end if;
    if outcome is null and i_valid_until[i] is not null and exists (select from suspects z where z.tenant = i_tenant[i] and z.stream = i_stream[i] and z.cleared_by is null) then
      outcome := 'suspect'; -- what spends a permit acts on the world, and the world may know more than this log (OPS-2)
    end if;
    if outcome is null and i_valid_until[i] is not null then
      now_ms := n17q.now_ms();
      if now_ms >= i_valid_until[i] then outcome := 'expired'; facts := jsonb_build_object('validUntil', i_valid_until[i], 'now', now_ms)::text; end if;
    end if;
    if outcome is null and x is not null then
      if x ? 'requires' then
        select q.want->>'stream' as stream, (q.want->>'revision')::integer as revision, b.revision as stands into r
          from jsonb_array_elements(x->'requires') with ordinality as q(want, at)
          cross join lateral (select coalesce(
            (select i_expected[k] + i_count[k] from generate_series(1, i - 1) k where won[k] and i_tenant[k] = i_tenant[i] and i_stream[k] = q.want->>'stream'),
            (select s.revision from streams s where s.tenant = i_tenant[i] and s.stream = q.want->>'stream'), 0) as revision) b
         where b.revision <> (q.want->>'revision')::integer order by q.at limit 1;
        if found then outcome := 'requirement-failed'; facts := jsonb_build_object('stream', r.stream, 'required', r.revision, 'revision', r.stands)::text; end if;
      end if;
      if outcome is null and plain[i] is not true then
        select g.* into r from n17q.judge_extra(i_tenant[i], i_stream[i], x, now_ms) g;
        if r.outcome is not null then outcome := r.outcome; facts := r.facts::text; end if;
      end if;
      if outcome is null then
        if x ?| array['debit', 'limits', 'contents', 'removeEffects', 'upsertEffects', 'eraseContents'] then perform n17q.apply_extra(i_tenant[i], i_stream[i], x, now_ms); end if;
        if x ? 'releases' then releasing := true; end if;
      end if;
    end if;
    if outcome is null then
      won[i] := true; wins := wins + 1;
    else
      return next;
    end if;
  end loop;
  if wins = 0 then return; end if;

  update streams s set revision = t.expected + t.count, head = t.head, recent = (array_prepend(uuid_hash_extended(t.append_id, 0), s.recent))[1:32]
    from unnest(i_tenant, i_stream, i_expected, i_count, i_head, i_append_id, won) as t(tenant, stream, expected, count, head, append_id, won)
   where t.won and t.expected > 0 and s.tenant = t.tenant and s.stream = t.stream and s.revision = t.expected;
  get diagnostics drawn = row_count;
  insert into streams (tenant, stream, revision, head, recent, created_at)
    select t.tenant, t.stream, t.count, t.head, array[uuid_hash_extended(t.append_id, 0)], t.recorded_at
      from unnest(i_tenant, i_stream, i_expected, i_count, i_head, i_append_id, i_recorded_at, won) as t(tenant, stream, expected, count, head, append_id, recorded_at, won)
     where t.won and t.expected = 0;
  get diagnostics j = row_count;
  if drawn + j <> wins then raise exception 'append: % streams moved for % winners', drawn + j, wins; end if;

  insert into events (tenant, stream, revision, lane, position, event_id, type, wake, schema_version, data, meta, trace, append_id, request_digest, recorded_at, digest)
    select i_tenant[e.item], i_stream[e.item], i_expected[e.item] + e.off, p_lane, first_position - 1 + row_number() over (order by e.item, e.off),
           e.id, e.type, e.wake, e.schema, e.data, e.meta, e.trace, i_append_id[e.item], case when e.off = 1 then decode(i_digest[e.item], 'hex') end, i_recorded_at[e.item], decode(e.digest, 'hex')
      from unnest(e_item, e_offset, e_id, e_type, e_wake, e_schema, e_data, e_meta, e_trace, e_digest)
        as e(item, off, id, type, wake, schema, data, meta, trace, digest)
     where won[e.item];
  get diagnostics drawn = row_count;
  update lanes l set next_position = first_position + drawn where l.lane = p_lane;

  if cardinality(c_item) > 0 then
    insert into checkpoints (tenant, stream, cut, checkpoint, version, sealed_revision, manifest_digest, base, holds, body)
      select i_tenant[c.item], i_stream[c.item], c.cut, c.checkpoint, c.version, c.sealed, c.digest, c.base, c.holds::bigint[], decode(c.body, 'base64')
        from unnest(c_item, c_cut, c_checkpoint, c_version, c_sealed, c_digest, c_base, c_holds, c_body) as c(item, cut, checkpoint, version, sealed, digest, base, holds, body)
       where won[c.item];
  end if;
  insert into snapshots (tenant, stream, revision, fold_schema, state)
    select i_tenant[t.at], i_stream[t.at], i_expected[t.at] + i_count[t.at], p_fold_schema, t.state from unnest(i_snapshot) with ordinality as t(state, at) where t.state is not null and won[t.at]
    on conflict (tenant, stream) do update set revision = excluded.revision, fold_schema = excluded.fold_schema, state = excluded.state;
  if cardinality(r_item) > 0 then
    delete from needs d using unnest(r_item, r_service, r_reason) as t(item, service, reason)
     where won[t.item] and d.tenant = i_tenant[t.item] and d.stream = i_stream[t.item] and d.service = t.service and d.reason = t.reason;
  end if;
  if cardinality(n_item) > 0 then
    -- the first due time of the same reason stays, so that work which keeps being pushed away still comes due
    insert into needs as d (tenant, stream, service, reason, due_at, waits_for)
      select i_tenant[t.item], i_stream[t.item], t.service, t.reason, t.due, t.waits from unnest(n_item, n_service, n_reason, n_due, n_waits) as t(item, service, reason, due, waits) where won[t.item]
      on conflict (tenant, stream, service, reason) do update set waits_for = excluded.waits_for where d.waits_for is distinct from excluded.waits_for;
  end if;
  if releasing then
    -- what no balance covers yet is due when the tenant's next window opens: it may have begun to wait when there was no limit
    update needs d set due_at = case when ${WAIT_COVERED('d', 'now_ms')} then now_ms else q.opens_at end
      from (select p.tenant, p.topic, (select min(${OPENED('w', 'now_ms')} + w.every_ms) from windows w where w.tenant = p.tenant) as opens_at
              from (select distinct i_tenant[t.at] as tenant, v as topic from unnest(extras) with ordinality as t(extra, at), jsonb_array_elements_text(t.extra->'releases') v where won[t.at]) as p) as q
     where d.tenant = q.tenant and d.waits_for is not null and split_part(d.waits_for, ':', 1) = q.topic and d.due_at > now_ms and (${WAIT_COVERED('d', 'now_ms')} or d.due_at > q.opens_at);
  end if;

  j := 0;
  for i in 1..n loop
    continue when not won[i];
    j := j + i_count[i];
    item := i; outcome := 'appended'; revision := i_expected[i] + i_count[i]; head := i_head[i]; recorded_at := i_recorded_at[i]; pos := first_position - 1 + j; facts := null;
    return next;
  end loop;
  if j <> drawn then raise exception 'append: % events for % announced', drawn, j; end if;
end $$;

-- A pending artifact becomes complete once; what was erased stays erased. Returns the state after.
create function n17q.register_artifact(p_tenant text, p_commitment text, p_stream text, p_class text, p_media text, p_bytes bigint, p_state text, p_salt bytea) returns text
language plpgsql volatile security definer set search_path = n17q, pg_temp as $$
declare after text;
begin
  insert into contents as k (tenant, commitment, stream, class, media, bytes, state, salt) values (p_tenant, p_commitment, p_stream, p_class, p_media, p_bytes, p_state, p_salt)
    on conflict (tenant, commitment) do update set state = excluded.state, salt = coalesce(excluded.salt, k.salt)
    where k.state = 'pending' and excluded.state = 'complete' and k.bytes = excluded.bytes and k.class = excluded.class;
  select state into after from contents where tenant = p_tenant and commitment = p_commitment;
  return after;
end $$;
-- A stream lost events, as the given event shows. The same event never raises it twice.
create function n17q.mark_suspect(p_tenant text, p_stream text, p_event_id text, p_why text) returns void
language sql volatile security definer set search_path = n17q, pg_temp as $$
  insert into suspects as z (tenant, stream, event_id, why, since) values (p_tenant, p_stream, p_event_id, p_why, n17q.now_ms())
    on conflict (tenant, stream) do update set event_id = excluded.event_id, why = excluded.why, since = excluded.since, cleared_by = null where z.event_id <> excluded.event_id
$$;
-- Somebody looked.
create function n17q.clear_suspect(p_tenant text, p_stream text, p_by text) returns boolean
language sql volatile security definer set search_path = n17q, pg_temp as $$
  with cleared as (update suspects set cleared_by = p_by where tenant = p_tenant and stream = p_stream and cleared_by is null returning 1) select exists (select from cleared)
$$;
revoke all on all functions in schema n17q from public;
`;
