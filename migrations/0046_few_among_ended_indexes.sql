-- phase: expand
-- transaction: none
--
-- The next evaluation or deletion is one of the account with the fewest in the last hour: all that had
-- ever ended were read for it. Those background calls that wait are read in the order of an index: the
-- embedded database has no statistics of the column that says which, as it is a caller's text.
create index concurrently eval_runs_by_end on eval_runs (finished_at);
create index concurrently deletions_by_end on deletions (completed_at);
create index concurrently background_calls_waiting on background_calls (created_at) where request is not null;
-- Keys with caps may be few among all that an account ever had.
create index concurrently api_keys_capped on api_keys (account_id, id) where revoked_at is null and (cap_day_nanos is not null or cap_month_nanos is not null);
