-- phase: expand
--
-- An entry's account needs no look of its own: each statement that adds one also adds to or locks the
-- account's row of `account_balances`, which refers to it. To look it up again for each call was a
-- third of what an entry costs, and all processes marked the account's one row for it.
alter table ledger_entries drop constraint ledger_entries_account_id_fkey;
