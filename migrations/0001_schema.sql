-- phase: expand
--
-- The whole schema of the first release, grouped by subject: schema changes · accounts and keys ·
-- people and the dashboard · credit and prices · rate limits and repeats · calls, payloads and media
-- · conversations · sums of calls · cohorts and evaluations · exports · erasure.
--
-- Accounts and money stand in the main database. Calls, payloads, media, sums and tombstones may
-- stand in one of their own (ANALYTICS_DATABASE_URL), which has the same tables and leaves the others
-- empty; these tables therefore refer to no account. JSON that callers sent is kept as text: jsonb
-- would change numbers and refuse \u0000.

-- ── Schema changes ─────────────────────────────────────────────────────────────────────────────

-- Backfills of migrations (`-- phase: backfill`): how far each has come. A batch and its progress
-- are one transaction, so that a cut one goes on where it was.
create table schema_backfills (
  version integer primary key,
  name text not null,
  -- Where the last batch ended, in the backfill's own words; empty before the first.
  position text not null default '',
  rows_done bigint not null default 0,
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);

-- ── Accounts and keys ──────────────────────────────────────────────────────────────────────────

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

-- Processes ask for what has changed since they last asked.
create index accounts_changed_at on accounts (changed_at);

-- Service keys; the value itself is never stored, only its SHA-256.
create table api_keys (
  id text primary key,
  account_id bigint not null references accounts (id),
  name text not null,
  prefix text not null,
  hash text not null unique,
  scopes text[] not null,
  models text[] not null,
  on_disconnect text not null check (on_disconnect in ('cancel', 'drain')),
  translation_mode text not null check (translation_mode in ('default', 'strict', 'lenient')),
  -- Whether calls to a vendor whose prompt cache wants marks get some if they carry none.
  prompt_cache boolean not null default true,
  cap_day_nanos bigint,
  cap_month_nanos bigint,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,
  changed_at timestamptz not null default clock_timestamp()
);

create index api_keys_account_id on api_keys (account_id);
create index api_keys_changed_at on api_keys (changed_at);

-- What the dashboard knows of a key beside the key itself.
create table api_key_notes (
  api_key_id text primary key references api_keys (id),
  environment text not null,
  -- The key that this one was made to replace.
  replaces text unique references api_keys (id),
  -- Who made it at the dashboard; null for the command line. No reference: people who are removed
  -- are forgotten, and their keys stay.
  made_by text
);

create index api_key_notes_by_maker on api_key_notes (made_by) where made_by is not null;

-- Which master key seals the vendor keys of this database: at most one row. The fingerprint is an
-- HMAC under that key; it tells keys apart and gives none away.
create table master_key (
  id integer primary key check (id = 1),
  -- Grows with each rotation.
  version bigint not null,
  fingerprint text not null,
  changed_at timestamptz not null default clock_timestamp()
);

-- Vendor keys of accounts, stored sealed only. The row of a removed key stays without its value, so
-- that other processes learn of the removal.
create table vendor_keys (
  account_id bigint not null references accounts (id),
  vendor text not null,
  -- Grows with each change of the value, not with a rotation of the master key.
  revision bigint not null default 1,
  sealed text,
  key_version bigint,
  last_four text not null,
  created_at timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  primary key (account_id, vendor),
  check ((sealed is null) = (key_version is null))
);

create index vendor_keys_changed_at on vendor_keys (changed_at);

-- ── People and the dashboard ───────────────────────────────────────────────────────────────────

-- Who signs in to the dashboard: one row per person of an identity provider.
create table people (
  id text primary key,
  -- The provider, and its name for the person; e-mail addresses change hands, these don't.
  issuer text not null,
  subject text not null,
  -- Null unless the provider says that it is verified.
  email text,
  name text not null,
  created_at timestamptz not null,
  signed_in_at timestamptz not null,
  unique (issuer, subject)
);

-- What a person may do in an account.
create table memberships (
  account_id bigint not null references accounts (id),
  person_id text not null references people (id),
  role text not null check (role in ('owner', 'member', 'viewer')),
  created_at timestamptz not null,
  primary key (account_id, person_id)
);

create index memberships_by_person on memberships (person_id);

-- Open invitations; accepted and withdrawn ones are deleted (the audit log has both).
create table invitations (
  id text primary key,
  account_id bigint not null references accounts (id),
  -- In lower case.
  email text not null,
  role text not null check (role in ('owner', 'member', 'viewer')),
  token_hash text not null unique,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  unique (account_id, email)
);

