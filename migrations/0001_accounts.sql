-- Who pays: owns keys, credit, limits and records.
create table accounts (
  id bigint generated always as identity primary key,
  name text not null unique,
  tier text not null check (tier in ('free', 'pro', 'enterprise')),
  requests_per_minute bigint not null check (requests_per_minute > 0),
  burst bigint not null check (burst > 0),
  created_at timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp()
);

create index accounts_changed_at on accounts (changed_at);
