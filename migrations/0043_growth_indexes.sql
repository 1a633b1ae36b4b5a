-- phase: expand
-- transaction: none
--
-- What was found by reading a whole table: a page of an account's invitations, and what jobs forget
-- each minute, mostly nothing.
create index concurrently invitations_by_time on invitations (account_id, created_at, id);
create index concurrently key_spend_by_day on key_spend (day);
create index concurrently refunded_calls_by_time on refunded_calls (refunded_at);
create index concurrently budgets_removed on budgets (changed_at) where removed_at is not null;
create index concurrently virtual_models_removed on virtual_models (updated_at) where definition is null;
