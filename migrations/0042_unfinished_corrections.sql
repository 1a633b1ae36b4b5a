-- phase: expand
--
-- What the rows of calls in a database of their own are still to become, as the ledger here has it
-- already: a correction or refund that is cut between the two databases is finished by a job. Null:
-- stays as it is. Whoever has written a row removes the revision that it wrote, and no later one.
create table unfinished_corrections (
  transaction_id text primary key,
  account_id bigint not null references accounts (id),
  charged_nanos bigint not null,
  cost_nanos bigint,
  price_version text,
  revision uuid not null default gen_random_uuid()
);
