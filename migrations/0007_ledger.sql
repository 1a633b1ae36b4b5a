-- Credit, in nano-dollars. Entries are only ever added: the balance is the sum of amount_nanos
-- (grant, settle, adjust), and what processes hold is the sum of leased_nanos (lease, release, and
-- the part of a settle that comes out of a lease).
create table ledger_entries (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  kind text not null check (kind in ('grant', 'settle', 'adjust', 'lease', 'release')),
  amount_nanos bigint not null,
  leased_nanos bigint not null,
  -- A settle names its call; a call is settled at most once.
  interaction_id text,
  lease_id text,
  -- Named by whoever may have to repeat an operation whose outcome it never learned.
  operation_id text unique,
  note text,
  created_at timestamptz not null default clock_timestamp(),
  check (kind not in ('lease', 'release') or amount_nanos = 0),
  check (kind <> 'settle' or interaction_id is not null),
  check (kind not in ('grant', 'adjust') or leased_nanos = 0)
);

create unique index ledger_settles_once on ledger_entries (interaction_id) where kind = 'settle';
create index ledger_entries_by_account on ledger_entries (account_id, id);

-- The sums, kept in the same transaction as each entry. Every change locks the account's row first,
-- in the order of account ids.
create table account_balances (
  account_id bigint primary key references accounts (id),
  balance_nanos bigint not null,
  leased_nanos bigint not null check (leased_nanos >= 0)
);

-- Parts of balances that processes hold; their sum per account is leased_nanos above.
create table leases (
  id text primary key,
  account_id bigint not null references accounts (id),
  process_id text not null,
  amount_nanos bigint not null check (amount_nanos >= 0),
  -- What calls under way have reserved of it, as the process last said; for people to read.
  in_flight_nanos bigint not null default 0,
  expires_at timestamptz not null
);

create index leases_by_account on leases (account_id);
create index leases_by_process on leases (process_id);
