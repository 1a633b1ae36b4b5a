-- phase: expand
--
-- Webhooks (docs/webhooks.md): where events are sent to, and the events that wait. All tables are
-- new: a process of the version before notes no events.

create table webhooks (
  id text primary key,
  account_id bigint not null references accounts (id),
  url text not null,
  -- Types of events; empty: all.
  events text[] not null,
  -- `credit.low` is under this; null: a tenth of the last grant.
  credit_low_nanos bigint,
  -- The secret that signs, sealed under the master key.
  sealed text not null,
  key_version bigint not null,
  -- Whether `credit.low` was sent since the balance was last above.
  credit_is_low boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  last_sent_at timestamptz,
  last_failed_at timestamptz,
  last_error text,
  -- Events that were given up after a day, or not kept since too many waited.
  lost bigint not null default 0
);

create index webhooks_by_account on webhooks (account_id);

-- One event for one webhook. Sent and lost ones stay for two days, so that none is sent twice.
create table webhook_deliveries (
  id text primary key,
  -- The order in which events came.
  seq bigint generated always as identity,
  webhook_id text not null references webhooks (id) on delete cascade,
  -- Names the event over replicas.
  event_key text not null,
  type text not null,
  -- JSON text; a budget is named by its id alone, since it may be on an end user.
  data text not null,
  at timestamptz not null,
  state text not null default 'waiting' check (state in ('waiting', 'sent', 'lost')),
  attempts integer not null default 0,
  next_at timestamptz not null,
  ends_at timestamptz not null,
  owner text,
  claimed_until timestamptz,
  unique (webhook_id, event_key)
);

create index webhook_deliveries_waiting on webhook_deliveries (next_at, seq) where state = 'waiting';
create index webhook_deliveries_open on webhook_deliveries (webhook_id) where state = 'waiting';
create index webhook_deliveries_by_end on webhook_deliveries (ends_at);

-- Vendors as `vendor.down` and `vendor.up` last had them: down as long as some process sees it so.
create table vendor_states (
  label text primary key,
  is_down boolean not null,
  seen_at timestamptz not null
);
