-- Requests to erase records. A row stays as the receipt, without what was asked for in clear.
create table deletions (
  deletion_id text primary key,
  account_id bigint not null,
  state text not null check (state in ('queued', 'running', 'done', 'failed')),
  -- JSON text of the selectors; null once done, and for one that is applied again.
  selectors text,
  selectors_hash text not null,
  reason text,
  requested_at timestamptz not null,
  -- What was there when it was asked for.
  expected_count bigint,
  -- Rows erased so far, of each table that callers know.
  interactions bigint not null default 0,
  eval_runs bigint not null default 0,
  eval_results bigint not null default 0,
  -- When the erased rows were made: exports of that time may hold them.
  erased_from timestamptz,
  erased_to timestamptz,
  attempts integer not null default 0,
  -- The process that is at it, and until when it is believed to live.
  holder text,
  held_until timestamptz,
  completed_at timestamptz
);

create index deletions_waiting on deletions (requested_at) where completed_at is null;

-- What must not be written any more: calls that were under way, journals and backups that come
-- back. Kept for good; ids of people and sessions only as salted hashes. They stand in every
-- database that holds records, since each transaction that writes some looks here.
create table tombstones (
  deletion_id text primary key,
  -- In the order of commits: whoever writes one holds the lock of erasures.
  seq bigint generated always as identity,
  account_id bigint not null,
  tables text[] not null,
  -- Calls that arrived later are others.
  before timestamptz not null,
  start_at timestamptz,
  end_at timestamptz,
  transaction_ids text[],
  salt text not null,
  session_hashes text[],
  user_hashes text[],
  selectors_hash text not null
);

create unique index tombstones_by_seq on tombstones (seq);
create index tombstones_by_before on tombstones (before);

-- Calls erased of late: other processes forget what they remember of them, and answers that
-- continue them are not kept.
create table erased_calls (
  transaction_id text primary key,
  seq bigint generated always as identity,
  erased_at timestamptz not null default clock_timestamp()
);

create unique index erased_calls_by_seq on erased_calls (seq);
create index erased_calls_by_time on erased_calls (erased_at);

-- The calls whose text stands in the input items, beside the response's own: erased with them.
alter table kept_responses add column sources text[] not null default '{}';
create index kept_responses_sources on kept_responses using gin (sources);

-- Whether erased text may still be in the files of this database: at most one row.
create table scrubs (
  id integer primary key check (id = 1),
  -- Grows with each erasure, so that one that comes during a scrub is not taken for done.
  version bigint not null,
  due_since timestamptz,
  -- Partitions that rows were erased from.
  relations text[] not null,
  scrubbed_at timestamptz
);
