-- phase: expand
-- transaction: none
--
-- Erasing a call or a session finds what came of it; rows that name neither don't pay for it.
create index concurrently cohort_outcomes_by_transaction on cohort_outcomes
  (account_id, transaction_id) where transaction_id is not null;
create index concurrently cohort_outcomes_by_session on cohort_outcomes
  (account_id, session_id, created_at) where session_id is not null;
-- Retention takes the names off old rows.
create index concurrently cohort_outcomes_linked_by_time on cohort_outcomes (created_at)
  where session_id is not null or transaction_id is not null;
