-- phase: expand
--
-- Calls that were refused before a vendor was asked, so that somebody beside the caller can say why:
-- code, field, key and model, never what was asked. Both tables keep 30 days (src/refusals/).
create table refusals (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  created_at timestamptz not null,
  request_id text not null,
  http_status integer not null,
  code text not null,
  -- Path of the field that was wrong, and the model as it was asked for; null where there is none.
  param text,
  model text,
  api_key_id text not null,
  -- Path template of the endpoint.
  endpoint text not null
);

create index refusals_by_time on refusals (account_id, created_at, id);
create index refusals_by_request on refusals (account_id, request_id);
create index refusals_created_at on refusals (created_at);

-- All of them by hour, those too that are too many to be listed one by one.
create table refusal_counts (
  account_id bigint not null references accounts (id),
  created_at timestamptz not null,
  -- Whether a call of a model was refused, or a request about something else.
  is_call boolean not null,
  code text not null,
  api_key_id text not null,
  -- Empty: none.
  model text not null,
  refused bigint not null,
  primary key (account_id, created_at, is_call, code, api_key_id, model)
);

create index refusal_counts_created_at on refusal_counts (created_at);

-- What a vendor answered to a call that failed, as JSON text of {status, message}: keys and addresses
-- taken out, at most 4 KiB. It may quote the prompt, so it stands, and goes, with the payloads.
alter table interaction_payloads add column vendor_error text;

-- Whether a viewer sees what callers sent and received; members and owners do.
alter table memberships add column payloads boolean not null default false;
