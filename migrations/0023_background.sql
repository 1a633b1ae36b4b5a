-- Calls that go on without their caller (`background: true` on responses): what is to be asked and
-- who is at it, until the call is recorded; afterwards where it stands.
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
  -- JSON text: the response object as it was first told, and as it ended where the answer is not
  -- among the kept ones. Null where it is, and once the caller has deleted it.
  answer text,
  -- JSON text: what is to be asked as the caller sent it, and what is known of it. Null once the
  -- call is recorded.
  body text,
  request text,
  attempts integer not null default 0,
  -- The process that holds the call, for as long as it says so.
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
