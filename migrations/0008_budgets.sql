-- phase: expand
--
-- Budgets above keys (docs/keys-and-credit.md): what an account, one of its apps or one of its end
-- users may spend in a day or a month of UTC. Processes hold parts of a period as leases, as they do
-- of balances. All tables are new: a process of the version before neither holds nor counts.

create table budgets (
  id text primary key,
  account_id bigint not null references accounts (id),
  scope text not null check (scope in ('account', 'app', 'user')),
  -- The app or the end user; empty for the account, and once the budget is removed.
  name text not null,
  per text not null check (per in ('day', 'month')),
  limit_nanos bigint not null check (limit_nanos >= 0),
  -- Until then the limit is the raised one.
  raised_nanos bigint check (raised_nanos >= 0),
  raised_until timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  -- The row stays for an hour, so that other processes learn of the removal.
  removed_at timestamptz,
  check ((raised_nanos is null) = (raised_until is null))
);

create unique index budgets_once on budgets (account_id, scope, name, per)
  where removed_at is null;
-- Processes ask for what has changed since they last asked.
create index budgets_changed_at on budgets (changed_at);

-- The sums of a budget's period, written in the same transaction as each charge and each lease.
create table budget_periods (
  budget_id text not null references budgets (id) on delete cascade,
  starts_at timestamptz not null,
  spent_nanos bigint not null default 0,
  leased_nanos bigint not null default 0 check (leased_nanos >= 0),
  -- The highest of 80, 95 and 100 that webhooks were notified of.
  notified_percent integer not null default 0,
  primary key (budget_id, starts_at)
);

create index budget_periods_by_start on budget_periods (starts_at);

-- Parts of periods that processes hold; their sum per period is leased_nanos above.
create table budget_leases (
  id text primary key,
  budget_id text not null,
  starts_at timestamptz not null,
  process_id text not null,
  amount_nanos bigint not null check (amount_nanos >= 0),
  in_flight_nanos bigint not null default 0,
  -- A process has one operation on a lease at a time: a repeat of the last one is done once.
  operation_id text not null,
  granted_nanos bigint not null,
  expires_at timestamptz not null,
  foreign key (budget_id, starts_at) references budget_periods (budget_id, starts_at)
    on delete cascade
);

create index budget_leases_by_period on budget_leases (budget_id, starts_at);
create index budget_leases_by_process on budget_leases (process_id);

-- What calls were charged that budgets cover. Apart from interactions, whose erasure must not give
-- spend back; without anything that tells whose call it was.
create table budget_charges (
  transaction_id text not null,
  budget_id text not null,
  starts_at timestamptz not null,
  charged_nanos bigint not null,
  primary key (transaction_id, budget_id),
  foreign key (budget_id, starts_at) references budget_periods (budget_id, starts_at)
    on delete cascade
);

create index budget_charges_by_period on budget_charges (budget_id, starts_at);