create index invitations_by_email on invitations (email);

-- Sessions of browsers; the token itself is in the browser's cookie alone.
create table dashboard_sessions (
  token_hash text primary key,
  person_id text not null references people (id),
  -- The account that the person looks at.
  account_id bigint not null references accounts (id),
  created_at timestamptz not null,
  seen_at timestamptz not null,
  expires_at timestamptz not null
);

create index dashboard_sessions_by_person on dashboard_sessions (person_id);
create index dashboard_sessions_by_end on dashboard_sessions (expires_at);

-- Sign-ins under way; deleted when the provider sends the person back, so that each counts once.
create table sign_in_states (
  state_hash text primary key,
  return_to text not null,
  -- Hash of the claim link's or invitation's token that the sign-in began with.
  claim_hash text,
  invitation_hash text,
  -- JSON text: the provider's answer, while the person is asked for consent. Null before.
  identity text,
  expires_at timestamptz not null
);

create index sign_in_states_by_end on sign_in_states (expires_at);

-- Links that make the first owner; all are deleted when there is one.
create table claim_tokens (
  token_hash text primary key,
  expires_at timestamptz not null
);

-- Every administrative act: who, what, when. Never a secret.
create table audit_log (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  at timestamptz not null,
  -- Null for the operator's command line.
  person_id text,
  -- The person's name at that time.
  actor text not null,
  action text not null,
  subject text not null,
  detail text not null
);

create index audit_log_by_account on audit_log (account_id, id);
-- A deletion's outcome is noted under the name of who asked for it.
create index audit_log_by_deletion on audit_log (subject) where action = 'data.deleted';

-- ── Credit and prices (nano-dollars) ───────────────────────────────────────────────────────────

-- Entries are only ever added: the balance is the sum of amount_nanos (grant, settle, adjust), and
-- what processes hold is the sum of leased_nanos (lease, release, and the part of a settle that
-- comes out of a lease).
create table ledger_entries (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  kind text not null check (kind in ('grant', 'settle', 'adjust', 'lease', 'release')),
  amount_nanos bigint not null,
  leased_nanos bigint not null,
  -- A settle names its call; a call is settled at most once.
  interaction_id text,
  lease_id text,
  -- Makes an operation whose outcome was never learned safe to repeat.
  operation_id text unique,
  note text,
  created_at timestamptz not null default clock_timestamp(),
  check (kind not in ('lease', 'release') or amount_nanos = 0),
  check (kind <> 'settle' or interaction_id is not null),
  check (kind not in ('grant', 'adjust') or leased_nanos = 0)
);

create unique index ledger_settles_once on ledger_entries (interaction_id) where kind = 'settle';
create index ledger_entries_by_account on ledger_entries (account_id, id);
-- Grants and corrections, which lie far apart between the charges of calls.
create index ledger_credits on ledger_entries (account_id, id) where kind in ('grant', 'adjust');
-- All adjustments of a call, when its charge is refunded.
create index ledger_adjusts_by_interaction on ledger_entries (interaction_id)
  where kind = 'adjust';

-- The sums, written in the same transaction as each entry. Every change locks the account's row
-- first, in the order of account ids.
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

-- What calls with capped keys cost. Apart from interactions, whose erasure must not give spend back.
create table key_charges (
  transaction_id text primary key,
  api_key_id text not null,
  created_at timestamptz not null,
  charged_nanos bigint not null
);

create index key_charges_by_time on key_charges (api_key_id, created_at) include (charged_nanos);

-- What the ledger holds for calls whose charge was corrected. It stands beside the ledger, which may
-- be in another database than the calls: a correction that was cut between the two is finished by
-- the next, not made twice.
create table corrected_charges (
  interaction_id text primary key,
  account_id bigint not null references accounts (id),
  charged_nanos bigint not null,
  corrected_at timestamptz not null default clock_timestamp()
);

-- The prices behind the versions in records; a row is written when it is first seen.
create table price_versions (
  version text primary key,
  label text not null,
  model text not null,
  fields text not null,
  source text not null,
  checked_on text,
  first_seen_at timestamptz not null default clock_timestamp()
);

-- ── Rate limits and repeated requests ──────────────────────────────────────────────────────────

