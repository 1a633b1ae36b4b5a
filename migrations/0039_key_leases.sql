-- phase: expand
--
-- Parts of keys' spend caps that processes hold, as they do of balances and budgets. What is left of
-- a cap is its limit without `key_spend`, which processes of the version before write too, and
-- without these leases.
create table key_leases (
  id text primary key,
  api_key_id text not null,
  -- The cap, and the day or month of UTC.
  per text not null check (per in ('day', 'month')),
  starts_at timestamptz not null,
  process_id text not null,
  amount_nanos bigint not null check (amount_nanos >= 0),
  in_flight_nanos bigint not null default 0,
  -- A process has one operation on a lease at a time: a repeat of the last one is done once.
  operation_id text not null,
  granted_nanos bigint not null,
  expires_at timestamptz not null
);

create index key_leases_by_period on key_leases (api_key_id, per, starts_at);
create index key_leases_by_process on key_leases (process_id);
