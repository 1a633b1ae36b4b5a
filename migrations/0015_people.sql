-- Who signs in to the dashboard: one row per person of an identity provider.
create table people (
  id text primary key,
  -- Who vouches for the person, and what it calls it; e-mail addresses change hands, these don't.
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

-- Invitations that stand; an accepted or withdrawn one is gone (the audit log has both).
create table invitations (
  id text primary key,
  account_id bigint not null references accounts (id),
  -- In small letters.
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

-- Sign-ins under way; taken out when the provider sends the person back, so each counts once.
create table sign_in_states (
  state_hash text primary key,
  return_to text not null,
  -- Hash of the claim link's or invitation's token that the sign-in began with.
  claim_hash text,
  invitation_hash text,
  expires_at timestamptz not null
);

create index sign_in_states_by_end on sign_in_states (expires_at);

-- Links that make the first owner; all go when there is one.
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
  -- As the person was called then.
  actor text not null,
  action text not null,
  subject text not null,
  detail text not null
);

create index audit_log_by_account on audit_log (account_id, id);

-- What the dashboard knows of a key beside the key itself.
create table api_key_notes (
  api_key_id text primary key references api_keys (id),
  environment text not null,
  -- The key that this one was made to replace.
  replaces text unique references api_keys (id)
);
