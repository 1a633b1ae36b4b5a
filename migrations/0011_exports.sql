-- Exports in job and bucket form. The file stands in DATA_DIR (embedded database), in export_chunks
-- (PostgreSQL, where any replica must be able to give it) or in the operator's bucket.
create table export_jobs (
  request_id text primary key,
  account_id bigint not null references accounts (id),
  place text not null check (place in ('files', 'chunks', 'bucket')),
  format text not null check (format in ('json', 'csv')),
  tables text[] not null,
  -- Half-open; null: unbounded.
  start_at timestamptz,
  end_at timestamptz,
  -- JSON text: filters and the like. Emptied when the job has ended: it may name people.
  detail text not null,
  -- What the store held when it was asked for: a pg_snapshot and its time.
  snapshot text not null,
  state text not null check (state in ('queued', 'running', 'ready', 'failed', 'deleted', 'removed')),
  -- Counts the attempts. An attempt that is not the last one any more can write nothing.
  claim integer not null default 0,
  -- A running job that nobody renews is anybody's from then on.
  lease_until timestamptz,
  failures integer not null default 0,
  not_before timestamptz not null default clock_timestamp(),
  bytes_size bigint not null default 0,
  -- There may be a file, or parts of one, of some attempt.
  has_file boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);

create index export_jobs_by_account on export_jobs (account_id, created_at);
create index export_jobs_waiting on export_jobs (not_before) where state in ('queued', 'running');
create index export_jobs_expires_at on export_jobs (expires_at);

-- Pieces of one size, but for the last.
create table export_chunks (
  request_id text not null references export_jobs (request_id) on delete cascade,
  claim integer not null,
  position integer not null,
  bytes bytea not null,
  primary key (request_id, claim, position)
);

-- Compressing them takes as long as writing them, and parts of them are read alone.
alter table export_chunks alter column bytes set storage external;
