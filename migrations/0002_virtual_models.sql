-- phase: expand
--
-- Virtual models of accounts: names that stand for several vendors' models (docs/routing.md). The
-- row of a removed one stays without its definition for an hour, so that other processes learn of
-- the removal.
create table virtual_models (
  account_id bigint not null references accounts (id),
  name text not null,
  -- JSON: models by the names that were written, their weights, fallbacks and stickiness.
  definition text,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (account_id, name)
);

create index virtual_models_updated_at on virtual_models (updated_at);
