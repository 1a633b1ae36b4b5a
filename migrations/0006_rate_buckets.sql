-- One token bucket per account; levels in 1/60,000 of a token, times in milliseconds since 1970 by
-- the database's clock. Written by compare-and-swap on `version`.
create table rate_buckets (
  account_id bigint primary key references accounts (id),
  version bigint not null,
  level bigint not null,
  settled_at_ms bigint not null,
  -- Processes that hold tokens of this bucket, as JSON (src/domain/rate_bucket.ts, Holder).
  holders text not null,
  -- Set by a change of tier: whoever comes next fills the bucket.
  fill boolean not null default false
);

-- When a process was last in touch with the database; who is silent lives on its share of the rate.
create table rate_processes (
  process text primary key,
  heard_at_ms bigint not null
);
