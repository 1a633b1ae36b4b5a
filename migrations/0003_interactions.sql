-- One row per call to a vendor; small, so that lists and sums stay fast. Payloads stand apart.
create table interactions (
  transaction_id text not null,
  created_at timestamptz not null,
  request_id text not null,
  session_id text,
  user_id text,
  account_id bigint not null references accounts (id),
  api_key_id text not null,
  app text,
  flow text,
  cohort_id text,
  endpoint text not null,
  dialect text not null,
  vendor text not null,
  model text not null,
  requested_model text not null,
  mode text not null,
  stream boolean not null,
  status text not null,
  http_status integer,
  error_code text,
  finish_reason text,
  input_tokens bigint,
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  output_tokens bigint,
  reasoning_tokens bigint,
  total_tokens bigint,
  cost_nanos bigint,
  charged_nanos bigint not null,
  billing_basis text not null,
  price_version text,
  usage_raw text,
  translation_loss text[] not null,
  latency_ms bigint not null,
  time_to_first_token_ms bigint,
  payload_truncated boolean not null,
  primary key (transaction_id, created_at)
);

create index interactions_by_time on interactions (account_id, created_at, transaction_id);

-- JSON text as the caller sent and received it: jsonb would change numbers and refuse \u0000.
create table interaction_payloads (
  transaction_id text not null,
  created_at timestamptz not null,
  request text,
  response text,
  primary key (transaction_id, created_at)
);
