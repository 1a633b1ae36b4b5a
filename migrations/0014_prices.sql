-- What a call's cost was computed from: counts and tiers that the other columns don't tell apart
-- (cache writes by lifetime, audio, searches, service tier), so that it can be priced again.
alter table interactions add column priced_usage text;

-- What the ledger holds for calls whose charge was corrected. It stands beside the ledger, which
-- may be in another database than the calls: a correction that was cut between the two is
-- finished by the next, not made twice.
create table corrected_charges (
  interaction_id text primary key,
  account_id bigint not null references accounts (id),
  charged_nanos bigint not null,
  corrected_at timestamptz not null default clock_timestamp()
);

-- The prices behind the versions in records; a row is written when it is first seen.
create table price_versions (
  version text primary key,
  label text not null,
  model text not null,
  fields text not null,
  source text not null,
  checked_on text,
  first_seen_at timestamptz not null default clock_timestamp()
);

-- All that was adjusted for a call, when its charge is given back.
create index ledger_adjusts_by_interaction on ledger_entries (interaction_id)
  where kind = 'adjust';
