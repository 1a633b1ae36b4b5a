-- Usage rows and payloads in partitions of one month each (UTC), so that what is too old goes with
-- its partition. Rows refer to no account: they may stand in a database of their own
-- (ANALYTICS_DATABASE_URL), where there are no accounts.
alter table interactions rename to interactions_before;
alter table interactions_before rename constraint interactions_pkey to interactions_before_pkey;
alter index interactions_by_time rename to interactions_before_by_time;
alter table interaction_payloads rename to interaction_payloads_before;
alter table interaction_payloads_before
  rename constraint interaction_payloads_pkey to interaction_payloads_before_pkey;

create table interactions (
  transaction_id text not null,
  created_at timestamptz not null,
  request_id text not null,
  session_id text,
  user_id text,
  account_id bigint not null,
  api_key_id text not null,
  app text,
  flow text,
  cohort_id text,
  endpoint text not null,
  dialect text not null,
  vendor text not null,
  model text not null,
  requested_model text not null,
  mode text not null,
  stream boolean not null,
  status text not null,
  http_status integer,
  error_code text,
  finish_reason text,
  input_tokens bigint,
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  output_tokens bigint,
  reasoning_tokens bigint,
  total_tokens bigint,
  cost_nanos bigint,
  charged_nanos bigint not null,
  billing_basis text not null,
  price_version text,
  usage_raw text,
  translation_loss text[] not null,
  latency_ms bigint not null,
  time_to_first_token_ms bigint,
  payload_truncated boolean not null,
  primary key (transaction_id, created_at)
) partition by range (created_at);

-- Lists are read by account in the order of time. What a list may narrow down to few rows has an
-- index of its own, which rows without that label don't pay for.
create index interactions_by_time on interactions (account_id, created_at, transaction_id);
create index interactions_by_session on interactions (account_id, session_id, created_at)
  where session_id is not null;
create index interactions_by_user on interactions (account_id, user_id, created_at)
  where user_id is not null;
create index interactions_by_cohort on interactions (account_id, cohort_id, created_at)
  where cohort_id is not null;
create index interactions_by_key on interactions (account_id, api_key_id, created_at);
create index interactions_by_vendor on interactions (account_id, vendor, created_at);
create index interactions_by_model on interactions (account_id, model, created_at);
create index interactions_by_app on interactions (account_id, app, created_at)
  where app is not null;
create index interactions_by_flow on interactions (account_id, flow, created_at)
  where flow is not null;
create index interactions_by_own_key on interactions (account_id, mode, created_at)
  where mode <> 'managed';
create index interactions_by_failure on interactions (account_id, status, created_at)
  where status <> 'completed';

create table interaction_payloads (
  transaction_id text not null,
  created_at timestamptz not null,
  -- JSON text as the caller sent and received it, large media taken out.
  request text,
  response text,
  primary key (transaction_id, created_at)
) partition by range (created_at);

-- Makes the partitions of the month that a time lies in, where they are missing. A table that is
-- attached, unlike one that is created as a partition, waits for no reader.
create function open_month(at timestamptz) returns void language plpgsql as $$
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
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent, part, first_day, next_day);
    end if;
  end loop;
end
$$;

select open_month(months.at) from (
  select date_trunc('month', created_at, 'UTC') as at from interactions_before
  union
  select date_trunc('month', created_at, 'UTC') from interaction_payloads_before
  union
  select date_trunc('month', now() + ahead * interval '1 month', 'UTC')
  from generate_series(0, 2) as ahead
) as months;

insert into interactions select * from interactions_before;
insert into interaction_payloads select * from interaction_payloads_before;
drop table interactions_before;
drop table interaction_payloads_before;

-- Large media of payloads: the bytes once, whoever sent them.
create table media (
  sha256 text primary key,
  bytes bigint not null,
  content bytea not null
);

-- Pictures and sound are compressed already, and parts of them are read alone.
alter table media alter column content set storage external;

-- Which payload names which media; they let an account see the bytes, with the type that it gave.
create table media_refs (
  transaction_id text not null,
  created_at timestamptz not null,
  account_id bigint not null,
  sha256 text not null,
  mime_type text not null,
  primary key (transaction_id, created_at, sha256)
);

create index media_refs_by_account on media_refs (account_id, sha256);
create index media_refs_by_media on media_refs (sha256);
create index media_refs_by_time on media_refs (created_at);

-- Whoever deletes a payload deletes what it names, and whoever deletes the last name the bytes.
create function forget_media_refs() returns trigger language plpgsql as $$
begin
  delete from media_refs using gone
  where media_refs.transaction_id = gone.transaction_id
    and media_refs.created_at = gone.created_at;
  return null;
end
$$;

create trigger forget_media_refs after delete on interaction_payloads
  referencing old table as gone for each statement execute function forget_media_refs();

create function forget_media() returns trigger language plpgsql as $$
begin
  -- Writers hold what they are about to name; the statement after this one sees what they named.
  perform from media where sha256 in (select sha256 from gone) order by sha256 for update;
  delete from media where sha256 in (select sha256 from gone)
    and not exists (select from media_refs where media_refs.sha256 = media.sha256);
  return null;
end
$$;

create trigger forget_media after delete on media_refs
  referencing old table as gone for each statement execute function forget_media();

-- What retention deletes by its age.
create index kept_responses_by_time on kept_responses (created_at);
create index kept_reasoning_by_time on kept_reasoning (created_at);
