-- Answers that are given again to who repeats a request, and claims of requests under way. One row
-- per X-Request-ID used on a path; no text of the request is kept, only its hash.
create table replays (
  -- SHA-256 over account, method, path and X-Request-ID: paths are of any length.
  key text primary key,
  account_id bigint not null references accounts (id),
  fingerprint text not null,
  -- One attempt at answering, and the process that makes it.
  claim_id text not null,
  holder text not null,
  -- A claim: how long it holds without being renewed. An answer: how long it is given again.
  until timestamptz not null,
  -- Null as long as the request is under way.
  status integer,
  headers text,
  body bytea,
  streamed boolean,
  transaction_id text
);

-- Trying to compress whole answers takes as long as writing them.
alter table replays alter column body set storage external;

create index replays_until on replays (until);

create index replays_transaction_id on replays (transaction_id);

-- What calls with capped keys cost. Apart from interactions, whose erasure must not give spend back.
create table key_charges (
  transaction_id text primary key,
  api_key_id text not null,
  created_at timestamptz not null,
  charged_nanos bigint not null
);

create index key_charges_by_time on key_charges (api_key_id, created_at) include (charged_nanos);