-- One token bucket per account; levels in 1/60,000 of a token, times in milliseconds since 1970 by
-- the database's clock. Written by compare-and-swap on `version`.
create table rate_buckets (
  account_id bigint primary key references accounts (id),
  version bigint not null,
  level bigint not null,
  settled_at_ms bigint not null,
  -- JSON text: the processes that hold tokens of this bucket.
  holders text not null,
  -- Set by a change of tier: the next process fills the bucket.
  fill boolean not null default false
);

-- When a process was last in touch with the database; a silent one lives on its share of the rate.
create table rate_processes (
  process text primary key,
  heard_at_ms bigint not null
);

-- Responses that a repeated request gets again, and claims of requests under way. One row per
-- X-Request-ID used on a path; no text of the request is kept, only its hash.
create table replays (
  -- SHA-256 over account, method, path and X-Request-ID: paths are of any length.
  key text primary key,
  account_id bigint not null references accounts (id),
  fingerprint text not null,
  -- One attempt at answering, and the process that makes it.
  claim_id text not null,
  holder text not null,
  -- A claim: how long it holds without being renewed. A response: how long it is given again.
  until timestamptz not null,
  -- Null as long as the request is under way.
  status integer,
  headers text,
  body bytea,
  streamed boolean,
  transaction_id text,
  -- A process that dies may leave a call in its journal as ended whose response was not stored yet:
  -- the repeated request takes over the claim and calls again. Both calls are then one request, and
  -- the one whose record is written first is charged. Earlier claims, oldest first:
  past_claims text[] not null default '{}',
  -- The claim whose call was charged.
  charged_claim text
);

-- Compressing whole responses takes as long as writing them.
alter table replays alter column body set storage external;

create index replays_until on replays (until);
create index replays_transaction_id on replays (transaction_id);

-- ── Calls, payloads and media ──────────────────────────────────────────────────────────────────

-- One row per call to a vendor; small, so that lists and sums stay fast (payloads stand apart).
-- Calls and payloads lie in partitions of one month each (UTC), so that what is too old goes with
-- its partition.
create table interactions (
  transaction_id text not null,
  created_at timestamptz not null,
  request_id text not null,
  session_id text,
  user_id text,
  account_id bigint not null,
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
  -- JSON text: the usage as the vendor reported it.
  usage_raw text,
  -- JSON text: what the cost was computed from and the other columns don't tell apart (cache writes
  -- by lifetime, audio, searches, service tier), so that it can be priced again.
  priced_usage text,
  translation_loss text[] not null,
  latency_ms bigint not null,
  time_to_first_token_ms bigint,
  payload_truncated boolean not null,
  -- JSON text: all requests to vendors; null where there was one.
  attempts text,
  primary key (transaction_id, created_at)
) partition by range (created_at);

-- Lists are read by account in the order of time. Each filter that leaves few rows has an index of
-- its own, which rows without that label don't pay for.
create index interactions_by_time on interactions (account_id, created_at, transaction_id);
create index interactions_by_session on interactions (account_id, session_id, created_at)
  where session_id is not null;
create index interactions_by_user on interactions (account_id, user_id, created_at)
  where user_id is not null;
create index interactions_by_cohort on interactions (account_id, cohort_id, created_at)
  where cohort_id is not null;
create index interactions_by_key on interactions (account_id, api_key_id, created_at);
create index interactions_by_vendor on interactions (account_id, vendor, created_at);
create index interactions_by_model on interactions (account_id, model, created_at);
create index interactions_by_app on interactions (account_id, app, created_at)
  where app is not null;
create index interactions_by_flow on interactions (account_id, flow, created_at)
  where flow is not null;
create index interactions_by_own_key on interactions (account_id, mode, created_at)
  where mode <> 'managed';
create index interactions_by_failure on interactions (account_id, status, created_at)
  where status <> 'completed';
-- Lists that a limit of cost or time narrows to few rows.
create index interactions_by_cost on interactions (account_id, cost_nanos)
  where cost_nanos is not null;
create index interactions_by_latency on interactions (account_id, latency_ms);

create table interaction_payloads (
  transaction_id text not null,
  created_at timestamptz not null,
  -- JSON text as the caller sent and received it, large media taken out.
  request text,
  response text,
  -- The texts' words, as hashes by account and span of time (src/records/search_tokens.ts), for
  -- search. In the payload's own row, so that whatever erases the one erases both.
  words bigint[],
  primary key (transaction_id, created_at)
) partition by range (created_at);

