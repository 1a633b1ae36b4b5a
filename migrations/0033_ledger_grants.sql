-- phase: expand
-- transaction: none
--
-- An account's last grant is read every two seconds for its webhooks. A repricing writes a correction
-- for each call: the index of grants and corrections was read through all that came since the grant.
create index concurrently ledger_grants on ledger_entries (account_id, id) where kind = 'grant';
