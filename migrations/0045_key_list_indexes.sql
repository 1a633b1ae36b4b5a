-- phase: expand
-- transaction: none
--
-- A page of an account's keys sorted all of them, and a key was looked for by its name in all keys.
create index concurrently api_keys_by_account on api_keys (account_id, id);
create index concurrently api_keys_by_name on api_keys (name, id) where revoked_at is null;
