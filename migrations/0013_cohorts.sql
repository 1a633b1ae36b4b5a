-- What callers say became of a cohort: one row per item posted. The cohort's calls are the
-- interactions with the same cohort_id; either may come first.
create table cohort_outcomes (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  cohort_id text not null,
  type text not null,
  label text,
  -- Billionths of whatever the item counts: of a dollar, of a click.
  value_nanos bigint not null,
  -- The caller's own id of the item, under which it counts once.
  item_id text,
  api_key_id text not null,
  -- X-Request-ID of the post and a hash of what it said: a repeat adds nothing.
  request_id text not null,
  request_hash text not null,
  created_at timestamptz not null default clock_timestamp()
);

create index cohort_outcomes_by_cohort on cohort_outcomes (account_id, cohort_id);
create index cohort_outcomes_by_request on cohort_outcomes (account_id, request_id);
create unique index cohort_outcomes_once on cohort_outcomes (account_id, cohort_id, item_id)
  where item_id is not null;

-- How a run of an evaluation is going: who works on it, whether it waits, and why it ended.
alter table eval_runs
  add column request_id text,
  add column request_hash text,
  -- One attempt at working on it, by one process, and how long it holds without being renewed.
  add column claim_id text,
  add column claimed_by text,
  add column claimed_until timestamptz,
  -- It waits until then, for this reason, and has waited since.
  add column next_at timestamptz,
  add column waiting_for text,
  add column waiting_since timestamptz,
  add column error_code text,
  add column error_message text,
  add column finished_at timestamptz;

create index eval_runs_unfinished on eval_runs (created_at) where state in ('queued', 'running');
create index eval_runs_by_request on eval_runs (account_id, request_id);

-- The call that a judge made; like answer_transaction_id it holds the words of the stored one.
alter table eval_results add column judge_transaction_id text;

-- The stored interactions that a run is about, chosen when it was asked for.
create table eval_items (
  eval_run_id text not null references eval_runs (eval_run_id) on delete cascade,
  position integer not null,
  transaction_id text not null,
  transaction_created_at timestamptz not null,
  -- Calls begun for it; a process that takes over looks for the answer of an earlier one.
  attempts integer not null default 0,
  -- Null as long as it is to be done.
  outcome text check (outcome in ('passed', 'failed', 'skipped', 'error')),
  reason text,
  primary key (eval_run_id, position)
);

create index eval_items_to_do on eval_items (eval_run_id, position) where outcome is null;
create index eval_items_transaction_id on eval_items (transaction_id);
