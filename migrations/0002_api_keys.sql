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
  cap_day_nanos bigint,
  cap_month_nanos bigint,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,
  changed_at timestamptz not null default clock_timestamp()
);

create index api_keys_account_id on api_keys (account_id);
create index api_keys_changed_at on api_keys (changed_at);