-- Every search also reads the words that are not sorted in yet: few may wait.
create index payloads_by_word on interaction_payloads using gin (words)
  with (gin_pending_list_limit = 1024);

-- Makes the partitions of the month that a time lies in, where they are missing. Attaching a table,
-- unlike creating it as a partition, waits for no reader.
create function open_month(at timestamptz) returns void language plpgsql as $$
declare
  first_day timestamptz := date_trunc('month', at, 'UTC');
  next_day timestamptz := (first_day at time zone 'UTC' + interval '1 month') at time zone 'UTC';
  parent text;
  part text;
begin
  perform pg_advisory_xact_lock(7305112604912);
  foreach parent in array array['interactions', 'interaction_payloads'] loop
    part := parent || to_char(first_day at time zone 'UTC', '_YYYY_MM');
    if to_regclass(part) is null then
      execute format('create table %I (like %I including all)', part, parent);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent, part, first_day, next_day);
    end if;
  end loop;
end
$$;

select open_month(now() + ahead * interval '1 month') from generate_series(0, 2) as ahead;

-- Large media of payloads: the bytes once, whoever sent them.
create table media (
  sha256 text primary key,
  bytes bigint not null,
  content bytea not null
);

-- Pictures and sound are compressed already, and parts of them are read alone.
alter table media alter column content set storage external;

-- Which payload refers to which media; an account sees the bytes through its own references alone.
create table media_refs (
  transaction_id text not null,
  created_at timestamptz not null,
  account_id bigint not null,
  sha256 text not null,
  mime_type text not null,
  primary key (transaction_id, created_at, sha256)
);

create index media_refs_by_account on media_refs (account_id, sha256);
create index media_refs_by_media on media_refs (sha256);
create index media_refs_by_time on media_refs (created_at);

-- References go with their payload, and the bytes with the last reference, whoever deletes.
create function forget_media_refs() returns trigger language plpgsql as $$
begin
  delete from media_refs using gone
  where media_refs.transaction_id = gone.transaction_id
    and media_refs.created_at = gone.created_at;
  return null;
end
$$;

create trigger forget_media_refs after delete on interaction_payloads
  referencing old table as gone for each statement execute function forget_media_refs();

create function forget_media() returns trigger language plpgsql as $$
begin
  -- Writers lock what they are about to refer to; the statement after this one sees their references.
  perform from media where sha256 in (select sha256 from gone) order by sha256 for update;
  delete from media where sha256 in (select sha256 from gone)
    and not exists (select from media_refs where media_refs.sha256 = media.sha256);
  return null;
end
$$;

create trigger forget_media after delete on media_refs
  referencing old table as gone for each statement execute function forget_media();

-- ── Conversations and background calls ─────────────────────────────────────────────────────────

-- Responses that their callers may read and continue; input items and the whole response as JSON
-- text.
create table kept_responses (
  account_id bigint not null references accounts (id),
  response_id text not null,
  transaction_id text not null,
  created_at timestamptz not null,
  input_items text not null,
  answer text not null,
  -- Ids of the response's items: later requests may refer to them in place of sending them.
  item_ids text[] not null,
  -- The earlier calls whose text stands in the input items: this row is erased with them.
  sources text[] not null default '{}',
  primary key (account_id, response_id)
);

create index kept_responses_item_ids on kept_responses using gin (item_ids);
create index kept_responses_sources on kept_responses using gin (sources);
create index kept_responses_transaction_id on kept_responses (transaction_id);
create index kept_responses_by_time on kept_responses (created_at);

-- What a vendor needs back with a tool call and most clients can't carry: signatures, sealed
-- reasoning. Found by the id of the tool call, erased with the interaction.
create table kept_reasoning (
  account_id bigint not null references accounts (id),
  call_id text not null,
  transaction_id text not null,
  created_at timestamptz not null,
  reasoning text not null,
  primary key (account_id, call_id)
);

create index kept_reasoning_transaction_id on kept_reasoning (transaction_id);
create index kept_reasoning_by_time on kept_reasoning (created_at);

