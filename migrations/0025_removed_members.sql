-- phase: expand
--
-- Who was removed from an account, so that an allowed e-mail domain doesn't let them in again by
-- itself. Nothing of the person but a hash is kept; an invitation takes the row away.
create table removed_members (
  account_id bigint not null references accounts (id),
  -- SHA-256, in hex, of the identity provider's name and its name for the person.
  identity_hash text not null,
  removed_at timestamptz not null default clock_timestamp(),
  primary key (account_id, identity_hash)
);
