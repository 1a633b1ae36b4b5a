-- Sums of calls by hour and day (UTC), for the overview: kept by triggers in the transaction that
-- writes, corrects or erases the rows, whoever does it. Each call is counted in five parts: in
-- `all`, and under its vendor, `vendor/model`, key and app (empty: none). Rows with `erased` false
-- are at every moment the sums over the calls that are stored. What is erased, by request or for its
-- age, moves to rows with `erased` true, so that spend that was reported once stays as it was; names
-- of apps come from prompts and don't move with it.
create table usage_sums (
  account_id bigint not null,
  span text not null check (span in ('hour', 'day')),
  part text not null check (part in ('all', 'vendor', 'model', 'api_key', 'app')),
  at timestamptz not null,
  value text not null,
  erased boolean not null,
  -- Sums are of a type that can't overflow: no call may be refused for what it is added to.
  calls numeric not null,
  failed numeric not null,
  truncated numeric not null,
  cancelled numeric not null,
  interrupted numeric not null,
  input_tokens numeric not null,
  cache_read_tokens numeric not null,
  cache_write_tokens numeric not null,
  output_tokens numeric not null,
  reasoning_tokens numeric not null,
  cost_nanos numeric not null,
  charged_nanos numeric not null,
  -- Of cost_nanos: calls with a vendor key of the account's own.
  own_key_nanos numeric not null,
  -- Calls that cost something nobody knows.
  unpriced numeric not null,
  -- Completed calls by latency, all counts in one number so that histograms are added as numbers
  -- are: ten decimal digits for each interval of `latency_interval`, the fastest at the end.
  latencies numeric not null,
  primary key (account_id, span, part, at, value, erased)
) with (fillfactor = 50);

-- Intervals of latency grow by 2^(1/4): below 8 ms, then four for each doubling, and from 2^20 ms.
-- Limits are rounded up to whole milliseconds, so that no machine counts otherwise than another.
create function latency_interval(ms bigint) returns integer language sql immutable as $$
  select width_bucket(ms, array[8, 10, 12, 14, 16, 20, 23, 27, 32, 39, 46, 54, 64, 77, 91, 108, 128,
    153, 182, 216, 256, 305, 363, 431, 512, 609, 725, 862, 1024, 1218, 1449, 1723, 2048, 2436, 2897,
    3445, 4096, 4871, 5793, 6889, 8192, 9742, 11586, 13778, 16384, 19484, 23171, 27555, 32768,
    38968, 46341, 55109, 65536, 77936, 92682, 110218, 131072, 155872, 185364, 220436, 262144,
    311744, 370728, 440872, 524288, 623488, 741456, 881744, 1048576]::bigint[])
$$;

do $make$
declare
  sums text[] := array['calls', 'failed', 'truncated', 'cancelled', 'interrupted', 'input_tokens',
    'cache_read_tokens', 'cache_write_tokens', 'output_tokens', 'reasoning_tokens', 'cost_nanos',
    'charged_nanos', 'own_key_nanos', 'unpriced', 'latencies'];
  names text := array_to_string(sums, ', ');
  summed text := (select string_agg(format('sum(%I)', one), ', ') from unnest(sums) as one);
  -- Rows are taken in the order of their key, so that no two transactions wait for each other.
  merge text := ' order by 1, 2, 3, 4, 5, 6
    on conflict (account_id, span, part, at, value, erased) do update set ' ||
    (select string_agg(format('%1$I = s.%1$I + excluded.%1$I', one), ', ') from unnest(sums) as one);
  target text := 'insert into usage_sums as s (account_id, span, part, at, value, erased, ' ||
    names || ')';
  -- `%s` gives the calls, each with a sign and whether it counts as erased.
  counting text := $sql$with calls as (
      select account_id, date_trunc('hour', created_at, 'UTC') as hour, erased, vendor,
        left(vendor || '/' || model, 256) as model, api_key_id,
        case when erased then '' else coalesce(app, '') end as app,
        sum(sign) as calls,
        coalesce(sum(sign) filter (where status = 'failed'), 0) as failed,
        coalesce(sum(sign) filter (where status = 'truncated'), 0) as truncated,
        coalesce(sum(sign) filter (where status = 'cancelled'), 0) as cancelled,
        coalesce(sum(sign) filter (where status = 'interrupted'), 0) as interrupted,
        coalesce(sum(sign * input_tokens::numeric), 0) as input_tokens,
        coalesce(sum(sign * cache_read_tokens::numeric), 0) as cache_read_tokens,
        coalesce(sum(sign * cache_write_tokens::numeric), 0) as cache_write_tokens,
        coalesce(sum(sign * output_tokens::numeric), 0) as output_tokens,
        coalesce(sum(sign * reasoning_tokens::numeric), 0) as reasoning_tokens,
        coalesce(sum(sign * cost_nanos::numeric), 0) as cost_nanos,
        coalesce(sum(sign * charged_nanos::numeric), 0) as charged_nanos,
        coalesce(sum(sign * cost_nanos::numeric) filter (where mode <> 'managed'), 0)
          as own_key_nanos,
        coalesce(sum(sign) filter (where cost_nanos is null and billing_basis <> 'none'), 0)
          as unpriced,
        coalesce(sum(sign * ('1' || repeat('0', 10 * latency_interval(latency_ms)))::numeric)
          filter (where status = 'completed'), 0) as latencies
      from %s group by 1, 2, 3, 4, 5, 6, 7
    ) $sql$ || target || $sql$
    select account_id, span, part, date_trunc(span, hour, 'UTC'), value, erased, $sql$ || summed ||
    $sql$ from calls cross join (values ('hour'), ('day')) as spans (span)
      cross join lateral (values ('all', ''), ('vendor', vendor), ('model', model),
        ('api_key', api_key_id), ('app', app)) as parts (part, value)
    group by 1, 2, 3, 4, 5, 6 $sql$ || merge;
