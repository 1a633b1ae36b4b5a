-- A sign-in that waits for consent: whom the identity provider vouched for, as JSON text. Null while
-- the provider is asked.
alter table sign_in_states add column identity text;

-- Who made a key at the dashboard; null for the command line. No reference: people who are removed
-- are forgotten, and their keys stay.
alter table api_key_notes add column made_by text;

create index api_key_notes_by_maker on api_key_notes (made_by) where made_by is not null;

-- The audit log knows who made the keys that are there. A rotated key was seen by who rotated it.
update api_key_notes n set made_by = a.person_id
from api_keys k join audit_log a on a.account_id = k.account_id and a.person_id is not null and (
  a.action = 'api_key.created' and a.detail = k.prefix || '…' or
  a.action = 'api_key.rotated' and a.detail like '%, ' || k.prefix || '… replaces it'
)
where n.api_key_id = k.id;

-- Who is not an owner can't give the right to erase. Keys that such people made keep everything
-- else, by name, since no scope at all means every scope. One that could do nothing but erase ends.
update api_keys k set changed_at = clock_timestamp(),
  scopes = case
    when cardinality(k.scopes) = 0 then array['chat', 'images', 'speech', 'exports', 'cohort',
      'evals', 'status', 'vendor-a', 'vendor-b', 'vendor-c', 'vendor-d', 'vendor-e', 'vendor-f',
      'vendor-g']
    when k.scopes <@ array['data:delete'] then k.scopes
    else array_remove(k.scopes, 'data:delete') end,
  revoked_at = case
    when cardinality(k.scopes) > 0 and k.scopes <@ array['data:delete']
      then coalesce(k.revoked_at, clock_timestamp())
    else k.revoked_at end
from api_key_notes n
where n.api_key_id = k.id and n.made_by is not null
  and (cardinality(k.scopes) = 0 or 'data:delete' = any (k.scopes))
  and not exists (select 1 from memberships m
    where m.account_id = k.account_id and m.person_id = n.made_by and m.role = 'owner');

-- What a deletion came to is noted under who asked for it.
create index audit_log_by_deletion on audit_log (subject) where action = 'data.deleted';
