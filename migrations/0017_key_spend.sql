-- phase: expand
--
-- What capped keys were charged, by day of UTC: a sum of `key_charges` that no cap has to add up
-- again, each second, over all calls of a month. Kept by triggers, since a process of the version
-- before writes charges without knowing of it.
create table key_spend (
  api_key_id text not null,
  day timestamptz not null,
  charged_nanos numeric not null,
  primary key (api_key_id, day)
) with (fillfactor = 50);

-- Rows are locked in the order of their key, so that no two transactions wait for each other.
create function add_key_spend() returns trigger language plpgsql as $$
begin
  insert into key_spend as s (api_key_id, day, charged_nanos)
  select api_key_id, date_trunc('day', created_at, 'UTC'), sum(charged_nanos) from added
  group by 1, 2 order by 1, 2
  on conflict (api_key_id, day)
    do update set charged_nanos = s.charged_nanos + excluded.charged_nanos;
  return null;
end
$$;

create function take_key_spend() returns trigger language plpgsql as $$
begin
  insert into key_spend as s (api_key_id, day, charged_nanos)
  select api_key_id, date_trunc('day', created_at, 'UTC'), -sum(charged_nanos) from gone
  group by 1, 2 order by 1, 2
  on conflict (api_key_id, day)
    do update set charged_nanos = s.charged_nanos + excluded.charged_nanos;
  return null;
end
$$;

create function change_key_spend() returns trigger language plpgsql as $$
begin
  insert into key_spend as s (api_key_id, day, charged_nanos)
  select api_key_id, date_trunc('day', created_at, 'UTC'), sum(charged_nanos) from (
    select api_key_id, created_at, charged_nanos from added
    union all select api_key_id, created_at, -charged_nanos from gone
  ) as changes
  group by 1, 2 order by 1, 2
  on conflict (api_key_id, day)
    do update set charged_nanos = s.charged_nanos + excluded.charged_nanos;
  return null;
end
$$;

-- From here on writers of charges wait until this step is committed: none is missed below.
create trigger add_key_spend after insert on key_charges
  referencing new table as added for each statement execute function add_key_spend();
create trigger take_key_spend after delete on key_charges
  referencing old table as gone for each statement execute function take_key_spend();
create trigger change_key_spend after update on key_charges
  referencing old table as gone new table as added
  for each statement execute function change_key_spend();

insert into key_spend (api_key_id, day, charged_nanos)
select api_key_id, date_trunc('day', created_at, 'UTC'), sum(charged_nanos) from key_charges
group by 1, 2;
