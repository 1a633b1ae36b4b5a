-- Which master key seals the vendor keys of this database: at most one row. The fingerprint is an
-- HMAC under that key; it tells keys apart and gives none away.
create table master_key (
  id integer primary key check (id = 1),
  -- Grows with each rotation.
  version bigint not null,
  fingerprint text not null,
  changed_at timestamptz not null default clock_timestamp()
);

-- Vendor keys of accounts; the value is here only sealed. A row that was removed stays without its
-- value, so that other processes learn of it.
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
