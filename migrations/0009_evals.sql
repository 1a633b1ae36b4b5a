-- Evaluations: a run asks a model again what stored interactions asked, and graders judge the answers.
create table eval_runs (
  eval_run_id text primary key,
  created_at timestamptz not null,
  account_id bigint not null references accounts (id),
  api_key_id text not null,
  name text,
  model text not null,
  -- JSON text as the caller sent it.
  filters text not null,
  graders text not null,
  state text not null check (state in ('queued', 'running', 'done', 'failed', 'cancelled')),
  -- JSON text: figures of the run so far.
  counts text not null
);

create index eval_runs_by_time on eval_runs (account_id, created_at, eval_run_id);

-- One row per stored interaction and grader. Erased with the interaction it is drawn from.
create table eval_results (
  eval_run_id text not null,
  created_at timestamptz not null,
  account_id bigint not null references accounts (id),
  -- The stored interaction.
  transaction_id text not null,
  -- The call that was made for it.
  answer_transaction_id text,
  -- Of the stored interaction.
  session_id text,
  user_id text,
  -- Position of the grader in the run's list.
  grader_index integer not null,
  -- JSON text of the grader.
  grader text not null,
  passed boolean,
  score double precision,
  detail text,
  primary key (eval_run_id, transaction_id, grader_index)
);

create index eval_results_by_time on eval_results (account_id, created_at, eval_run_id);
create index eval_results_transaction_id on eval_results (transaction_id);
