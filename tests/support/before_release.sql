-- The table of applied steps as the development versions of before the first release wrote it.
create table schema_migrations (
  version integer primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default clock_timestamp()
);

insert into schema_migrations (version, name, checksum) values
  (1, 'accounts', '1d4c8e'), (2, 'api_keys', '7be0a2'), (25, 'attempts', 'c09f13');
