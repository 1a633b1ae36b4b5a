-- What pages of the dashboard list or add up is read from an index, so that they are as fast in an
-- account with millions of rows as in a new one.
create index deletions_by_account on deletions (account_id, requested_at, deletion_id);

create index cohort_outcomes_by_time on cohort_outcomes (account_id, cohort_id, created_at);
drop index cohort_outcomes_by_cohort;

-- Grants and corrections, which lie far apart between the charges of calls.
create index ledger_credits on ledger_entries (account_id, id) where kind in ('grant', 'adjust');
