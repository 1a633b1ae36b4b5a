-- phase: expand
--
-- An erasure looks up the sources of hundreds of calls at once and compares each with all rows that
-- wait to be taken into these indexes: rows are taken in as they are written.
alter index kept_responses_sources set (fastupdate = off);
alter index replays_sources set (fastupdate = off);
select gin_clean_pending_list('kept_responses_sources');
select gin_clean_pending_list('replays_sources');