-- Calls that go on without their caller (`background: true` on responses): the request and the
-- process that makes it, until the call is recorded; afterwards its state.
create table background_calls (
  account_id bigint not null references accounts (id),
  response_id text not null,
  -- Of the interaction that the call becomes when it ends; it stands in no journal before.
  transaction_id text not null,
  created_at timestamptz not null,
  api_key_id text not null,
  session_id text,
  user_id text,
  -- X-Request-ID where the caller chose it, and a hash of what was sent with it.
  request_id text,
  request_hash text,
  state text not null check (state in
    ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled', 'deleted')),
  -- JSON text: the response object as it was first sent, and as it ended where it is not among the
  -- kept responses. Null where it is, and once the caller has deleted it.
  answer text,
  -- JSON text: the request's body as the caller sent it, and what is known of the request. Null once
  -- the call is recorded.
  body text,
  request text,
  attempts integer not null default 0,
  -- The process that holds the call, and until when it is believed to live.
  claimed_by text,
  claimed_until timestamptz,
  primary key (account_id, response_id)
);

create index background_calls_unrecorded on background_calls (claimed_until)
  where request is not null;
create index background_calls_of_account on background_calls (account_id)
  where request is not null;
create index background_calls_transaction_id on background_calls (transaction_id);
create index background_calls_request_id on background_calls (account_id, request_id)
  where request_id is not null;

-- ── Sums of calls ──────────────────────────────────────────────────────────────────────────────

-- Sums of calls by hour and day (UTC), for the overview: written by src/usage/store/count_usage.ts in
-- the transaction that writes, corrects or erases the rows of interactions. Each call is counted in
-- five parts: in `all`, and under its vendor, `vendor/model`, key and app (empty: none). Rows with
-- `erased` false are at every moment the sums over the calls that are stored. What is erased, by
-- request or for its age, moves to rows with `erased` true, so that spend that was reported once
-- stays as it was; names of apps come from prompts and don't move with it.
create table usage_sums (
  account_id bigint not null,
  span text not null check (span in ('hour', 'day')),
  part text not null check (part in ('all', 'vendor', 'model', 'api_key', 'app')),
  at timestamptz not null,
  value text not null,
  erased boolean not null,
  -- Sums are of a type that can't overflow: no call may be refused for what it is added to.
  calls numeric not null,
  failed numeric not null,
  truncated numeric not null,
  cancelled numeric not null,
  interrupted numeric not null,
  input_tokens numeric not null,
  cache_read_tokens numeric not null,
  cache_write_tokens numeric not null,
  output_tokens numeric not null,
  reasoning_tokens numeric not null,
  cost_nanos numeric not null,
  charged_nanos numeric not null,
  -- Of cost_nanos: calls with a vendor key of the account's own.
  own_key_nanos numeric not null,
  -- Calls that cost something nobody knows.
  unpriced numeric not null,
  -- Completed calls by latency (src/usage/latency_histogram.ts): ten decimal digits for each
  -- interval, the fastest at the end, so that `sum` and `+` add histograms; arrays have neither.
  latencies numeric not null,
  primary key (account_id, span, part, at, value, erased)
) with (fillfactor = 50);

-- ── Cohorts and evaluations ────────────────────────────────────────────────────────────────────

-- What callers say became of a cohort: one row per item posted. The cohort's calls are the
-- interactions with the same cohort_id; either may come first.
create table cohort_outcomes (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  cohort_id text not null,
  type text not null,
  label text,
  -- Billionths of whatever the item counts: of a dollar, of a click.
  value_nanos bigint not null,
  -- The caller's own id of the item, under which it counts once.
  item_id text,
  api_key_id text not null,
  -- X-Request-ID of the post and a hash of its body: a repeat adds nothing.
  request_id text not null,
  request_hash text not null,
  created_at timestamptz not null default clock_timestamp()
);

create index cohort_outcomes_by_time on cohort_outcomes (account_id, cohort_id, created_at);
create index cohort_outcomes_by_request on cohort_outcomes (account_id, request_id);
create unique index cohort_outcomes_once on cohort_outcomes (account_id, cohort_id, item_id)
  where item_id is not null;

-- A run asks a model again what stored interactions asked, and graders judge the responses.
create table eval_runs (
  eval_run_id text primary key,
  created_at timestamptz not null,
  account_id bigint not null references accounts (id),
  api_key_id text not null,
  -- X-Request-ID of the request that made it and a hash of its body: a repeat makes none.
  request_id text,
  request_hash text,
  name text,
  model text not null,
  -- JSON text as the caller sent it.
  filters text not null,
  graders text not null,
  state text not null check (state in ('queued', 'running', 'done', 'failed', 'cancelled')),
  -- JSON text: figures of the run so far.
  counts text not null,
  -- One attempt at working on it, by one process, and how long it holds without being renewed.
  claim_id text,
  claimed_by text,
  claimed_until timestamptz,
  -- It waits until then, for this reason, and has waited since.
  next_at timestamptz,
  waiting_for text,
  waiting_since timestamptz,
  error_code text,
  error_message text,
  finished_at timestamptz
);

create index eval_runs_by_time on eval_runs (account_id, created_at, eval_run_id);
create index eval_runs_unfinished on eval_runs (created_at) where state in ('queued', 'running');
create index eval_runs_by_request on eval_runs (account_id, request_id);

-- The stored interactions that a run is about, chosen when it was asked for.
create table eval_items (
  eval_run_id text not null references eval_runs (eval_run_id) on delete cascade,
  position integer not null,
  transaction_id text not null,
  transaction_created_at timestamptz not null,
  -- Calls begun for it; a process that takes over looks for the response of an earlier one.
  attempts integer not null default 0,
  -- Null as long as it is to be done.
  outcome text check (outcome in ('passed', 'failed', 'skipped', 'error')),
  reason text,
  primary key (eval_run_id, position)
);

create index eval_items_to_do on eval_items (eval_run_id, position) where outcome is null;
create index eval_items_transaction_id on eval_items (transaction_id);

-- One row per stored interaction and grader. Erased with the interaction it is drawn from.
create table eval_results (
  eval_run_id text not null,
  created_at timestamptz not null,
  account_id bigint not null references accounts (id),
  -- The stored interaction.
  transaction_id text not null,
  -- The call that was made for it, and the one that a judge made; both hold its words.
  answer_transaction_id text,
  judge_transaction_id text,
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

-- ── Exports ────────────────────────────────────────────────────────────────────────────────────

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
  -- Counts the attempts. Only the last attempt can write.
  claim integer not null default 0,
  -- A running job that is not renewed by then may be taken by any process.
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

-- ── Erasure ────────────────────────────────────────────────────────────────────────────────────

-- Requests to erase records. A row stays as the receipt, without the selectors in clear.
create table deletions (
  deletion_id text primary key,
  account_id bigint not null,
  state text not null check (state in ('queued', 'running', 'done', 'failed')),
  -- JSON text of the selectors; null once done, and for one that is applied again.
  selectors text,
  selectors_hash text not null,
  reason text,
  requested_at timestamptz not null,
  -- What was there when it was asked for.
  expected_count bigint,
  -- Rows erased so far, of each table that callers know.
  interactions bigint not null default 0,
  eval_runs bigint not null default 0,
  eval_results bigint not null default 0,
  -- When the erased rows were made: exports of that time may hold them.
  erased_from timestamptz,
  erased_to timestamptz,
  attempts integer not null default 0,
  -- The process that works on it, and until when it is believed to live.
  holder text,
  held_until timestamptz,
  completed_at timestamptz
);

create index deletions_waiting on deletions (requested_at) where completed_at is null;
create index deletions_by_account on deletions (account_id, requested_at, deletion_id);

-- What must not be written any more: calls that were under way, journals and backups that come
-- back. Kept for good; ids of people and sessions only as salted hashes. They stand in every database
-- that holds records, since each transaction that writes some looks here.
create table tombstones (
  deletion_id text primary key,
  -- In the order of commits: whoever writes one holds the lock of erasures.
  seq bigint generated always as identity,
  account_id bigint not null,
  tables text[] not null,
  -- Calls that arrived later are others.
  before timestamptz not null,
  start_at timestamptz,
  end_at timestamptz,
  transaction_ids text[],
  salt text not null,
  session_hashes text[],
  user_hashes text[],
  selectors_hash text not null
);

create unique index tombstones_by_seq on tombstones (seq);
create index tombstones_by_before on tombstones (before);

-- Recently erased calls: other processes forget what they remember of them, and responses that
-- continue them are not kept.
create table erased_calls (
  transaction_id text primary key,
  seq bigint generated always as identity,
  erased_at timestamptz not null default clock_timestamp()
);

create unique index erased_calls_by_seq on erased_calls (seq);
create index erased_calls_by_time on erased_calls (erased_at);

-- Whether erased text may still be in the files of this database: at most one row.
create table scrubs (
  id integer primary key check (id = 1),
  -- Grows with each erasure, so that one that comes during a scrub is not taken for done.
  version bigint not null,
  due_since timestamptz,
  -- Partitions that rows were erased from.
  relations text[] not null,
  scrubbed_at timestamptz
);
