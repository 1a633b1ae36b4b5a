-- phase: expand
-- transaction: none
--
-- A page of an account's members is read in its order: all members were sorted for each.
create index concurrently memberships_by_time on memberships (account_id, created_at, person_id);
