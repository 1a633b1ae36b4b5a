-- phase: expand
--
-- An outcome may name the call or the session that it came of: so a cohort's models are compared by
-- what became of their calls. Ids as the caller sent them, of calls that may not be stored (yet).
alter table cohort_outcomes add column transaction_id text;
alter table cohort_outcomes add column session_id text;
