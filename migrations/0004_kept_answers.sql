-- Responses that their callers may read and continue; input items and the whole answer as JSON text.
create table kept_responses (
  account_id bigint not null references accounts (id),
  response_id text not null,
  transaction_id text not null,
  created_at timestamptz not null,
  input_items text not null,
  answer text not null,
  -- Ids of the answer's items: later requests may refer to them in place of sending them.
  item_ids text[] not null,
  primary key (account_id, response_id)
);

create index kept_responses_item_ids on kept_responses using gin (item_ids);

create index kept_responses_transaction_id on kept_responses (transaction_id);

-- What a vendor needs back with a tool call and most clients can't carry: signatures, sealed
-- reasoning. Joined by the id of the tool call, erased with the interaction.
create table kept_reasoning (
  account_id bigint not null references accounts (id),
  call_id text not null,
  transaction_id text not null,
  created_at timestamptz not null,
  reasoning text not null,
  primary key (account_id, call_id)
);

create index kept_reasoning_transaction_id on kept_reasoning (transaction_id);
