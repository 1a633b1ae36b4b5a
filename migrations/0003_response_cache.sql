-- phase: expand
--
-- The response cache: answers that are given again to equal calls of the same account.

-- 'hit': answered out of the cache; 'miss': the cache was asked and a vendor answered; null: not asked.
alter table interactions add column cache text;

-- How long answers of the key's calls are kept, in seconds; null: they are not.
alter table api_keys add column cache_ttl_seconds integer;

-- No text of a request is kept, only its hash. A row belongs to the call that made the answer, and is
-- erased with it.
create table cached_answers (
  -- SHA-256 over account, path, models, body and whatever else decides the answer.
  key text primary key,
  account_id bigint not null references accounts (id),
  -- Of the call that made the answer: what deletions select by.
  transaction_id text not null,
  created_at timestamptz not null,
  session_id text,
  user_id text,
  -- The answer's age is counted from here. Until when whoever asks may get it.
  stored_at timestamptz not null default clock_timestamp(),
  until timestamptz not null,
  -- The answer as its first caller received it.
  status integer not null,
  headers text not null,
  body bytea not null,
  streamed boolean not null,
  -- JSON text of the answer as records show it; null where the body is that text.
  record bytea,
  -- What answered: columns of the records of those who get it again.
  vendor text not null,
  model text not null,
  finish text,
  translation_loss text[] not null,
  -- Of body and record, for the limit on an account's answers.
  bytes bigint not null
);

-- Compressing whole answers takes as long as writing them.
alter table cached_answers alter column body set storage external;

create index cached_answers_until on cached_answers (until);
create index cached_answers_by_age on cached_answers (account_id, stored_at);
create index cached_answers_transaction_id on cached_answers (transaction_id);