begin
  execute format($f$create function count_added_usage() returns trigger language plpgsql as $t$
    begin
      %s;
      return null;
    end $t$ $f$, format(counting, '(select 1 as sign, false as erased, a.* from added a) as c'));
  -- Prices and charges are corrected, later.
  execute format($f$create function count_changed_usage() returns trigger language plpgsql as $t$
    begin
      %s;
      return null;
    end $t$ $f$, format(counting, '(select 1 as sign, false as erased, a.* from added a
      union all select -1, false, g.* from gone g) as c'));
  execute format($f$create function count_erased_usage() returns trigger language plpgsql as $t$
    begin
      %s;
      -- Names of apps that no call bears any more.
      delete from usage_sums s
      using (select distinct account_id, date_trunc('hour', created_at, 'UTC') as hour from gone) g
      where s.account_id = g.account_id and s.calls = 0
        and (s.span, s.at) in (('hour', g.hour), ('day', date_trunc('day', g.hour, 'UTC')));
      return null;
    end $t$ $f$, format(counting, '(select w.sign, w.erased, g.* from gone g
      cross join (values (-1, false), (1, true)) as w (sign, erased)) as c'));
  -- Calls that were charged and never stored, since they had been erased while under way.
  execute format($f$create function count_unstored_usage(unstored json) returns void language plpgsql as $t$
    begin
      %s;
    end $t$ $f$, format(counting, '(select 1 as sign, true as erased, r.*
      from json_to_recordset(unstored) as r (account_id bigint, created_at timestamptz, vendor text,
        model text, api_key_id text, app text, mode text, status text, billing_basis text,
        input_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint,
        output_tokens bigint, reasoning_tokens bigint, cost_nanos bigint, charged_nanos bigint,
        latency_ms bigint)) as c'));
  -- What stands for calls of before `until`, the beginning of a day, whose partitions are dropped.
  execute format($f$create function erase_usage_sums(until timestamptz) returns void language plpgsql as $t$
    begin
      %s select account_id, span, part, at, case when part = 'app' then '' else value end, true, %s
      from usage_sums where not erased and at < until group by 1, 2, 3, 4, 5, 6 %s;
      delete from usage_sums where not erased and at < until;
    end $t$ $f$, target, summed, merge);

  -- Who writes calls at this moment waits from here until all that is there is counted.
  lock table interactions in share row exclusive mode;
  execute format(counting, '(select 1 as sign, false as erased, i.* from interactions i) as c');
end $make$;

create function watch_usage(calls regclass) returns void language plpgsql as $$
begin
  execute format('create trigger count_added_usage after insert on %s
    referencing new table as added for each statement execute function count_added_usage()', calls);
  execute format('create trigger count_changed_usage after update on %s
    referencing old table as gone new table as added
    for each statement execute function count_changed_usage()', calls);
  execute format('create trigger count_erased_usage after delete on %s
    referencing old table as gone for each statement execute function count_erased_usage()', calls);
end
$$;

select watch_usage('interactions');
-- A statement that names a partition runs that one's triggers alone.
select watch_usage(inhrelid::regclass) from pg_inherits where inhparent = 'interactions'::regclass;

create or replace function open_month(at timestamptz) returns void language plpgsql as $$
declare
  first_day timestamptz := date_trunc('month', at, 'UTC');
  next_day timestamptz := (first_day at time zone 'UTC' + interval '1 month') at time zone 'UTC';
  parent text;
  part text;
begin
  perform pg_advisory_xact_lock(7305112604912);
  foreach parent in array array['interactions', 'interaction_payloads'] loop
    part := parent || to_char(first_day at time zone 'UTC', '_YYYY_MM');
    if to_regclass(part) is null then
      execute format('create table %I (like %I including all)', part, parent);
      if parent = 'interactions' then
        perform watch_usage(part::regclass);
      end if;
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent, part, first_day, next_day);
    end if;
  end loop;
end
$$;
